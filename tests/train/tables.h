#pragma once

#include <string>

#include "base/files/files.h"
#include "data/source/source.h"
#include "device/device.h"
#include "train/fit/fit.h"

namespace stoker::test {

inline Table sample(SampleName name, std::int64_t rows, std::uint64_t seed = 42) {
  SourceConfig config;
  config.source = SourceKind::sample;
  config.sample_name = name;
  config.sample_rows = rows;
  config.sample_seed = seed;
  return Source::open(config, ".").read();
}

inline Table table_from_csv(const std::string& text) {
  TemporaryFolder folder;
  write_file(folder.path() / "table.csv", text);
  SourceConfig config;
  config.path = "table.csv";
  return Source::open(config, folder.path()).read();
}

// Samples have the column to predict last.
inline PreparationConfig predicting_last(const Table& table) {
  PreparationConfig config;
  config.target_column = table.column_names().back();
  return config;
}

// On the CPU, so that results are the same wherever the tests run. The request keeps no table of its own.
FitRequest request_for(Table&& table, ModelSpec spec) = delete;
inline FitRequest request_for(const Table& table, ModelSpec spec) {
  FitRequest request{table, std::move(spec), predicting_last(table), {}, {}, false};
  request.config.device = "cpu";
  return request;
}

inline bool has_gpu() {
  return list_devices().devices.size() > 1;
}

inline config::Value whole_numbers(std::initializer_list<std::int64_t> numbers) {
  return config::Value::List(numbers.begin(), numbers.end());
}

// A family with its defaults.
inline ModelSpec spec_of(const std::string& family) {
  config::Diagnostics diagnostics("");
  const config::Value none{config::Value::Map{}};
  return {family, checked_settings(family_named(family), none, "", diagnostics), {}};
}

inline ModelSpec small_network() {
  ModelSpec spec = spec_of("neural_network");
  spec.settings.set("hidden_layers", whole_numbers({32, 16}));
  spec.settings.set("dropout", 0);
  spec.training.learning_rate = 0.005;
  spec.training.epochs = 20;
  return spec;
}

}  // namespace stoker::test
