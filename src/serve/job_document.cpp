#include "serve/job_document.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace stoker::serve {
namespace {

using config::Value;

Value map_of(std::vector<std::pair<std::string, Value>> entries) {
  Value map;
  for (auto& [key, value] : entries) map.set(key, std::move(value));
  return map;
}

Value list_of(const std::vector<std::string>& all) {
  Value::List list;
  for (const std::string& each : all) list.emplace_back(each);
  return list;
}

bool has(const std::vector<std::string>& columns, const std::string& name) {
  return std::ranges::find(columns, name) != columns.end();
}

// What several receivers heard of a place.
bool are_receptions(const std::vector<std::string>& columns) {
  return has(columns, "receivers_0_0") && has(columns, "position_0");
}

std::string model_for(const TrainingSettings& settings, const std::vector<std::string>& columns,
                      std::vector<std::string>& notes) {
  if (!settings.model_architecture.empty()) return settings.model_architecture;
  const std::string chosen = are_receptions(columns) ? "triangulation" : "neural_network";
  notes.push_back(
      fmt::format("model_architecture: not given; {} is what the columns of the dataset ask for", chosen));
  return chosen;
}

Value filter_of(const TrainingSettings& settings, const std::vector<std::string>& columns) {
  Value filter;
  if (settings.min_snr_db) filter.set("min_snr_db", *settings.min_snr_db);
  if (settings.max_gdop) filter.set("max_gdop", *settings.max_gdop);
  if (!are_receptions(columns)) return filter;
  constexpr double usual_snr_db = 10;
  constexpr double usual_gdop = 5;
  if (!settings.min_snr_db && has(columns, "snr_db")) filter.set("min_snr_db", usual_snr_db);
  if (!settings.max_gdop && has(columns, "gdop")) filter.set("max_gdop", usual_gdop);
  return filter;
}

}  // namespace

config::Fields fields(TrainingSettings& s) {
  return {
      config::field("dataset_ids", s.dataset_ids, "Datasets on record; several are joined")
          .required()
          .not_empty(),
      config::field("model_architecture", s.model_architecture,
                    "Family of the model; empty: what the columns of the dataset ask for")
          .also_called("model_type", "called model_architecture in a job"),
      config::field("target_column", s.target_column,
                    "Column, or array, to predict; empty: position where there is one"),
      config::field("feature_columns", s.feature_columns, "Columns to predict from; none: all others"),
      config::field("batch_size", s.batch_size, "Rows of a step").at_least(1),
      config::field("validation_split", s.validation_split, "Share of the training rows held back to stop by")
          .at_least(0)
          .below(1),
      config::field("preload_to_gpu", s.preload_to_gpu, "false: do not lay all rows into the GPU's memory"),
      config::field("epochs", s.epochs, "Passes over the training rows").at_least(1),
      config::field("learning_rate", s.learning_rate, "Size of a step").above(0),
      config::field("weight_decay", s.weight_decay, "Decay of the weights").at_least(0),
      config::field("dropout", s.dropout, "Share of values left out while training").at_least(0).below(1),
      config::field("lr_scheduler", s.lr_scheduler, "How the learning rate changes")
          .also_called("schedule", "called lr_scheduler in a job"),
      config::field("warmup_epochs", s.warmup_epochs, "Epochs in which the learning rate rises").at_least(0),
      config::field("early_stop_patience", s.early_stop_patience,
                    "Epochs without a better validation loss after which training stops; 0: never")
          .at_least(0)
          .also_called("early_stopping_patience", "called early_stop_patience in a job"),
      config::field("early_stop_delta", s.early_stop_delta, "How much better counts as better").at_least(0),
      config::field("max_grad_norm", s.max_grad_norm, "Norm that gradients are clipped to; 0: they are not")
          .at_least(0),
      config::field("accelerator", s.accelerator, "auto, cpu, gpu or cuda"),
      config::field("precision", s.precision, "Precision of products"),
      config::field("min_snr_db", s.min_snr_db, "Leave out rows with less in snr_db").optional(),
      config::field("max_gdop", s.max_gdop, "Leave out rows with more in gdop").optional(),
      config::field("max_receivers", s.max_receivers, "Receivers that the model has room for").optional(),
      config::field("num_workers", s.num_workers,
                    "Nothing here needs it: rows lie where the engine reads them")
          .at_least(0)
          .needs_no("persistent_workers", "no process loads rows here")
          .needs_no("pin_memory", "no process loads rows here"),
      config::field("seed", s.seed, "Of all random numbers").at_least(0),
      config::field("model", s.model, "Further settings of the model's family"),
  };
}

config::Value document_of(const TrainingSettings& settings, const std::string& name,
                          const std::vector<std::string>& columns, std::vector<std::string>& notes) {
  const std::string family = model_for(settings, columns, notes);
  const bool is_triangulation = family == "triangulation";
  std::string target = settings.target_column;
  if (target.empty() && are_receptions(columns)) target = "position";
  if (target.empty()) refuse("config.target_column: name the column that is to be predicted");
  // An array is named without the numbers of its columns.
  const bool is_there = std::ranges::any_of(columns, [&](const std::string& column) {
    return column == target || column.starts_with(target + "_");
  });
  if (!columns.empty() && !is_there)
    refuse("config.target_column: the datasets have no column '{}'{}", printable(target),
           did_you_mean(target, columns));
  if (settings.num_workers > 0)
    notes.emplace_back("num_workers: accepted and not needed; rows lie in the memory that the engine reads");

  Value model = map_of({{"model_type", family},
                        {"batch_size", settings.batch_size},
                        {"epochs", settings.epochs},
                        {"learning_rate", settings.learning_rate},
                        {"weight_decay", settings.weight_decay},
                        {"dropout", settings.dropout},
                        {"schedule", settings.lr_scheduler},
                        {"warmup_epochs", std::min(settings.warmup_epochs, settings.epochs - 1)},
                        {"validation_ratio", settings.validation_split},
                        {"seed", settings.seed}});
  if (settings.max_grad_norm > 0) model.set("max_grad_norm", settings.max_grad_norm);
  if (settings.early_stop_patience > 0 && settings.validation_split > 0) {
    model.set("early_stopping_patience", settings.early_stop_patience);
    model.set("early_stopping_min_delta", settings.early_stop_delta);
  }
  if (settings.max_receivers) model.set("max_receivers", *settings.max_receivers);
  if (const auto* more = settings.model.get_if<Value::Map>())
    for (const config::Entry& entry : *more) model.set(entry.key, entry.value);

  Value train = map_of({{"target_column", target}});
  if (is_triangulation && settings.feature_columns.empty() && are_receptions(columns)) {
    train.set("feature_columns", list_of({"receivers"}));
    if (has(columns, "present_0")) train.set("mask_column", "present");
  } else if (!settings.feature_columns.empty()) {
    train.set("feature_columns", list_of(settings.feature_columns));
  }
  if (settings.precision != "auto") train.set("precision", settings.precision);
  if (!settings.preload_to_gpu) train.set("preload_to_gpu", false);
  if (settings.accelerator != "auto")
    train.set("device", settings.accelerator == "gpu" ? "cuda" : settings.accelerator);

  Value cards;
  cards.set(
      "load",
      map_of({{"type", "data_load"},
              {"config", map_of({{"source", "datasets"}, {"dataset_ids", list_of(settings.dataset_ids)}})}}));
  std::string rows = "load.dataset";
  if (const Value filter = filter_of(settings, columns); !filter.is_null()) {
    cards.set("filter",
              map_of({{"type", "data_filter"}, {"inputs", map_of({{"dataset", rows}})}, {"config", filter}}));
    rows = "filter.dataset";
  }
  cards.set("split", map_of({{"type", "data_split"},
                             {"inputs", map_of({{"dataset", rows}})},
                             {"config", map_of({{"random_seed", settings.seed}})}}));
  cards.set("model", map_of({{"type", "model_define_gpu"}, {"config", model}}));
  cards.set("train", map_of({{"type", "train_gpu"},
                             {"inputs", map_of({{"train_dataset", "split.train_dataset"},
                                                {"model_spec", "model.model_spec"}})},
                             {"config", train}}));
  cards.set("evaluate", map_of({{"type", "evaluate"},
                                {"inputs", map_of({{"trained_model", "train.trained_model"},
                                                   {"test_dataset", "split.test_dataset"}})}}));
  return map_of({{"version", 1}, {"name", name}, {"cards", cards}});
}

}  // namespace stoker::serve
