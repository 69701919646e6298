#include "store/record/walk_forward_record.h"

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

// A list, because an object would not keep the order in which people want the metrics.
nlohmann::json list_of(const WalkForwardResult::Metrics& metrics) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, value] : metrics) list.push_back({{"name", name}, {"value", value}});
  return list;
}

WalkForwardResult::Metrics metrics_in(const RecordPart& part) {
  WalkForwardResult::Metrics metrics;
  part.each("metrics", [&](const nlohmann::json& entry, const RecordPart::Place& place) {
    const RecordPart metric(entry, place);
    metrics.emplace_back(metric.text("name"), metric.number("value"));
  });
  return metrics;
}

}  // namespace

nlohmann::json to_json(const WalkForwardResult& result) {
  nlohmann::json baselines = nlohmann::json::array();
  for (const auto& [predicts, metrics] : result.baselines)
    baselines.push_back({{"predicts", predicts}, {"metrics", list_of(metrics)}});
  nlohmann::json folds = nlohmann::json::array();
  for (const WalkForwardResult::Fold& fold : result.folds) {
    folds.push_back({{"number", fold.number},
                     {"trained_on", fold.trained_on},
                     {"purged", fold.purged},
                     {"rows", fold.rows},
                     {"metrics", list_of(fold.metrics)}});
    if (fold.from.empty()) continue;
    folds.back()["from"] = fold.from;
    folds.back()["until"] = fold.until;
  }
  nlohmann::json json = {
      {"rows", result.rows}, {"metrics", list_of(result.metrics)}, {"folds", std::move(folds)}};
  if (!baselines.empty()) json["baselines"] = std::move(baselines);
  if (result.verdict) json["verdict"] = stoker::to_json(*result.verdict);
  if (result.untested) json["untested"] = stoker::to_json(*result.untested);
  if (!result.cautions.empty()) json["cautions"] = stoker::to_json(result.cautions);
  return json;
}

WalkForwardResult walk_forward_from(const RecordPart& part) {
  WalkForwardResult result;
  result.rows = part.whole("rows", 0, 0);
  result.metrics = metrics_in(part);
  if (part.has("verdict")) result.verdict = skill_verdict_from(part.at("verdict"));
  if (part.has("untested")) result.untested = untested_skill_from(part.at("untested"));
  if (part.has("cautions")) result.cautions = cautions_from(part.at("cautions"));
  part.each("baselines", [&](const nlohmann::json& entry, const RecordPart::Place& place) {
    const RecordPart baseline(entry, place);
    result.baselines.emplace_back(baseline.text("predicts"), metrics_in(baseline));
  });
  part.each("folds", [&](const nlohmann::json& entry, const RecordPart::Place& place) {
    const RecordPart fold(entry, place);
    result.folds.push_back({.number = fold.whole("number", 0, 0),
                            .trained_on = fold.whole("trained_on", 0, 0),
                            .purged = fold.whole("purged", 0, 0),
                            .rows = fold.whole("rows", 0, 0),
                            .from = fold.text("from"),
                            .until = fold.text("until"),
                            .metrics = metrics_in(fold)});
  });
  return result;
}

}  // namespace stoker
