#include <algorithm>
#include <cmath>

#include "device/device.h"
#include "graphs_of_cubes.h"

// Graphs of nodes whose gradients LibTorch finds, held against those that are written out: one type of node
// after the other.
namespace stoker::test {
namespace {

using testing::HasSubstr;

struct GraphCase {
  const char* name;
  std::string graph;
  double tolerance = 1e-4;
  std::int64_t width = 8;  // of the cubes, and their height
};

std::ostream& operator<<(std::ostream& out, const GraphCase& graph) {
  return out << graph.name;
}

// Scores of some node become logits, which a loss compares with the marks.
std::string scored_by(const std::string& nodes, const std::string& connections, const std::string& scores,
                      const std::string& loss, const std::string& unfrozen) {
  return "nodes:\n- { name: data, type: CubeDataNode }\n" + nodes +
         "- { name: logit, type: ScoreToLogit }\n" + "- { name: loss, " + loss + " }\nconnections:\n" +
         connections + "- { source: " + scores +
         ", target: logit.scores }\n- { source: logit.logits, target: loss.predictions }\n"
         "- { source: data.mask, target: loss.targets }\nunfrozen: [" +
         unfrozen + "]\n";
}

std::string scaled(const std::string& scale, const std::string& rest = "type: RXGlobal",
                   const std::string& loss = "type: AnomalyBCEWithLogits",
                   const std::string& unfrozen = "scores, logit") {
  return scored_by("- { name: scale, " + scale + " }\n- { name: scores, " + rest + " }\n",
                   "- { source: data.cube, target: scale.data }\n"
                   "- { source: scale.normalized, target: scores.data }\n",
                   "scores.scores", loss, unfrozen);
}

std::string selected(const std::string& settings) {
  return R"(
nodes:
- { name: data, type: CubeDataNode }
- { name: scale, type: MinMaxNormalizer }
- { name: select, type: SoftChannelSelector, settings: )" +
         settings + R"( }
- { name: scores, type: RXGlobal }
- { name: logit, type: ScoreToLogit }
- { name: bce, type: AnomalyBCEWithLogits }
- { name: entropy, type: SelectorEntropyRegularizer }
- { name: near, type: SelectorEntropyRegularizer, settings: { target_entropy: 1.2, weight: 0.3 } }
- { name: diversity, type: SelectorDiversityRegularizer, settings: { weight: 0.2 } }
connections:
- { source: data.cube, target: scale.data }
- { source: scale.normalized, target: select.data }
- { source: select.selected, target: scores.data }
- { source: scores.scores, target: logit.scores }
- { source: logit.logits, target: bce.predictions }
- { source: data.mask, target: bce.targets }
- { source: select.weights, target: entropy.weights }
- { source: select.weights, target: near.weights }
- { source: select.weights, target: diversity.weights }
unfrozen: [select, logit]
)";
}

std::string mixed(const std::string& settings, const std::string& picture) {
  return R"(
nodes:
- { name: data, type: CubeDataNode }
- { name: mix, type: LearnableChannelMixer, settings: )" +
         settings + R"( }
- { name: picture, )" +
         picture + R"( }
- { name: near, type: MSEReconstructionLoss }
- { name: distinct, type: DistinctnessLoss }
connections:
- { source: data.cube, target: mix.data }
- { source: data.cube, target: picture.cube }
- { source: data.wavelengths, target: picture.wavelengths }
- { source: mix.rgb, target: near.reconstruction }
- { source: picture.rgb_image, target: near.target }
- { source: mix.weights, target: distinct.selection_weights }
unfrozen: [mix]
)";
}

std::string in_a_sphere(const std::string& settings) {
  return R"(
nodes:
- { name: data, type: CubeDataNode }
- { name: bands, type: BandpassByWavelength, settings: { min_wavelength_nm: 500 } }
- { name: unit, type: PerPixelUnitNorm }
- { name: standard, type: ZScoreNormalizerGlobal }
- { name: project, type: DeepSVDDProjection, settings: )" +
         settings + R"( }
- { name: centre, type: DeepSVDDCenterTracker, settings: { alpha: 0.3 } }
- { name: scores, type: DeepSVDDScores }
- { name: logit, type: ScoreToLogit }
- { name: share, type: IoULoss }
- { name: sphere, type: DeepSVDDSoftBoundaryLoss, settings: { nu: 0.2 } }
connections:
- { source: data.cube, target: bands.data }
- { source: data.wavelengths, target: bands.wavelengths }
- { source: bands.filtered, target: unit.data }
- { source: unit.normalized, target: standard.data }
- { source: standard.normalized, target: project.data }
- { source: project.embeddings, target: centre.embeddings }
- { source: project.embeddings, target: scores.embeddings }
- { source: centre.center, target: scores.center }
- { source: scores.scores, target: logit.scores }
- { source: logit.logits, target: share.predictions }
- { source: data.mask, target: share.targets }
- { source: project.embeddings, target: sphere.embeddings }
- { source: centre.center, target: sphere.center }
unfrozen: [standard, project, sphere]
)";
}

ModelSpec spec_with(const std::string& graph) {
  ModelSpec spec = spec_of_graph(graph);
  spec.training.optimizer = Optimizer::sgd;  // a gradient of nearly 0 stays a small step
  spec.training.learning_rate = 0.002;
  spec.training.validation_ratio = 0.3;
  spec.training.batch_size = 3;
  return spec;
}

FitResult fitted_with(EngineChoice engine, const std::string& graph, const std::string& device = "cpu",
                      std::int64_t width = 8) {
  RecordingListener listener;
  const Table table = some_cubes(10, 6, true, width);
  FitRequest request = request_for_cubes(table, spec_with(graph));
  request.config.engine = engine;
  request.config.device = device;
  return fit(request, listener, StopSignal{});
}

class NodeGraphsByLibTorch : public testing::TestWithParam<GraphCase> {};

void expect_what_the_cpu_learns(const GraphCase& graph, const FitResult& found) {
  const FitResult expected = fitted_with(EngineChoice::fused, graph.graph, "cpu", graph.width);
  EXPECT_EQ(found.engine, "eager");
  EXPECT_EQ(found.precision, Precision::fp32);
  const double tolerance = graph.tolerance;
  ASSERT_EQ(found.epochs.size(), expected.epochs.size());
  for (std::size_t i = 0; i < expected.epochs.size(); ++i) {
    const EpochRecord &one = found.epochs[i].record, &other = expected.epochs[i].record;
    EXPECT_NEAR(one.train_loss, other.train_loss, tolerance * (1 + std::abs(other.train_loss))) << i;
    EXPECT_NEAR(one.validation_loss.value(), other.validation_loss.value(),
                tolerance * (1 + std::abs(other.validation_loss.value())))
        << i;
    ASSERT_EQ(one.values.size(), other.values.size());
    for (const NamedValue& each : other.values) {
      const auto value = std::ranges::find(one.values, each.name, &NamedValue::name);
      ASSERT_NE(value, one.values.end()) << each.name;
      EXPECT_NEAR(value->value, each.value, tolerance * (1 + std::abs(each.value))) << each.name << ' ' << i;
    }
  }
  for (const NamedArray& each : expected.model.parameters) {
    const Array& array = find_array(found.model.parameters, each.name);
    ASSERT_EQ(array.shape(), each.array.shape()) << each.name;
    double largest = 0;
    for (const float value : each.array.as<float>())
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    for (std::size_t i = 0; i < array.as<float>().size(); ++i)
      EXPECT_NEAR(array.as<float>()[i], each.array.as<float>()[i], tolerance * (1 + largest))
          << each.name << ' ' << i;
  }
  EXPECT_NE(expected.epochs.back().record.train_loss, expected.epochs.front().record.train_loss)
      << "nothing is learnt";
}

TEST_P(NodeGraphsByLibTorch, LearnWhatThoseOnTheCpuDo) {
  expect_what_the_cpu_learns(GetParam(),
                             fitted_with(EngineChoice::eager, GetParam().graph, "cpu", GetParam().width));
}

TEST_P(NodeGraphsByLibTorch, LearnThatOnAGpuToo) {
  if (list_devices().devices.size() < 2) GTEST_SKIP() << "no GPU here";
  expect_what_the_cpu_learns(GetParam(),
                             fitted_with(EngineChoice::eager, GetParam().graph, "cuda", GetParam().width));
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, NodeGraphsByLibTorch,
    testing::Values(
        GraphCase{"detector", detector}, GraphCase{"odd_masks", scaled("type: MinMaxNormalizer"), 1e-4, 7},
        GraphCase{"trained_rx", replaced(detector, "[pca, logit]", "[pca, rx, logit]")},
        GraphCase{"whitened", replaced(detector, "n_components: 3", "n_components: 3, whiten: true")},
        GraphCase{"normal_class", replaced(detector, "type: CubeDataNode }",
                                           "type: CubeDataNode, settings: { normal_class_ids: [1] } }")},
        GraphCase{"ranges_of_images",
                  scaled("type: MinMaxNormalizer, settings: { use_running_stats: false }")},
        GraphCase{"standard", scaled("type: ZScoreNormalizerGlobal", "type: RXGlobal",
                                     "type: AnomalyBCEWithLogits", "scale, scores, logit")},
        GraphCase{"graph_of_channels", scaled("type: MinMaxNormalizer", "type: LADGlobal")},
        GraphCase{"each_image", scaled("type: MinMaxNormalizer", "type: RXPerBatch",
                                       "type: AnomalyBCEWithLogits", "logit")},
        GraphCase{
            "weighted_sum",
            scaled("type: MinMaxNormalizer", "type: RXGlobal",
                   "type: AnomalyBCEWithLogits, settings: { reduction: sum, pos_weight: 3, weight: 0.001 }")},
        GraphCase{"common_share", scaled("type: MinMaxNormalizer", "type: RXGlobal", "type: IoULoss")},
        GraphCase{"common_share_clamped", scaled("type: MinMaxNormalizer", "type: RXGlobal",
                                                 "type: IoULoss, settings: { normalize_method: clamp }")},
        GraphCase{"common_share_of_range", scaled("type: MinMaxNormalizer", "type: RXGlobal",
                                                  "type: IoULoss, settings: { normalize_method: minmax }")},
        GraphCase{"selector", selected("{ n_select: 3, temperature_decay: 0.7, init_method: variance }")},
        GraphCase{"hard_selector",
                  selected("{ n_select: 3, temperature_decay: 0.5, temperature_min: 0.4, hard: true }")},
        GraphCase{"mixer", mixed("{ output_channels: 3 }", "type: BaselineFalseRGBSelector")},
        GraphCase{
            "deep_mixer",
            mixed("{ output_channels: 3, reduction_scheme: [6, 4, 3], normalize_output: false }",
                  "type: CIRFalseColorSelector, settings: { nir_nm: 690, red_nm: 600, green_nm: 500 }")},
        GraphCase{"plain_mixer",
                  mixed("{ output_channels: 3, use_bias: false, use_activation: false, init_method: pca }",
                        "type: BaselineFalseRGBSelector")},
        GraphCase{"sphere", in_a_sphere("{ rep_dim: 3, hidden: 8 }")},
        GraphCase{"sphere_of_features", in_a_sphere("{ rep_dim: 3, hidden: 8, kernel: rbf, n_rff: 16 }")},
        // So many pixels that nodes take them in pieces, and several cores take pieces.
        GraphCase{"large_detector", replaced(detector, "[pca, logit]", "[pca, rx, logit]"), 1e-4, 41},
        GraphCase{"large_mixer",
                  mixed("{ output_channels: 3, reduction_scheme: [6, 4, 3], normalize_output: false }",
                        "type: BaselineFalseRGBSelector"),
                  1e-4, 41},
        GraphCase{"large_sphere", in_a_sphere("{ rep_dim: 3, hidden: 8 }"), 1e-4, 41}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(NodeGraphsByLibTorch, RefuseWhatTheyDoNotKnow) {
  const auto refusal = [](const std::string& graph) {
    const Table table = some_cubes(6);
    FitRequest request = request_for_cubes(table, spec_of_graph(graph));
    request.config.engine = EngineChoice::eager;
    return refusal_of(request);
  };
  EXPECT_THAT(refusal(replaced(detector, "unfrozen: [pca, logit]", "")),
              HasSubstr("nothing of this graph is trained"));
  EXPECT_THAT(refusal(std::string(detector) + "bad_pixels: leave_out\n"),
              HasSubstr("does not leave out pixels"));
  EXPECT_THAT(refusal(scored_by(
                  "- { name: scale, type: ZScoreNormalizerGlobal }\n- { name: scores, type: RXPerBatch }\n",
                  "- { source: data.cube, target: scale.data }\n"
                  "- { source: scale.normalized, target: scores.data }\n",
                  "scores.scores", "type: AnomalyBCEWithLogits", "scale, logit")),
              HasSubstr("nothing before scores can be trained"));
}

TEST(NodeGraphsByLibTorch, TakeNoBatchInParts) {
  const Table table = some_cubes(10);
  const std::string graph = scaled("type: MinMaxNormalizer", "type: RXGlobal", "type: IoULoss");
  FitRequest request = request_for_cubes(table, spec_with(graph));
  request.config.engine = EngineChoice::eager;
  request.config.device = "cpu";
  RecordingListener listener;
  const FitResult whole = fit(request, listener, StopSignal{});
  request.spec.training.accumulation_steps = 3;
  expect_equal(fit(request, listener, StopSignal{}).model.parameters, whole.model.parameters);
}

TEST(NodeGraphsByLibTorch, RefuseNumbersOf16Bits) {
  const Table table = some_cubes(6);
  FitRequest request = request_for_cubes(table, spec_of_graph(detector));
  request.config.engine = EngineChoice::eager;
  request.config.precision = Precision::bf16;
  EXPECT_THAT(refusal_of(request), HasSubstr("computed in fp32 or tf32, not in bf16"));
}

// Whether its loss is near does not matter to a selector that gets sharper.
TEST(NodeGraphsByLibTorch, BeginAnEpochWhereverANodeStands) {
  const std::string graph = replaced(
      replaced(
          detector, "- { name: decide,",
          "- { name: select, type: SoftChannelSelector, settings: { n_select: 3, temperature_decay: 0.5 } }\n"
          "- { name: apart, type: RXGlobal }\n- { name: decide,"),
      "- { source: logit.logits, target: decide.logits }",
      "- { source: data.cube, target: select.data }\n- { source: select.selected, target: apart.data }\n"
      "- { source: apart.scores, target: decide.logits }");
  const FitResult found = fitted_with(EngineChoice::eager, graph),
                  expected = fitted_with(EngineChoice::fused, graph);
  for (const FitResult* each : {&found, &expected})
    EXPECT_FLOAT_EQ(find_array(each->model.parameters, "select.temperature").as<float>()[0], 5 * 0.125F);
}

}  // namespace
}  // namespace stoker::test
