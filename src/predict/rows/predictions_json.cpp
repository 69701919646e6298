#include "predict/rows/predictions_json.h"

#include <nlohmann/json.hpp>

#include "data/dates/date_text.h"

namespace stoker {
namespace {

// A number for each row, or a list of those of its steps.
nlohmann::json by_row(const std::vector<double>& values, std::int64_t steps) {
  if (steps == 1) return values;
  nlohmann::json rows = nlohmann::json::array();
  for (auto first = values.begin(); first != values.end(); first += steps)
    rows.push_back(std::vector<double>(first, first + steps));
  return rows;
}

// A date as text.
nlohmann::json end_json(const NumberRange& range, double end) {
  return range.are_dates ? nlohmann::json(date_text(end)) : nlohmann::json(end);
}

}  // namespace

nlohmann::json to_json(const Predictions& predictions, const std::optional<Intervals>& intervals,
                       const Model& model) {
  nlohmann::json json = {{"task", std::string(config::name_of(predictions.task))},
                         {"target", model.preparation.target_column()},
                         {"rows", predictions.rows()}};
  if (predictions.task == Task::regression) {
    json["predictions"] = by_row(predictions.values, predictions.steps);
    if (intervals) {
      json["lower"] = by_row(intervals->lower, predictions.steps);
      json["upper"] = by_row(intervals->upper, predictions.steps);
    }
    if (!predictions.deviations.empty()) json["deviations"] = predictions.deviations;
    return json;
  }
  nlohmann::json names = nlohmann::json::array();
  nlohmann::json probabilities = nlohmann::json::array();
  const bool has_columns = predictions.has_columns();
  const std::size_t width = predictions.class_names.size();
  for (std::size_t row = 0; row < predictions.classes.size(); ++row) {
    names.push_back(predictions.class_names.at(static_cast<std::size_t>(predictions.classes[row])));
    if (!has_columns) continue;
    const auto first = predictions.probabilities.begin() + static_cast<std::ptrdiff_t>(row * width);
    probabilities.push_back(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(width)));
  }
  json["predictions"] = std::move(names);
  if (has_columns) {
    json["classes"] = predictions.class_names;
    json["probabilities"] = std::move(probabilities);
  } else {
    json["probability"] = predictions.of_predicted;
  }
  return json;
}

void add_gaps(nlohmann::json& json, const std::vector<ColumnGaps>& gaps) {
  json["filled"] = nlohmann::json::object();
  json["unseen"] = nlohmann::json::object();
  json["outside"] = nlohmann::json::object();
  for (const ColumnGaps& each : gaps) {
    if (each.missing > 0) json["filled"][each.column] = each.missing;
    if (each.unseen > 0) json["unseen"][each.column] = each.unseen;
    if (each.outside > 0)
      json["outside"][each.column] = {{"rows", each.outside},
                                      {"low", end_json(each.range, each.range.low)},
                                      {"high", end_json(each.range, each.range.high)}};
  }
}

}  // namespace stoker
