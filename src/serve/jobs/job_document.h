#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"
#include "pipeline/document/document.h"

namespace stoker::serve {

// The settings of a training job as people send them who have no document: those of seed-style jobs. What
// they leave out has the values that such jobs have by custom.
struct TrainingSettings {
  std::vector<std::string> dataset_ids;
  std::string model_architecture;  // empty: what the datasets ask for
  std::string target_column;
  std::vector<std::string> feature_columns;
  std::int64_t batch_size = 128;
  double validation_split = 0.2;
  bool preload_to_gpu = true;
  std::int64_t epochs = 100;
  double learning_rate = 1e-3;
  double weight_decay = 1e-4;
  double dropout = 0.2;
  std::string lr_scheduler = "cosine";
  std::int64_t warmup_epochs = 5;
  std::int64_t early_stop_patience = 20;
  double early_stop_delta = 0.001;
  double max_grad_norm = 1;
  std::string accelerator = "auto";
  std::string precision = "auto";
  std::vector<std::string> where;
  std::optional<double> min_snr_db;
  std::optional<double> max_gdop;
  std::optional<std::int64_t> max_receivers;
  std::int64_t num_workers = 0;
  std::int64_t seed = 42;
  config::Value model;  // further settings of the family
};

config::Fields fields(TrainingSettings& settings);

// Of a dataset on record; one that is not there goes to the diagnostics.
using ColumnsOfDatasets =
    std::function<std::vector<std::string>(const std::string& id, config::Diagnostics& diagnostics)>;

// A document that loads, filters, splits, trains and evaluates as `given` says, the `config` of a request. By
// the columns of its datasets a model is chosen where none is named. Refuses with all that is wrong, by the
// names that the request has for settings. What a setting means here goes to `notes`.
Document document_of_job(const config::Value& given, const std::string& name,
                         const std::filesystem::path& folder, const ColumnsOfDatasets& columns_of,
                         std::vector<std::string>& notes);

}  // namespace stoker::serve
