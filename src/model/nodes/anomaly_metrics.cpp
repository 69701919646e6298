#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/network/sigmoid.h"
#include "model/nodes/finite_scores.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/precision_recall.h"

namespace stoker::nodes {
namespace {

struct AnomalyMetricSettings {
  std::int64_t ap_thresholds = 0;
};

config::Fields fields(AnomalyMetricSettings& s) {
  return {config::field(
              "ap_thresholds", s.ap_thresholds,
              "Probabilities from 0 to 1 at which the average precision is looked at; 0: at every score")
              .within(0, 1e6)};
}

// At so many thresholds of the probability, from 0 to 1, as torchmetrics has it: precision over the recall
// that each adds to the next higher one.
double average_precision_at(std::int64_t thresholds, std::span<const float> scores,
                            std::span<const std::uint8_t> targets) {
  // How many scores reach the threshold `i` and no higher one.
  std::vector<double> hits(static_cast<std::size_t>(thresholds)), all(hits.size());
  const auto last = static_cast<double>(thresholds - 1);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto place = static_cast<std::size_t>(sigmoid(static_cast<double>(scores[i])) * last);
    all[place] += 1;
    hits[place] += targets[i] != 0 ? 1 : 0;
  }
  const double marked = std::accumulate(hits.begin(), hits.end(), 0.0);
  double found = 0, reached = 0, area = 0;
  for (std::size_t i = hits.size(); i-- > 0 && marked > 0;) {
    found += hits[i];
    reached += all[i];
    if (reached > 0) area += hits[i] / marked * found / reached;
  }
  return area;
}

class AnomalyDetectionMetrics final : public NodeWith<AnomalyMetricSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override {
    Port logits = cube_port("logits", "Scores, for the average precision", 1);
    logits.is_optional = true;
    return {mask_port("decisions", "Marks that were made"), mask_port("targets", "Marked pixels"), logits};
  }
  Ports outputs(const Ports& connected) const override {
    Ports ports;
    for (const char* name : {"precision", "recall", "f1_score", "iou"})
      ports.push_back({name, DType::float32, {}, "Over all pixels; 0 where it would be 0 / 0"});
    if (find_port(connected, "logits") != nullptr)
      ports.push_back({"average_precision", DType::float32, {}, "Mean precision over the recalls"});
    return ports;
  }
  Values forward(const Pass& pass) const override {
    const auto decisions = value_at(pass.inputs, "decisions").as<std::uint8_t>();
    const auto targets = value_at(pass.inputs, "targets").as<std::uint8_t>();
    double hits = 0, decided = 0, marked = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      decided += decisions[i] != 0 ? 1 : 0;
      marked += targets[i] != 0 ? 1 : 0;
      hits += decisions[i] != 0 && targets[i] != 0 ? 1 : 0;
    }
    const auto share = [](double part, double whole) { return one_number(whole > 0 ? part / whole : 0); };
    Values values{{"precision", share(hits, decided)},
                  {"recall", share(hits, marked)},
                  {"f1_score", share(2 * hits, decided + marked)},
                  {"iou", share(hits, decided + marked - hits)}};
    if (const Array* logits = value_if(pass.inputs, "logits"))
      values["average_precision"] = one_number(precision_of(logits->as<float>(), targets));
    return values;
  }

 private:
  double precision_of(std::span<const float> logits, std::span<const std::uint8_t> targets) const {
    refuse_without_order(logits);
    return settings_.ap_thresholds == 0 ? precision_recall(logits, targets).average_precision
                                        : average_precision_at(settings_.ap_thresholds, logits, targets);
  }
};

}  // namespace

NodeType anomaly_detection_metrics() {
  return type_of<AnomalyDetectionMetrics>(
      "AnomalyDetectionMetrics", NodeKind::metric,
      "Precision, recall, F1, IoU and average precision of marked pixels");
}

}  // namespace stoker::nodes
