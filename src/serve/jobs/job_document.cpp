#include "serve/jobs/job_document.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text/text.h"
#include "data/cubes/cube_rows.h"
#include "model/family.h"
#include "pipeline/document/document.h"
#include "pipeline/document/document_keys.h"
#include "predict/spectral/cube_scores.h"

namespace stoker::serve {
namespace {

using config::Value;
using Names = std::vector<std::string>;

Value map_of(std::vector<std::pair<std::string, Value>> entries) {
  Value map;
  for (auto& [key, value] : entries) map.set(key, std::move(value));
  return map;
}

Value list_of(const Names& all) {
  Value::List list;
  for (const std::string& each : all) list.emplace_back(each);
  return list;
}

bool has(const Names& columns, const std::string& name) {
  return std::ranges::find(columns, name) != columns.end();
}

// What several receivers heard of a place.
bool are_receptions(const Names& columns) {
  return has(columns, "receivers_0_0") && has(columns, "position_0");
}

// An array is named without the numbers of its columns.
bool has_array(const Names& columns, const std::string& name) {
  return std::ranges::any_of(
      columns, [&](const std::string& column) { return column == name || column.starts_with(name + "_"); });
}

// What a job calls a setting of a card, where it calls it otherwise.
struct OtherwiseCalled {
  std::string_view card;
  std::string_view setting;
  std::string_view in_job;
};
constexpr std::array otherwise_called{
    OtherwiseCalled{"model", "model_type", "model_architecture"},
    OtherwiseCalled{"model", "schedule", "lr_scheduler"},
    OtherwiseCalled{"model", "validation_ratio", "validation_split"},
    OtherwiseCalled{"model", "early_stopping_patience", "early_stop_patience"},
    OtherwiseCalled{"model", "early_stopping_min_delta", "early_stop_delta"},
    OtherwiseCalled{"train", "device", "accelerator"},
    OtherwiseCalled{"split", "random_seed", "seed"},
};
// What a model that is solved, instead of trained in steps, has no use for.
constexpr std::array of_steps{
    "batch_size",       "validation_split", "epochs",        "learning_rate", "weight_decay",
    "dropout",          "lr_scheduler",     "warmup_epochs", "max_grad_norm", "early_stop_patience",
    "early_stop_delta", "preload_to_gpu",   "accelerator",   "precision"};

// Makes the document of a job, card by card. What is wrong goes to the diagnostics, and the document is made
// all the same, so that everything that is wrong is found at once.
class JobDocument {
 public:
  JobDocument(const Value& given, const Names& columns, config::Diagnostics& diagnostics, Names& notes)
      : given_(given),
        columns_(columns),
        diagnostics_(diagnostics),
        notes_(notes),
        settings_(config::read<TrainingSettings>(given, "config", diagnostics)),
        family_(&chosen_family()) {}

  Value document(const std::string& name) {
    Value cards;
    const Value load = map_of({{"source", "datasets"}, {"dataset_ids", list_of(settings_.dataset_ids)}});
    cards.set("load", map_of({{"type", "data_load"}, {"config", load}}));
    std::string rows = "load.dataset";
    if (const Value conditions = filter(); !conditions.is_null()) {
      cards.set(
          "filter",
          map_of({{"type", "data_filter"}, {"inputs", map_of({{"dataset", rows}})}, {"config", conditions}}));
      rows = "filter.dataset";
    }
    cards.set("split", map_of({{"type", "data_split"},
                               {"inputs", map_of({{"dataset", rows}})},
                               {"config", map_of({{"random_seed", settings_.seed}})}}));
    const char* defines = family_->is_solved() ? "model_define" : "model_define_gpu";
    cards.set("model", map_of({{"type", defines}, {"config", model()}}));
    cards.set("train", map_of({{"type", "train_gpu"},
                               {"inputs", map_of({{"train_dataset", "split.train_dataset"},
                                                  {"model_spec", "model.model_spec"}})},
                               {"config", training()}}));
    cards.set("evaluate", map_of({{"type", "evaluate"},
                                  {"inputs", map_of({{"trained_model", "train.trained_model"},
                                                     {"test_dataset", "split.test_dataset"}})}}));
    note_what_is_not_needed();
    return map_of({{"version", document_version}, {"name", name}, {"cards", cards}});
  }

  // "config.lr_scheduler" for "cards.model.config.schedule".
  std::string setting_at(const std::string& path) const {
    const Names parts = split_text(path, '.');
    if (parts.size() < 4 || parts[0] != "cards" || parts[2] != "config") return path;
    const std::string rest = path.substr(parts[0].size() + parts[1].size() + parts[2].size() + 3);
    for (const OtherwiseCalled& each : otherwise_called)
      if (each.card == parts[1] && each.setting == rest) return fmt::format("config.{}", each.in_job);
    if (parts[1] == "model" && parts[3] == "hyperparameters")
      return "config.model" + rest.substr(parts[3].size());
    const bool is_further = parts[1] == "model" && settings_.model.find(parts[3]) != nullptr;
    return (is_further ? "config.model." : "config.") + rest;
  }

 private:
  const Family& chosen_family() {
    const std::string& named = settings_.model_architecture;
    const std::string usual = are_receptions(columns_) ? "triangulation" : "neural_network";
    if (named.empty()) {
      notes_.push_back(
          fmt::format("model_architecture: not given; {} is what the columns of the dataset ask for", usual));
      return family_named(usual);
    }
    if (const Family* found = find_family(named)) {
      refuse_windows(*found);
      return *found;
    }
    Names known = family_names(false);
    for (std::string& each : family_names(true)) known.push_back(std::move(each));
    diagnostics_.add(0, "config.model_architecture",
                     fmt::format("there is no family of models '{}'{}; they are {}", printable(named),
                                 did_you_mean(named, known), join(known, ", ")));
    return family_named(usual);
  }

  void refuse_windows(const Family& family) const {
    config::Diagnostics none("");
    const Value usual = checked_settings(family, Value(Value::Map{}), "", none);
    if (family.form != nullptr && family.form(usual).reads_windows)
      diagnostics_.add(0, "config.model_architecture",
                       fmt::format("{} reads windows of a series, which config does not make: send a "
                                   "document with a windows card in place of config",
                                   family.name));
  }

  Value filter() const {
    Value conditions;
    if (!settings_.where.empty()) conditions.set("where", list_of(settings_.where));
    if (settings_.min_snr_db) conditions.set("min_snr_db", *settings_.min_snr_db);
    if (settings_.max_gdop) conditions.set("max_gdop", *settings_.max_gdop);
    return conditions;
  }

  // What is sent for a family that there is not is of no use to another.
  bool takes_further_settings() const {
    return settings_.model_architecture.empty() || family_->name == settings_.model_architecture;
  }

  bool family_has(const std::string& setting) const {
    const config::Described own = family_->describe();
    return std::ranges::any_of(own.fields, [&](const config::Field& each) { return each.name == setting; });
  }

  Value model() const {
    const TrainingSettings& s = settings_;
    const Value further = takes_further_settings() ? s.model : Value();
    const std::string name(family_->name);
    if (family_->is_solved())
      return further.is_null() ? map_of({{"model_type", name}})
                               : map_of({{"model_type", name}, {"hyperparameters", further}});
    Value model = map_of({{"model_type", name},
                          {"batch_size", s.batch_size},
                          {"epochs", s.epochs},
                          {"learning_rate", s.learning_rate},
                          {"weight_decay", s.weight_decay},
                          {"schedule", s.lr_scheduler},
                          {"warmup_epochs", std::min(s.warmup_epochs, s.epochs - 1)},
                          {"validation_ratio", s.validation_split},
                          {"seed", s.seed}});
    if (given_.find("dropout") != nullptr || family_has("dropout")) model.set("dropout", s.dropout);
    if (s.max_grad_norm > 0) model.set("max_grad_norm", s.max_grad_norm);
    if (s.early_stop_patience > 0 && s.validation_split > 0) {
      model.set("early_stopping_patience", s.early_stop_patience);
      model.set("early_stopping_min_delta", s.early_stop_delta);
    }
    if (s.max_receivers) model.set("max_receivers", *s.max_receivers);
    if (const auto* more = further.get_if<Value::Map>())
      for (const config::Entry& entry : *more) model.set(entry.key, entry.value);
    return model;
  }

  std::string target() const {
    if (settings_.target_column.empty() && are_receptions(columns_)) return "position";
    const std::string& target = settings_.target_column;
    if (!target.empty()) {
      if (target != mask_target || !reads_cubes(family_->name)) check_column("target_column", target);
      return target;
    }
    diagnostics_.add(0, "config.target_column", "name the column that is to be predicted");
    return "target";
  }

  void check_column(const char* setting, const std::string& name) const {
    if (!columns_.empty() && !has_array(columns_, name))
      diagnostics_.add(
          0, fmt::format("config.{}", setting),
          fmt::format("the datasets have no column '{}'{}", printable(name), did_you_mean(name, columns_)));
  }

  Value training() const {
    Value train = map_of({{"target_column", target()}});
    for (const std::string& each : settings_.feature_columns) check_column("feature_columns", each);
    if (family_->name == "triangulation" && settings_.feature_columns.empty() && are_receptions(columns_)) {
      train.set("feature_columns", list_of({"receivers"}));
      if (has(columns_, "present_0")) train.set("mask_column", "present");
    } else if (!settings_.feature_columns.empty()) {
      train.set("feature_columns", list_of(settings_.feature_columns));
    }
    if (family_->is_solved()) return train;
    if (settings_.precision != "auto") train.set("precision", settings_.precision);
    if (!settings_.preload_to_gpu) train.set("preload_to_gpu", false);
    if (settings_.accelerator != "auto")
      train.set("device", settings_.accelerator == "gpu" ? "cuda" : settings_.accelerator);
    return train;
  }

  void note_what_is_not_needed() {
    if (settings_.num_workers > 0)
      notes_.emplace_back(
          "num_workers: accepted and not needed; rows lie in the memory that the engine reads");
    if (!family_->is_solved()) return;
    for (const char* each : of_steps)
      if (given_.find(each) != nullptr)
        notes_.push_back(fmt::format("{}: accepted and not needed; {} is solved, not trained in steps", each,
                                     family_->name));
  }

  const Value& given_;
  const Names& columns_;
  config::Diagnostics& diagnostics_;
  Names& notes_;
  TrainingSettings settings_;
  const Family* family_;
};

// A request has no lines that its sender would know.
void refuse_all(const config::Diagnostics& found) {
  config::Diagnostics without_lines("");
  for (const config::Diagnostic& each : found.found()) without_lines.add(0, each.path, each.message);
  without_lines.refuse_if_any();
}

}  // namespace

Document document_of_job(const Value& given, const std::string& name, const std::filesystem::path& folder,
                         const ColumnsOfDatasets& columns_of, Names& notes) {
  config::Diagnostics diagnostics("");
  config::Diagnostics once("");  // the same again, with the settings themselves
  const auto settings = config::read<TrainingSettings>(given, "config", once);
  Names columns;
  for (const std::string& id : settings.dataset_ids) {
    const auto found = columns_of(id, diagnostics);
    columns.insert(columns.end(), found.begin(), found.end());
  }
  JobDocument job(given, columns, diagnostics, notes);
  const Value value = job.document(name);
  config::Diagnostics of_document("");
  Document document = read_document(value, card_types(), of_document);
  for (const config::Diagnostic& each : of_document.found())
    diagnostics.add(0, job.setting_at(each.path), each.message);
  refuse_all(diagnostics);
  for (const std::string& each : diagnostics.notes()) notes.push_back(each);
  finish_reading(document, "document", folder);
  return document;
}

}  // namespace stoker::serve
