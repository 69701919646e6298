#pragma once

#include <cstring>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/cubes/cubes.h"
#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit/fit.h"

// A graph of nodes that finds pixels which stand out, cubes for it, and its training.
namespace stoker::test {

inline constexpr const char* detector = R"(
nodes:
- { name: data, type: CubeDataNode }
- { name: scale, type: MinMaxNormalizer }
- { name: pca, type: TrainablePCA, settings: { n_components: 3 } }
- { name: rx, type: RXGlobal }
- { name: logit, type: ScoreToLogit }
- { name: decide, type: BinaryDecider }
- { name: bce, type: AnomalyBCEWithLogits }
- { name: straight, type: OrthogonalityLoss, settings: { weight: 0.1 } }
- { name: metrics, type: AnomalyDetectionMetrics }
connections:
- { source: data.cube, target: scale.data }
- { source: scale.normalized, target: pca.data }
- { source: pca.projected, target: rx.data }
- { source: rx.scores, target: logit.scores }
- { source: logit.logits, target: decide.logits }
- { source: logit.logits, target: bce.predictions }
- { source: data.mask, target: bce.targets }
- { source: pca.components, target: straight.components }
- { source: decide.decisions, target: metrics.decisions }
- { source: data.mask, target: metrics.targets }
- { source: logit.logits, target: metrics.logits }
unfrozen: [pca, logit]
)";

// Channels move together with the brightness; in a marked pixel one of them is off.
inline Table some_cubes(std::int64_t count, std::int64_t channels = 6, bool has_masks = true,
                        std::int64_t width = 8) {
  auto cubes = std::make_shared<Cubes>();
  cubes->values = Array(DType::float32, {count, width, width, channels});
  cubes->masks = Array(DType::uint8, {count, width, width});
  const RandomKey key = random_key(7, Purpose::sample, 0);
  std::uint32_t draw = 0;
  for (std::int64_t pixel = 0; pixel < count * width * width; ++pixel) {
    const bool is_marked = uniform(key, draw++) < 0.1;
    const double bright = normal(key, draw++);
    cubes->masks.as<std::uint8_t>()[static_cast<std::size_t>(pixel)] = is_marked ? 1 : 0;
    for (std::int64_t i = 0; i < channels; ++i)
      cubes->values.as<float>()[static_cast<std::size_t>(pixel * channels + i)] =
          static_cast<float>(5 + bright * (1 + 0.2 * static_cast<double>(i)) + 0.3 * normal(key, draw++) +
                             (is_marked && i == 2 ? 2 : 0));
  }
  for (std::int64_t i = 0; i < count; ++i) cubes->names.push_back("cube_" + std::to_string(i));
  for (std::int64_t i = 0; i < channels; ++i) cubes->wavelengths.push_back(450 + 50 * static_cast<double>(i));
  if (!has_masks) cubes->masks = Array();
  find_facts(*cubes);
  for (CubeFacts& facts : cubes->facts) facts.has_mask = has_masks;
  return table_of_cubes(cubes);
}

inline ModelSpec spec_of_graph(const std::string& text) {
  config::Diagnostics diagnostics("");
  ModelSpec spec{"node_graph",
                 checked_settings(family_named("node_graph"), config::parse_document(text, "graph.yaml"), "",
                                  diagnostics),
                 {}};
  diagnostics.refuse_if_any();
  spec.training.epochs = 4;
  spec.training.batch_size = 4;
  spec.training.learning_rate = 0.01;
  spec.training.optimizer = Optimizer::adam;
  return spec;
}

inline FitRequest request_for_cubes(const Table& table, ModelSpec spec) {
  FitRequest request = request_for(table, std::move(spec));
  request.preparation.target_column = "mask";
  return request;
}

inline FitResult fitted_to_cubes(const Table& table, ModelSpec spec) {
  RecordingListener listener;
  return fit(request_for_cubes(table, std::move(spec)), listener, StopSignal{});
}

inline std::string refusal_of(const FitRequest& request) {
  RecordingListener listener;
  return error_of(ExitCode::wrong_request, [&] { fit(request, listener, StopSignal{}); });
}

inline std::string refusal_of_graph(const std::string& text) {
  return error_of(ExitCode::wrong_request, [&] { spec_of_graph(text); });
}

inline std::string replaced(std::string text, const std::string& part, const std::string& other) {
  const std::size_t place = text.find(part);
  EXPECT_NE(place, std::string::npos) << part;
  return text.replace(place, part.size(), other);
}

inline void expect_equal(const NamedArrays& one, const NamedArrays& other) {
  ASSERT_EQ(one.size(), other.size());
  for (const NamedArray& each : one) {
    const Array& array = find_array(other, each.name);
    ASSERT_EQ(array.shape(), each.array.shape()) << each.name;
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
}

inline bool are_equal(const Array& one, const Array& other) {
  return std::memcmp(one.data(), other.data(), one.bytes()) == 0;
}

}  // namespace stoker::test
