#include "model/nodes/node_graph.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph_fixtures.h"
#include "kernels/place.h"
#include "kernels/score_statistics.h"
#include "model/nodes/fused_chain.h"

namespace stoker::nodes {
namespace {

using testing::HasSubstr;

TEST(NodeGraph, LearnsAChainOfAffineNodesInOnePassAndAnotherForWhatFollowsScores) {
  const NodeGraph graph = graph_of(spectral_stress);
  const Learned learned = learn_states(graph, three_batches, {});
  EXPECT_EQ(learned.passes, 2) << "one for the chain up to rx, one for logit behind it";
  EXPECT_EQ(find_array(learned.states.at("second"), "components").shape(), (Shape{2, 4}));
}

// As a GPU does for cubes that lie in its memory.
TEST(NodeGraph, LearnsFromWhatSomebodyElseFoundOfAllPixels) {
  const NodeGraph graph = graph_of(spectral_stress);
  kernels::Statistics of_all;
  std::int64_t passes = 0;
  const CubeBatches counted = [&](const std::function<void(const Values&)>& take) {
    ++passes;
    three_batches(take);
  };
  three_batches([&](const Values& entering) {
    const Array& cube = value_at(entering, "cube");
    of_all.merge(kernels::covariance({cube.as<float>().data(), nullptr, 128, cube.shape().back(), true},
                                     kernels::BadPixels::refuse, {Device::cpu(), nullptr}));
  });
  LearningOptions options;
  options.of_all_pixels = [&] { return of_all; };
  const Learned learned = learn_states(graph, counted, options);
  EXPECT_EQ(passes, 1) << "for logit, which lies behind scores";
  const States expected = learn_states(graph, three_batches, {}).states;
  for (const auto& [node, state] : expected)
    for (const NamedArray& each : state)
      EXPECT_TRUE(std::ranges::equal(find_array(learned.states.at(node), each.name).as<float>(),
                                     each.array.as<float>()))
          << node << '.' << each.name;
}

// Scores behind affine nodes are found by one matrix.
TEST(NodeGraph, LearnsFromScoresThatSomebodyElseFound) {
  const NodeGraph graph = graph_of(spectral_stress);
  LearningOptions options;
  std::int64_t asked = 0;
  options.of_all_scores = [&](const kernels::QuadraticScores& work) {
    ++asked;
    kernels::Statistics all;
    three_batches([&](const Values& entering) {
      const Array& cube = value_at(entering, "cube");
      kernels::QuadraticScores own = work;
      own.pixels = cube.as<float>().data();
      own.rows = 128;
      all.merge(kernels::score_statistics(own, kernels::BadPixels::refuse));
    });
    return all;
  };
  const States found = learn_states(graph, three_batches, options).states;
  const States expected = learn_states(graph, three_batches, {}).states;
  EXPECT_EQ(asked, 1);
  const float bias = find_array(expected.at("logit"), "bias").as<float>()[0];
  EXPECT_NEAR(find_array(found.at("logit"), "bias").as<float>()[0], bias, 1e-4F * bias);
}

// By going over the pixels once more for each node.
TEST(NodeGraph, LearnsFromAnAffineChainWhatAPassForEachNodeWouldFind) {
  const NodeGraph graph = graph_of(spectral_stress);
  const States found = learn_states(graph, three_batches, {}).states;
  kernels::Statistics before_rx;
  three_batches([&](const Values& entering) {
    const GraphValues values = run_forward(graph, found, entering, Stage::inference);
    const Array& projected = value_at(values.at("second"), "projected");
    before_rx.merge(kernels::covariance({projected.as<float>().data(), nullptr, 128, 2, true},
                                        kernels::BadPixels::refuse, {Device::cpu(), nullptr}));
  });
  const std::vector<double> covariance = covariance_of(before_rx);
  const auto learned = find_array(found.at("rx"), "cov").as<float>();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(learned[i], covariance[i] + (i % 3 == 0 ? 1e-6 : 0), 2e-5 * std::abs(covariance[0]));
  const auto centre = find_array(found.at("rx"), "mu").as<float>();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(centre[i], before_rx.mean[i], 1e-5);
}

TEST(NodeGraph, LosesLessAfterAStepAgainstItsGradient) {
  const NodeGraph graph = graph_of(spectral_stress);
  States states = learn_states(graph, three_batches, {}).states;
  const Values entering = some_cubes(0);
  const auto loss = [&](const States& with) {
    return total_loss(graph, run_forward(graph, with, entering, Stage::train));
  };
  const GraphValues values = run_forward(graph, states, entering, Stage::train);
  const States gradients = run_backward(graph, states, values, [](std::string_view node) {
    return node == "first" || node == "second" || node == "logit";
  });
  ASSERT_TRUE(gradients.contains("first") && gradients.contains("logit"));
  EXPECT_FALSE(gradients.contains("rx")) << "it was not asked for";
  // The change of the loss along the gradient, by differences.
  const double step = 1e-4;
  double expected = 0;
  States moved = states;
  for (const auto& [name, arrays] : gradients)
    for (const NamedArray& gradient : arrays)
      for (NamedArray& each : moved[name]) {
        if (each.name != gradient.name) continue;
        each.array = each.array.clone();
        const auto to = each.array.as<float>();
        for (std::size_t i = 0; i < to.size(); ++i) {
          const auto slope = static_cast<double>(gradient.array.as<float>()[i]);
          expected += slope * slope;
          to[i] -= static_cast<float>(step * slope);
        }
      }
  const double fallen = (loss(states) - loss(moved)) / step;
  EXPECT_GT(fallen, 0);
  EXPECT_NEAR(fallen, expected, 0.05 * expected);
}

TEST(FusedChain, GivesTheLossAndTheGradientsOfTheNodesOneByOne) {
  const NodeGraph graph = graph_of(spectral_stress);
  const States states = learn_states(graph, three_batches, {}).states;
  const IsTrained is_trained = [](std::string_view node) {
    return node == "first" || node == "second" || node == "logit";
  };
  const auto chain = find_fused_chain(graph, states, is_trained);
  ASSERT_TRUE(chain.has_value());
  EXPECT_EQ(chain->affine.size(), 3);
  const Values entering = some_cubes(1);
  const FusedStep found = run_fused_chain(graph, *chain, states, entering, is_trained);
  const GraphValues values = run_forward(graph, states, entering, Stage::train);
  const States expected = run_backward(graph, states, values, is_trained);
  EXPECT_NEAR(found.loss, total_loss(graph, values), 1e-5);
  ASSERT_EQ(found.gradients.size(), expected.size());
  for (const auto& [name, arrays] : expected)
    for (const NamedArray& each : arrays) {
      SCOPED_TRACE(name + " " + each.name);
      const auto one = find_array(found.gradients.at(name), each.name).as<float>();
      const auto other = each.array.as<float>();
      ASSERT_EQ(one.size(), other.size());
      float size = 0;
      for (const float value : other) size = std::max(size, std::abs(value));
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 2e-4 * size) << i;
    }
}

TEST(FusedChain, IsNotTakenWhereMoreIsTrained) {
  const NodeGraph graph = graph_of(spectral_stress);
  const States states = learn_states(graph, three_batches, {}).states;
  EXPECT_FALSE(find_fused_chain(graph, states, [](std::string_view node) { return node == "rx"; }));
  EXPECT_TRUE(find_fused_chain(graph, states, [](std::string_view node) { return node == "logit"; }));
}

// A loss that counts in validation alone stands beside the pixels.
TEST(FusedChain, HeedsTheStagesOfLosses) {
  std::string text = spectral_stress;
  const std::string loss = "type: OrthogonalityLoss";
  const std::size_t place = text.find(loss);
  ASSERT_NE(place, std::string::npos);
  const NodeGraph graph = graph_of(text.insert(place, "stages: [val], "));
  const States states = learn_states(graph, three_batches, {}).states;
  const IsTrained is_trained = [](std::string_view node) { return node == "first" || node == "logit"; };
  const Values entering = some_cubes(1);
  std::map<Stage, double> totals;
  for (const Stage stage : {Stage::train, Stage::val}) {
    const auto chain = find_fused_chain(graph, states, is_trained, stage);
    ASSERT_TRUE(chain.has_value());
    const FusedStep found = run_fused_chain(graph, *chain, states, entering, is_trained, stage);
    const GraphValues values = run_forward(graph, states, entering, stage);
    totals[stage] = total_loss(graph, values);
    EXPECT_NEAR(found.loss, totals[stage], 1e-5);
    EXPECT_EQ(found.losses.size(), losses_among(graph, values).size());
    EXPECT_EQ(found.gradients.empty(), stage == Stage::val);
  }
  EXPECT_NE(totals[Stage::train], totals[Stage::val]);
}

// What is trained may have no root any more by the time it is validated.
TEST(FusedChain, IsOfADetectorThatIsNotTrainedInAnyStage) {
  const NodeGraph graph = graph_of(spectral_stress);
  const States states = learn_states(graph, three_batches, {}).states;
  const IsTrained is_trained = [](std::string_view node) { return node == "rx"; };
  for (const Stage stage : {Stage::train, Stage::val})
    EXPECT_FALSE(find_fused_chain(graph, states, is_trained, stage).has_value());
}

TEST(NodeGraph, RunsLossesAndMetricsInTheirStagesAlone) {
  const NodeGraph graph = graph_of(spectral_stress);
  const States states = learn_states(graph, three_batches, {}).states;
  EXPECT_FALSE(run_forward(graph, states, some_cubes(0), Stage::inference).contains("bce"));
  EXPECT_FALSE(run_forward(graph, states, some_cubes(0), Stage::train).contains("metrics"));
  const GraphValues values = run_forward(graph, states, some_cubes(0), Stage::val);
  EXPECT_TRUE(values.contains("bce") && values.contains("metrics"));
  EXPECT_GT(value_at(values.at("metrics"), "average_precision").as<float>()[0], 0.2F);
}

TEST(NodeGraph, ChoosesChannelsByMarkedPixelsThoughItLooksAtFew) {
  const NodeGraph graph = graph_of(
      "nodes:\n- { name: data, type: CubeDataNode }\n- { name: x, type: SupervisedFullSpectrumSelector }\n"
      "connections:\n- { source: data.cube, target: x.cube }\n- { source: data.wavelengths, target: "
      "x.wavelengths }\n"
      "- { source: data.mask, target: x.mask }\n");
  LearningOptions options;
  for (const std::int64_t most : {1'000, 150}) {
    options.most_labelled = most;
    const Learned learned = learn_states(graph, three_batches, options);
    EXPECT_EQ(learned.passes, 1);
    EXPECT_EQ(find_array(learned.states.at("x"), "selected_indices").as<float>()[0], 2)
        << "where marked pixels differ";
  }
}

// As written by cuvis.ai, monitors and pictures included.
TEST(NodeGraph, ReadsAPipelineOfCuvis) {
  const std::string text = R"(
nodes:
- name: LentilsAnomalyDataNode
  class_name: cuvis_ai.node.data.LentilsAnomalyDataNode
  hparams: { normal_class_ids: [0, 1] }
- name: BandpassByWavelength
  class_name: cuvis_ai.node.preprocessors.BandpassByWavelength
  hparams: { min_wavelength_nm: 520.0, max_wavelength_nm: null }
- name: ZScoreNormalizerGlobal
  class_name: cuvis_ai.node.anomaly.deep_svdd.ZScoreNormalizerGlobal
  hparams: { num_channels: 4, eps: 1.0e-08, hidden: 128 }
- name: SoftChannelSelector
  class_name: cuvis_ai.node.channel_selector.SoftChannelSelector
  hparams: { n_select: 3, input_channels: 4, init_method: variance }
- name: RXGlobal
  class_name: cuvis_ai.anomaly.rx_detector.RXGlobal
  hparams: { eps: 1.0e-06, num_channels: 4, cache_inverse: true, execution_stages: [val, inference], name: null }
- name: TensorBoardMonitorNode
  class_name: cuvis_ai.node.monitor.TensorBoardMonitorNode
  hparams: { run_name: x }
connections:
- source: LentilsAnomalyDataNode.outputs.cube
  target: BandpassByWavelength.inputs.data
- source: LentilsAnomalyDataNode.outputs.wavelengths
  target: BandpassByWavelength.inputs.wavelengths
- source: BandpassByWavelength.outputs.filtered
  target: ZScoreNormalizerGlobal.inputs.data
- source: ZScoreNormalizerGlobal.outputs.normalized
  target: SoftChannelSelector.inputs.data
- source: SoftChannelSelector.outputs.selected
  target: RXGlobal.inputs.data
- source: RXGlobal.outputs.scores
  target: TensorBoardMonitorNode.inputs.metrics
)";
  const NodeGraph graph = graph_of(text);
  EXPECT_EQ(graph.nodes.size(), 5);
  EXPECT_EQ(graph.find("BandpassByWavelength")->outputs[0].shape, (Shape{-1, 8, 8, 4}));
  EXPECT_FALSE(graph.find("RXGlobal")->runs_in(Stage::train));
  const Learned learned = learn_states(graph, three_batches, {});
  EXPECT_EQ(learned.passes, 1) << "choosing and weighing channels is affine too";
}

TEST(NodeGraph, RefusesWhatCannotBeAndSaysWhy) {
  const std::string data = "nodes:\n- { name: data, type: CubeDataNode }\n";
  const std::string into = "connections:\n- { source: data.cube, target: x.data }\n";
  EXPECT_THAT(error_of(data + "- { name: x, type: RXGloball }\n" + into),
              HasSubstr("did you mean RXGlobal?"));
  EXPECT_THAT(error_of(data + "- { name: x, type: RXGlobal, settings: { epz: 1 } }\n" + into),
              HasSubstr("graph.yaml:3: nodes.1.epz: unknown setting; did you mean eps?"));
  EXPECT_THAT(error_of(data + "- { name: x, type: TrainablePCA, settings: { n_components: 7 } }\n" + into),
              HasSubstr("n_components is 7, but only 6 channels come in"));
  EXPECT_THAT(error_of(data + "- { name: x, type: RXGlobal, settings: { num_channels: 61 } }\n" + into),
              HasSubstr("num_channels is 61, but float32 [any, 8, 8, 6] comes in"));
  EXPECT_THAT(error_of(data + "- { name: x, type: RXGlobal }\n"),
              HasSubstr("nothing is connected to its input 'data'"));
  EXPECT_THAT(
      error_of(data + "- { name: x, type: RXGlobal }\n" + into + "- { source: data.mask, target: x.data }\n"),
      HasSubstr("x.data has a connection already, from data.cube"));
  EXPECT_THAT(
      error_of(data +
               "- { name: x, type: RXGlobal }\nconnections:\n- { source: data.cub, target: x.data }\n"),
      HasSubstr("data has no output 'cub'; did you mean cube?"));
}

TEST(NodeGraph, RefusesPortsThatDoNotFitWithBothShapes) {
  const std::string text =
      "nodes:\n- { name: data, type: CubeDataNode }\n- { name: x, type: ScoreToLogit }\n- { name: y, type: "
      "RXGlobal }\n"
      "connections:\n- { source: data.cube, target: x.scores }\n- { source: data.mask, target: y.data }\n";
  const std::string error = error_of(text);
  EXPECT_THAT(
      error,
      HasSubstr("data.cube gives float32 [any, 8, 8, 6], but x.scores takes float32 [any, any, any, 1]"));
  EXPECT_THAT(
      error,
      HasSubstr("data.mask gives uint8 [any, 8, 8, 1], but y.data takes float32 [any, any, any, any]"));
}

TEST(NodeGraph, RefusesAWavelengthThatIsNotThere) {
  const std::string text =
      "nodes:\n- { name: data, type: CubeDataNode }\n"
      "- { name: x, type: BandpassByWavelength, settings: { min_wavelength_nm: 800 } }\n"
      "- { name: y, type: CIRFalseColorSelector }\n"
      "connections:\n- { source: data.cube, target: x.data }\n- { source: data.wavelengths, target: "
      "x.wavelengths }\n"
      "- { source: data.cube, target: y.cube }\n- { source: data.wavelengths, target: y.wavelengths }\n";
  const std::string error = error_of(text);
  EXPECT_THAT(error, HasSubstr("no channel lies at or above 800 nm; the cubes cover 450 to 700 nm"));
  EXPECT_THAT(
      error, HasSubstr("a channel of 860 nm is asked for, but the cubes have 6 channels from 450 to 700 nm"));
}

TEST(NodeGraph, RefusesNodesThatWaitForThemselves) {
  EXPECT_THAT(
      error_of("nodes:\n- { name: x, type: PerPixelUnitNorm }\n- { name: y, type: PerPixelUnitNorm }\n"
               "connections:\n- { source: x.normalized, target: y.data }\n"
               "- { source: y.normalized, target: x.data }\n"),
      HasSubstr("its connections form a cycle"));
}

TEST(NodeGraph, NamesTheNodeWhoseCovarianceIsSingular) {
  const NodeGraph graph = graph_of(
      "nodes:\n- { name: data, type: CubeDataNode }\n- { name: x, type: RXGlobal, settings: { eps: 0 } }\n"
      "connections:\n- { source: data.cube, target: x.data }\n");
  const auto constant = [](const std::function<void(const Values&)>& use) {
    Values entering = some_cubes(0);
    Array cube = entering["cube"].clone();
    for (std::size_t i = 0; i < 128; ++i) cube.as<float>()[6 * i + 3] = 1;
    entering["cube"] = cube;
    use(entering);
  };
  try {
    learn_states(graph, constant, {});
    FAIL() << "a singular covariance was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x: the covariance of 6 channels is singular"));
    EXPECT_THAT(error.what(), HasSubstr("raise eps"));
  }
}

}  // namespace
}  // namespace stoker::nodes
