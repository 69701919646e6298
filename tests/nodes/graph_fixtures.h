#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "model/nodes/node_graph.h"

// A graph as the benchmark has it, and cubes for it.
namespace stoker::nodes {

inline constexpr const char* spectral_stress = R"(
nodes:
- { name: data, type: CubeDataNode }
- { name: scale, type: MinMaxNormalizer }
- { name: first, type: TrainablePCA, settings: { n_components: 4 } }
- { name: second, type: TrainablePCA, settings: { n_components: 2 } }
- { name: rx, type: RXGlobal }
- { name: logit, type: ScoreToLogit }
- { name: bce, type: AnomalyBCEWithLogits, settings: { weight: 2 } }
- { name: straight, type: OrthogonalityLoss, settings: { weight: 0.1 } }
- { name: decide, type: BinaryDecider }
- { name: metrics, type: AnomalyDetectionMetrics }
connections:
- { source: data.cube, target: scale.data }
- { source: scale.normalized, target: first.data }
- { source: first.outputs.projected, target: second.inputs.data }
- { source: first.components, target: straight.components }
- { source: second.projected, target: rx.data }
- { source: rx.scores, target: logit.scores }
- { source: logit.logits, target: bce.predictions }
- { source: data.mask, target: bce.targets }
- { source: logit.logits, target: decide.logits }
- { source: decide.decisions, target: metrics.decisions }
- { source: data.mask, target: metrics.targets }
- { source: logit.logits, target: metrics.logits }
)";

inline CubeShape six_channels() {
  return {8, 8, 6, {450, 500, 550, 600, 650, 700}};
}

inline NodeGraph graph_of(const std::string& text, const CubeShape& cubes = six_channels()) {
  config::Diagnostics diagnostics("graph.yaml");
  NodeGraph graph = read_node_graph(config::parse_document(text, "graph.yaml"), cubes, "", diagnostics);
  diagnostics.refuse_if_any();
  return graph;
}

inline std::string error_of(const std::string& text, const CubeShape& cubes = six_channels()) {
  try {
    graph_of(text, cubes);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

inline Values some_cubes(std::uint64_t which) {
  const RandomKey key = random_key(11, Purpose::sample, which);
  Array cube(DType::float32, {2, 8, 8, 6});
  Array mask(DType::uint8, {2, 8, 8, 1});
  std::uint32_t index = 0;
  for (std::size_t pixel = 0; pixel < 128; ++pixel) {
    const bool is_marked = uniform(key, index++) < 0.1;
    const double bright = normal(key, index++);
    mask.as<std::uint8_t>()[pixel] = is_marked ? 1 : 0;
    for (std::size_t i = 0; i < 6; ++i)
      cube.as<float>()[pixel * 6 + i] =
          static_cast<float>(5 + bright * (1 + 0.2 * static_cast<double>(i)) + 0.5 * normal(key, index++) +
                             (is_marked && i == 2 ? 3 : 0));
  }
  const std::vector<float> wavelengths{450, 500, 550, 600, 650, 700};
  return {{"cube", cube}, {"mask", mask}, {"wavelengths", Array::from<float>(wavelengths, {6})}};
}

inline void three_batches(const std::function<void(const Values&)>& use) {
  for (const std::uint64_t which : {0, 1, 2}) use(some_cubes(which));
}

}  // namespace stoker::nodes
