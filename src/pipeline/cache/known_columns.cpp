#include "pipeline/cache/known_columns.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/quote.h"
#include "data/cubes/cube_rows.h"
#include "data/cubes/cubes.h"
#include "data/table/column_values.h"
#include "data/table/filter.h"
#include "model/nodes/node_network.h"
#include "pipeline/card/card.h"
#include "pipeline/training/training_card.h"
#include "predict/spectral/cube_scores.h"

namespace stoker {
namespace {

using config::Value;
using ColumnNames = std::vector<std::string>;

// A text, or each of a list of them.
std::vector<std::string> texts_in(const Value* value) {
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  if (const auto* text = value->get_if<std::string>()) texts.push_back(*text);
  if (const auto* list = value->get_if<Value::List>())
    for (const Value& each : *list)
      if (const auto* text = each.get_if<std::string>()) texts.push_back(*text);
  std::erase(texts, "");
  return texts;
}

// Also the name of an array, which stands in columns NAME_0, NAME_1, …
bool is_among(const std::string& name, const ColumnNames& columns) {
  return std::ranges::any_of(
      columns, [&](const std::string& column) { return column == name || column.starts_with(name + "_"); });
}

class NamesOfDocument {
 public:
  NamesOfDocument(const Document& document, const Value* written, FilesOfSources files)
      : document_(document), written_(written), files_(files) {}

  // Cards come after those that they read from.
  KnownNames all() {
    for (const Card& card : document_.cards) {
      if (learns_from_masks(card)) check_target_of_masks(card);
      check_scores(card);
      if (card.kind->columns_of_source != nullptr) {
        learn_source(card);
      } else if (const Connection* connection = only_table_of(card)) {
        const auto found = put_out_.find(connection->card);
        if (found != put_out_.end()) learn_table(card, found->second);
      }
    }
    return std::move(known_);
  }

 private:
  bool learns_from_masks(const Card& card) const {
    if (!trains(card)) return false;
    const std::optional<ModelSpec> spec = spec_to_train(document_, card);
    return spec && reads_cubes(spec->family);
  }

  // Masks lie beside the rows, and are no column of them.
  void check_target_of_masks(const Card& card) {
    for (const std::string& name : texts_in(card.config.find("target_column")))
      if (name != mask_target)
        known_.no_columns.push_back(
            problem_at(card, "target_column",
                       fmt::format("a model that reads cubes learns from their masks: set {}, not {}",
                                   config::in_quotes(mask_target), config::in_quotes(name))));
  }

  // What a training and an evaluation of cubes want of masks.
  void check_masks(const Card& card, const ColumnNames& columns) {
    if (std::ranges::find(columns, column_of_marks) != columns.end()) return;
    if (learns_from_masks(card)) {
      const std::string problem = problem_without_masks(spec_to_train(document_, card)->settings);
      if (!problem.empty()) known_.no_columns.push_back(problem_at(card, "", problem));
    } else if (training_behind(card) != nullptr) {
      known_.no_masks.push_back(problem_at(
          card, "",
          fmt::format(
              "the cubes that come here have no masks, so that nothing can be measured against marks; "
              "scores, spectra and components are drawn. {}",
              how_to_give_masks)));
    }
  }

  // An evaluation would find out after the training.
  void check_scores(const Card& card) {
    const Card* train = training_behind(card);
    if (train == nullptr) return;
    const std::string problem = problem_without_scores(spec_to_train(document_, *train)->settings);
    if (!problem.empty()) known_.no_columns.push_back(problem_at(card, "", problem));
  }

  // It was read before anybody knew the cubes that it is for.
  void check_graph(const Card& card) {
    if (!learns_from_masks(card)) return;
    const ModelSpec spec = *spec_to_train(document_, card);
    const std::optional<KnownCubes> cubes = cubes_before(card);
    if (!cubes || spec.family != nodes::node_graph_family) return;
    const Card& definition = card_named(document_, model_to_train(card).card);
    config::Diagnostics diagnostics("");
    nodes::read_node_graph(spec.settings, {-1, -1, cubes->channels, cubes->wavelengths},
                           fmt::format("cards.{}.config", definition.id), diagnostics);
    for (config::Diagnostic each : diagnostics.found()) {
      if (each.line == 0) each.line = definition.line;
      known_.no_columns.push_back(std::move(each));
    }
  }

  // Those of the source whose rows come to a card, through others that pass them on.
  std::optional<KnownCubes> cubes_before(const Card& card) const {
    if (card.kind->cubes_of_source != nullptr)
      return card.kind->cubes_of_source(card.config,
                                        files_ == FilesOfSources::looked_at ? &document_.folder : nullptr);
    const Connection* connection = only_table_of(card);
    if (connection == nullptr) return std::nullopt;
    return cubes_before(card_named(document_, connection->card));
  }

  // Of a card that measures cubes, the one that trains its model; null of others.
  const Card* training_behind(const Card& card) const {
    const Input* model = input_of_type(*card.kind, PortType::model);
    if (model == nullptr || input_of_rows(*card.kind, Rows::tested_on) == nullptr) return nullptr;
    for (const Connection& connection : connections_to(card, model->name)) {
      const Card& train = card_named(document_, connection.card);
      if (learns_from_masks(train)) return &train;
    }
    return nullptr;
  }

  // None where the card reads no table or several: then it may make new columns of them.
  static const Connection* only_table_of(const Card& card) {
    const Connection* only = nullptr;
    for (const Connection& connection : card.inputs) {
      const Input* input = find_port(card.kind->inputs, connection.input);
      if (input == nullptr || input->type != PortType::table) continue;
      if (only != nullptr) return nullptr;
      only = &connection;
    }
    return only;
  }

  void learn_source(const Card& card) {
    try {
      std::optional<ColumnNames> columns = card.kind->columns_of_source(
          card.config, files_ == FilesOfSources::looked_at ? &document_.folder : nullptr);
      if (!columns) return;
      known_.columns[card.id] = *columns;
      put_out_[card.id] = std::move(*columns);
    } catch (const Error& error) {
      if (error.code() != ExitCode::wrong_request || error.cause() == Cause::machine) throw;
      const auto& settings = card.kind->dataset_settings;
      known_.no_sources.push_back(problem_at(card, settings.empty() ? "" : settings.front(), error.what()));
    }
  }

  void learn_table(const Card& card, const ColumnNames& columns) {
    known_.columns[card.id] = columns;
    check_masks(card, columns);
    check_graph(card);
    for (const std::string& setting : card.kind->column_settings) {
      if (setting == "target_column" && learns_from_masks(card)) continue;
      for (const std::string& name : texts_in(card.config.find(setting))) check(card, setting, name, columns);
    }
    for (const std::string& setting : card.kind->condition_settings)
      for (const std::string& condition : texts_in(card.config.find(setting)))
        check(card, setting, condition_from(condition).column, columns);
    if (input_of_rows(*card.kind, Rows::passed_on) != nullptr) put_out_[card.id] = columns;
  }

  void check(const Card& card, const std::string& setting, const std::string& name,
             const ColumnNames& columns) {
    if (is_among(name, columns)) return;
    std::string hint = did_you_mean(name, columns);
    if (hint.empty()) hint = fmt::format("; they have {}", shortened(join(columns, ", ")));
    known_.no_columns.push_back(problem_at(
        card, setting,
        fmt::format("the rows that come here have no column {}{}", config::in_quotes(name), hint)));
  }

  config::Diagnostic problem_at(const Card& card, const std::string& setting, std::string message) const {
    std::string path = fmt::format("cards.{}.config", card.id);
    if (!setting.empty()) path += "." + setting;
    return {line_of(card, setting), std::move(path), std::move(message)};
  }

  int line_of(const Card& card, const std::string& setting) const {
    const Value* at = written_;
    for (const std::string& key : {std::string("cards"), card.id, std::string("config"), setting}) {
      if (at != nullptr) at = at->find(key);
    }
    return at != nullptr && at->line() > 0 ? at->line() : card.line;
  }

  const Document& document_;
  const Value* written_;
  FilesOfSources files_;
  KnownNames known_;
  std::map<std::string, ColumnNames> put_out_;  // by card, of all tables that it puts out
};

}  // namespace

KnownNames known_names(const Document& document, const Value* written, FilesOfSources files) {
  return NamesOfDocument(document, written, files).all();
}

}  // namespace stoker
