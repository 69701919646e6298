#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_fixtures.h"
#include "model/nodes/band_scores.h"
#include "model/nodes/fused_chain.h"

// What people give to nodes that is not as it should be.
namespace stoker::nodes {
namespace {

using testing::HasSubstr;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class Do>
std::string refusal_of(const Do& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

const std::string data_node = "nodes:\n- { name: data, type: CubeDataNode }\n";
const std::string selector =
    data_node +
    "- { name: x, type: SupervisedFullSpectrumSelector }\n"
    "connections:\n- { source: data.cube, target: x.cube }\n"
    "- { source: data.wavelengths, target: x.wavelengths }\n- { source: data.mask, target: x.mask }\n";

// Every tenth pixel has a value that is none.
void batches_with_gaps(const std::function<void(const Values&)>& use) {
  for (const std::uint64_t which : {0, 1, 2}) {
    Values entering = some_cubes(which);
    for (std::size_t pixel = 0; pixel < 128; pixel += 10)
      entering["cube"].as<float>()[pixel * 6 + pixel % 6] = not_a_number;
    use(entering);
  }
}

TEST(BadPixels, AreRefusedOrLeftOutWhereChannelsAreChosenByMarkedPixels) {
  const NodeGraph graph = graph_of(selector);
  LearningOptions options;
  EXPECT_THAT(refusal_of([&] { learn_states(graph, batches_with_gaps, options); }),
              HasSubstr("not a finite number"));
  options.bad_pixels = kernels::BadPixels::leave_out;
  const NamedArrays found = learn_states(graph, batches_with_gaps, options).states.at("x");
  EXPECT_EQ(find_array(found, "selected_indices").as<float>()[0], 2) << "where marked pixels differ";
  for (const float each : find_array(found, "auc_scores").as<float>()) EXPECT_TRUE(std::isfinite(each));
}

TEST(BadPixels, DoNotMakeTheScoresOfChannelsEndless) {
  const LabelledPixels pixels{{1, 2, not_a_number, 4, 5, 6}, {0, 1, 1, 0, 1, 0}, 1};
  EXPECT_THAT(refusal_of([&] { band_scores(pixels, {1, 1, 1}); }), HasSubstr("not a finite number"));
}

TEST(BadScores, AreRefusedByMetricsAndDeciders) {
  Array logits = Array::from<float>(std::vector<float>{0, 1, not_a_number, 2}, {1, 2, 2, 1});
  const Array marks = Array::from<std::uint8_t>(std::vector<std::uint8_t>{0, 1, 0, 1}, {1, 2, 2, 1});
  const Values inputs{{"logits", logits}, {"decisions", marks}, {"targets", marks}};
  for (const char* type : {"AnomalyDetectionMetrics", "QuantileBinaryDecider", "TwoStageBinaryDecider"}) {
    const auto node = find_node_type(type)->make(config::Value(config::Value::Map{}, 0));
    EXPECT_THAT(refusal_of([&] {
                  node->forward({inputs, {}, Stage::val});
                }),
                HasSubstr("1 of 4 scores is not a number"))
        << type;
  }
}

// Probabilities 0.1, 0.4, 0.6 and 0.9 of which the second and the last are marked: at 0 half of all are, at
// 0.5 half of the two that are left, at 1 none is left, so (1 - 0.5) 0.5 + 0.5 0.5.
TEST(AnomalyDetectionMetrics, LooksAtAsManyThresholdsAsAreAskedFor) {
  const auto logit = [](double share) { return static_cast<float>(std::log(share / (1 - share))); };
  const Array logits =
      Array::from<float>(std::vector<float>{logit(0.1), logit(0.4), logit(0.6), logit(0.9)}, {1, 2, 2, 1});
  const Array marks = Array::from<std::uint8_t>(std::vector<std::uint8_t>{0, 1, 0, 1}, {1, 2, 2, 1});
  const Values inputs{{"logits", logits}, {"decisions", marks}, {"targets", marks}};
  const auto precision = [&](const std::string& settings) {
    const auto node =
        find_node_type("AnomalyDetectionMetrics")->make(config::parse_document(settings, "metrics.yaml"));
    return value_at(node->forward({inputs, {}, Stage::val}), "average_precision").as<float>()[0];
  };
  EXPECT_FLOAT_EQ(precision("ap_thresholds: 3"), 0.5F);
  EXPECT_FLOAT_EQ(precision("ap_thresholds: 0"), 5.0F / 6) << "at every score";
}

TEST(NodeGraph, CountsPixelsOnceThoughTwoNodesAskForThem) {
  const std::string one = data_node + "- { name: x, type: RXGlobal }\n";
  const std::string into_x = "- { source: data.cube, target: x.data }\n";
  const States alone = learn_states(graph_of(one + "connections:\n" + into_x), three_batches, {}).states;
  const States both =
      learn_states(graph_of(one + "- { name: y, type: ZScoreNormalizerGlobal }\nconnections:\n" + into_x +
                            "- { source: data.cube, target: y.data }\n"),
                   three_batches, {})
          .states;
  const auto expected = find_array(alone.at("x"), "cov").as<float>();
  const auto found = find_array(both.at("x"), "cov").as<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found[i], expected[i]) << i;
}

TEST(NodeGraph, RefusesWavelengthsOfOtherChannels) {
  const auto behind_components = [](const std::string& type, const std::string& input,
                                    const std::string& settings) {
    return error_of(
        data_node +
        "- { name: pca, type: TrainablePCA, settings: { n_components: 4 } }\n- { name: x, type: " + type +
        ", settings: { " + settings +
        " } }\nconnections:\n- { source: data.cube, target: pca.data }\n"
        "- { source: pca.projected, target: x." +
        input + " }\n- { source: data.wavelengths, target: x.wavelengths }\n");
  };
  for (const std::string& error :
       {behind_components("BaselineFalseRGBSelector", "cube", ""),
        behind_components("CIRFalseColorSelector", "cube", "nir_nm: 700"),
        behind_components("BandpassByWavelength", "data", "min_wavelength_nm: 500"),
        behind_components("SupervisedFullSpectrumSelector", "cube", "")})
    EXPECT_THAT(error, HasSubstr("there are 6 wavelengths for float32 [any, 8, 8, 4]"));
}

TEST(NodeGraph, RefusesWavelengthsThatDoNotGoWithACubeOnceItComes) {
  const Values inputs{{"cube", Array(DType::float32, {1, 2, 2, 4})},
                      {"wavelengths", Array::from<float>(std::vector<float>{450, 550, 650}, {3})}};
  for (const char* type : {"BaselineFalseRGBSelector", "CIRFalseColorSelector"}) {
    const auto node = find_node_type(type)->make(config::Value(config::Value::Map{}, 0));
    EXPECT_THAT(refusal_of([&] {
                  node->forward({inputs, {}, Stage::inference});
                }),
                HasSubstr("there are 3 wavelengths for float32 [1, 2, 2, 4]"))
        << type;
  }
}

TEST(Nodes, RefuseASecondInputOfOtherChannels) {
  const auto refused = [](const char* type, const Port& one, const Port& other) {
    const auto node = find_node_type(type)->make(config::Value(config::Value::Map{}, 0));
    return refusal_of([&] { node->outputs({one, other}); });
  };
  const Port embeddings = cube_port("embeddings", "", 8);
  const Port centre{"center", DType::float32, {6}, ""};
  const std::string both =
      "'embeddings', float32 [any, any, any, 8], and 'center', float32 [6], have different numbers of "
      "channels";
  EXPECT_THAT(refused("DeepSVDDScores", embeddings, centre), HasSubstr(both));
  EXPECT_THAT(refused("DeepSVDDSoftBoundaryLoss", embeddings, centre), HasSubstr(both));
  EXPECT_THAT(refused("SpectralAngleMapper", cube_port("cube", "", 8),
                      {"spectral_signature", DType::float32, {2, 1, 1, 6}, ""}),
              HasSubstr("float32 [2, 1, 1, 6], have different numbers of channels"));
  const Values inputs{{"embeddings", Array(DType::float32, {1, 1, 1, 3})},
                      {"center", Array(DType::float32, {2})},
                      {"cube", Array(DType::float32, {1, 1, 1, 3})},
                      {"spectral_signature", Array(DType::float32, {1, 1, 1, 2})}};
  for (const char* type : {"DeepSVDDScores", "SpectralAngleMapper"}) {
    const auto node = find_node_type(type)->make(config::Value(config::Value::Map{}, 0));
    EXPECT_THAT(refusal_of([&] {
                  node->forward({inputs, {}, Stage::inference});
                }),
                HasSubstr("different numbers of channels"))
        << type;
  }
}

TEST(NodeGraph, RefusesCubesAndMasksOfOtherSizesThanItWasReadFor) {
  const NodeGraph graph = graph_of(spectral_stress);
  const States states = learn_states(graph, three_batches, {}).states;
  const IsTrained is_trained = [](std::string_view node) { return node == "first"; };
  const auto chain = find_fused_chain(graph, states, is_trained);
  ASSERT_TRUE(chain.has_value());
  const auto refusals = [&](const Values& entering) {
    const CubeBatches one = [&](const std::function<void(const Values&)>& use) { use(entering); };
    return std::vector<std::string>{refusal_of([&] { run_forward(graph, states, entering, Stage::train); }),
                                    refusal_of([&] { learn_states(graph, one, {}); }), refusal_of([&] {
                                      run_fused_chain(graph, *chain, states, entering, is_trained);
                                    })};
  };
  Values other_channels = some_cubes(0);
  other_channels["cube"] = Array(DType::float32, {2, 8, 8, 5});
  EXPECT_THAT(
      refusals(other_channels),
      testing::Each(HasSubstr("cubes of float32 [2, 8, 8, 5] come to a graph for float32 [any, 8, 8, 6]")));
  Values other_mask = some_cubes(0);
  other_mask["mask"] = Array(DType::uint8, {2, 8, 4, 1});
  EXPECT_THAT(
      refusals(other_mask),
      testing::Each(HasSubstr("masks of uint8 [2, 8, 4, 1] come with cubes of float32 [2, 8, 8, 6]")));
  Values other_wavelengths = some_cubes(0);
  other_wavelengths["wavelengths"] = Array(DType::float32, {7});
  EXPECT_THAT(refusals(other_wavelengths), testing::Each(HasSubstr("there are 7 wavelengths for float32")));
}

std::string with_stages(const std::string& node, const std::string& stages) {
  std::string text = spectral_stress;
  return text.insert(text.find("name: " + node + ","), "stages: [" + stages + "], ");
}

TEST(FusedChain, IsNotTakenWhereANodeOfItDoesNotRunInTraining) {
  const IsTrained is_trained = [](std::string_view node) { return node == "first"; };
  const auto is_taken = [&](const std::string& text) {
    const NodeGraph graph = graph_of(text);
    return find_fused_chain(graph, learn_states(graph, three_batches, {}).states, is_trained).has_value();
  };
  EXPECT_TRUE(is_taken(spectral_stress));
  EXPECT_TRUE(is_taken(with_stages("decide", "val"))) << "it is not of the chain";
  for (const char* node : {"scale", "rx", "logit", "bce"})
    EXPECT_FALSE(is_taken(with_stages(node, "val, test"))) << node;
}

TEST(FusedChain, GoesNodeByNodeWhereAnInverseCovarianceIsNotPositive) {
  const NodeGraph graph = graph_of(spectral_stress);
  States states = learn_states(graph, three_batches, {}).states;
  const IsTrained is_trained = [](std::string_view node) { return node == "first"; };
  EXPECT_TRUE(find_fused_chain(graph, states, is_trained).has_value());
  for (NamedArray& each : states.at("rx"))
    if (each.name == "cov_inv") each.array = Array::from<float>(std::vector<float>{1, 2, 2, 1}, {2, 2});
  EXPECT_FALSE(find_fused_chain(graph, states, is_trained).has_value());
}

// With a slope of 0, what lies below 0 is told by nothing but being 0.
TEST(LearnableChannelMixer, HasNoGradientWhereAnActivationWithoutSlopeIsFlat) {
  const auto node = find_node_type("LearnableChannelMixer")
                        ->make(config::parse_document("output_channels: 1\nleaky_relu_negative_slope: 0\n"
                                                      "normalize_output: false\nuse_bias: false\n",
                                                      "mixer.yaml"));
  const Values inputs{{"data", Array::from<float>(std::vector<float>{-1, 2}, {1, 1, 2, 1})}};
  const NamedArrays state{{"convs.0.weight", Array::from<float>(std::vector<float>{3}, {1, 1})}};
  const Values outputs = node->forward({inputs, state, Stage::train});
  const Values gradients{{"rgb", Array::from<float>(std::vector<float>{1, 1}, {1, 1, 2, 1})}};
  const Gradients back = node->backward({inputs, state, outputs, gradients});
  EXPECT_EQ(find_array(back.state, "convs.0.weight").as<float>()[0], 2) << "the pixel above 0 alone";
  EXPECT_EQ(value_at(back.inputs, "data").as<float>()[0], 0);
  EXPECT_EQ(value_at(back.inputs, "data").as<float>()[1], 3);
}

TEST(NodeGraph, TellsOnceWhereASettingSetsNothing) {
  config::Diagnostics diagnostics("graph.yaml");
  read_node_graph(
      config::parse_document(data_node + "- { name: x, type: RXGlobal, settings: { cache_inverse: true } }\n"
                                         "connections:\n- { source: data.cube, target: x.data }\n",
                             "graph.yaml"),
      six_channels(), "", diagnostics);
  EXPECT_THAT(diagnostics.notes(),
              testing::ElementsAre("line 3: nodes.1.cache_inverse: the inverse is always kept"));
}

TEST(NodeGraph, RefusesSettingsThatMeanNothing) {
  const std::string into = "connections:\n- { source: data.cube, target: x.data }\n";
  EXPECT_THAT(error_of(data_node +
                       "- { name: x, type: LearnableChannelMixer, settings: { output_channels: 3, "
                       "leaky_relu_negative_slope: -1 } }\n" +
                       into),
              HasSubstr("leaky_relu_negative_slope"));
  EXPECT_THAT(
      error_of(data_node + "- { name: x, type: DeepSVDDProjection, settings: { kernel: rbf, gamma: -1 } }\n" +
               into),
      HasSubstr("gamma"));
}

}  // namespace
}  // namespace stoker::nodes
