#include <algorithm>
#include <cmath>
#include <set>

#include "base/text/text.h"
#include "graphs_of_cubes.h"
#include "model/nodes/fused_chain.h"
#include "model/nodes/node_network.h"
#include "predict/measure/evaluate.h"
#include "predict/spectral/cube_scores.h"
#include "train/fit/fit_network.h"
#include "train/loop/engines.h"
#include "train/rows/validation.h"

// Graphs of nodes over cubes, trained as any model: statistics, gradients, what is kept and what is refused.
namespace stoker::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NodeGraphTraining, LearnsStatisticsAndThenTheNodesThatAreUnfrozen) {
  const Table table = some_cubes(10);
  const FitResult statistics =
      fitted_to_cubes(table, spec_of_graph(replaced(detector, "unfrozen: [pca, logit]", "")));
  EXPECT_EQ(statistics.epochs.size(), 1U);  // which is all that there is to find
  const FitResult trained = fitted_to_cubes(table, spec_of_graph(detector));
  ASSERT_EQ(trained.epochs.size(), 4U);
  EXPECT_EQ(trained.engine, "fused");
  EXPECT_EQ(trained.steps, 4 * 3);
  EXPECT_LT(trained.epochs.back().record.train_loss, trained.epochs.front().record.train_loss);
  const auto& before = statistics.model.parameters;
  const auto& after = trained.model.parameters;
  for (const char* frozen : {"rx.mu", "rx.cov_inv"})
    EXPECT_TRUE(are_equal(find_array(before, frozen), find_array(after, frozen))) << frozen;
  for (const char* unfrozen : {"pca.components", "logit.scale", "logit.bias"})
    EXPECT_FALSE(are_equal(find_array(before, unfrozen), find_array(after, unfrozen))) << unfrozen;
}

// Its pixels are many.
TEST(NodeGraphTraining, LearnsFromASingleCube) {
  const FitResult result =
      fitted_to_cubes(some_cubes(1), spec_of_graph(replaced(detector, "unfrozen: [pca, logit]", "")));
  EXPECT_EQ(result.epochs.size(), 1U);
}

TEST(NodeGraphTraining, TellsALossFromAMetricOfItsName) {
  ModelSpec spec = spec_of_graph(
      replaced(replaced(detector, "name: bce, type: AnomalyBCEWithLogits", "name: iou, type: IoULoss"),
               "target: bce.predictions }\n- { source: data.mask, target: bce.targets }",
               "target: iou.predictions }\n- { source: data.mask, target: iou.targets }"));
  spec.training.validation_ratio = 0.2;
  const FitResult result = fitted_to_cubes(some_cubes(10), spec);
  std::set<std::string> names;
  for (const NamedValue& each : result.epochs.front().record.values)
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
  EXPECT_TRUE(names.contains("validation_iou"));
  EXPECT_TRUE(names.contains("validation_iou_of_pixels"));
}

TEST(NodeGraphTraining, ReportsEachLossAndTheirSum) {
  ModelSpec spec = spec_of_graph(detector);
  spec.training.validation_ratio = 0.2;
  const FitResult result = fitted_to_cubes(some_cubes(10), spec);
  for (const EpochReport& epoch : result.epochs) {
    double trained = 0, validated = 0;
    int losses = 0;
    for (const NamedValue& each : epoch.record.values) {
      if (!each.name.ends_with("_bce") && !each.name.ends_with("_straight")) continue;
      (each.name.starts_with("train_") ? trained : validated) += each.value;
      ++losses;
    }
    EXPECT_EQ(losses, 4);
    EXPECT_NEAR(trained, epoch.record.train_loss, 1e-9);
    EXPECT_NEAR(validated, epoch.record.validation_loss.value(), 1e-9);
  }
}

// Of the cubes that are held back, as they are measured once it is over.
TEST(NodeGraphTraining, MeasuresEveryEpoch) {
  const Table table = some_cubes(10);
  ModelSpec spec = spec_of_graph(detector);
  spec.training.validation_ratio = 0.1;
  const FitResult result = fitted_to_cubes(table, spec);
  const SplitRows rows = set_validation_rows_aside(10, {}, 0.1, spec.training.seed);
  ASSERT_EQ(rows.second.size(), 1U);
  const Evaluation measured = evaluate_cubes(result.model, take_rows(table, rows.second));
  for (const EpochReport& epoch : result.epochs)
    for (const char* name : {"average_precision", "precision", "recall", "f1_score", "iou"}) {
      const auto told =
          std::ranges::find(epoch.record.values, "validation_" + std::string(name), &NamedValue::name);
      ASSERT_NE(told, epoch.record.values.end()) << name;
      if (epoch.record.epoch != result.best_epoch) continue;
      EXPECT_EQ(told->value, measured.metric(name)) << name;
    }
  std::string without;
  for (const std::string& line : split_text(detector, '\n'))
    if (line.find("bce") == std::string::npos && line.find("metrics") == std::string::npos)
      without += line + "\n";
  spec = spec_of_graph(replaced(without, ", logit", ""));
  spec.training.validation_ratio = 0.1;
  const FitResult unmasked = fitted_to_cubes(some_cubes(10, 6, false), spec);
  EXPECT_EQ(unmasked.epochs.size(), 4U) << "without masks there is nothing to measure";
}

// RX of a channel that others do not explain finds what is off; what is learnt makes it no worse.
TEST(NodeGraphTraining, FindsWhatStandsOut) {
  ModelSpec spec = spec_of_graph(replaced(detector, "n_components: 3", "n_components: 6"));
  spec.training.epochs = 10;
  const Model model = fitted_to_cubes(some_cubes(20), spec).model;
  const Evaluation evaluation = evaluate(model, some_cubes(8));
  EXPECT_GT(evaluation.metric("average_precision").value(), 0.6);
  EXPECT_EQ(evaluation.rows, 8);
  const auto* confusion = evaluation.chart<ConfusionMatrix>();
  ASSERT_NE(confusion, nullptr);
  const std::vector<std::int64_t>& counts = confusion->counts;
  EXPECT_EQ(counts[0] + counts[1] + counts[2] + counts[3], 8 * 64);
  const auto share = [](std::int64_t part, std::int64_t rest) {
    return part + rest == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(part + rest);
  };
  EXPECT_NEAR(evaluation.metric("precision").value(), share(counts[3], counts[1]), 1e-6);
  EXPECT_NEAR(evaluation.metric("recall").value(), share(counts[3], counts[2]), 1e-6);
}

// A graph without metrics has the same ones as one that asks for them.
TEST(NodeGraphTraining, IsMeasuredWithoutMetricNodesToo) {
  std::string plain = replaced(detector, "- { name: metrics, type: AnomalyDetectionMetrics }\n", "");
  for (const char* line : {"- { source: decide.decisions, target: metrics.decisions }\n",
                           "- { source: data.mask, target: metrics.targets }\n",
                           "- { source: logit.logits, target: metrics.logits }\n"})
    plain = replaced(plain, line, "");
  const Table table = some_cubes(6);
  const Evaluation with_node = evaluate(fitted_to_cubes(table, spec_of_graph(detector)).model, table);
  const Evaluation without = evaluate(fitted_to_cubes(table, spec_of_graph(plain)).model, table);
  EXPECT_EQ(with_node.metrics.size(), 5U);
  EXPECT_EQ(without.metrics, with_node.metrics);
}

// As Ctrl-C would, once the first chunk is done.
class StoppingAtOnce : public RecordingListener {
 public:
  explicit StoppingAtOnce(StopSignal& stop) : stop_(stop) {}
  void advanced(std::int64_t, std::int64_t, double) override { stop_.interrupt(); }

 private:
  StopSignal& stop_;
};

// Behind a unit norm nothing is affine any more, so that batches go node by node.
TEST(NodeGraphTraining, GoesOnExactlyWhereItStopped) {
  const std::string node_by_node =
      replaced(replaced(detector, "type: MinMaxNormalizer", "type: PerPixelUnitNorm"), "n_components: 3",
               "n_components: 2");
  const Table table = some_cubes(9);
  for (const std::string& graph : {std::string(detector), node_by_node}) {
    const TemporaryFolder folder;
    ModelSpec spec = spec_of_graph(graph);
    spec.training.validation_ratio = 0.2;
    spec.training.optimizer = Optimizer::adamw;
    spec.training.max_grad_norm = 0.5;
    spec.training.schedule = Schedule::plateau;  // by which every epoch is a chunk of its own
    FitRequest request = request_for_cubes(table, spec);
    RecordingListener listener;
    const FitResult whole = fit(request, listener, StopSignal{});
    request.checkpoints = folder.path();
    // It stops after the first epoch.
    StopSignal stop;
    StoppingAtOnce interrupting(stop);
    error_of(ExitCode::interrupted, [&] { fit(request, interrupting, stop); });
    request.resume = true;
    const FitResult resumed = fit(request, listener, StopSignal{});
    expect_equal(resumed.model.parameters, whole.model.parameters);
    ASSERT_EQ(resumed.epochs.size(), whole.epochs.size());
    for (std::size_t i = 0; i < whole.epochs.size(); ++i)
      EXPECT_EQ(resumed.epochs[i].record.train_loss, whole.epochs[i].record.train_loss);
  }
}

// In the middle of an epoch, too.
TEST(NodeGraphTraining, HasAllOfItselfInItsState) {
  const Table table = some_cubes(9);
  ModelSpec spec = spec_of_graph(detector);
  spec.training.batch_size = 2;
  const FitRequest wanted = request_for_cubes(table, spec);
  const PreparedData data =
      prepare(table, nullptr, wanted.preparation, form_of(family_of(spec), spec.settings), no_notes());
  const EngineRequest request = engine_request(spec, data, Device::cpu(), wanted.config);
  const EngineMaker& chosen = choose_engine(engines(), EngineChoice::automatic, std::nullopt, request);
  const std::vector<float> rates{0.01F, 0.02F, 0.03F, 0.02F, 0.01F, 0.02F, 0.01F, 0.005F};
  const auto whole = chosen.make(request);
  const ChunkResult at_once = whole->run({0, rates});
  const auto first = chosen.make(request);
  first->run({0, {rates.begin(), rates.begin() + 3}});
  const auto second = chosen.make(request);
  second->restore(first->state());
  const ChunkResult rest = second->run({3, {rates.begin() + 3, rates.end()}});
  expect_equal(second->state(), whole->state());
  ASSERT_EQ(at_once.finished_epochs.size(), 1U);
  ASSERT_EQ(rest.finished_epochs.size(), 1U);
  EXPECT_EQ(rest.finished_epochs[0].train_loss, at_once.finished_epochs[0].train_loss);
  EXPECT_EQ(rest.finished_epochs[0].values[0].value, at_once.finished_epochs[0].values[0].value);
}

TEST(NodeGraphTraining, KeepsItsModelInAFolder) {
  const Table table = some_cubes(6);
  const Model model = fitted_to_cubes(table, spec_of_graph(detector)).model;
  const TemporaryFolder folder;
  save_model(model, folder.path() / "model");
  const Model read = load_model(folder.path() / "model");
  expect_equal(read.parameters, model.parameters);
  EXPECT_EQ(evaluate(read, table).metrics, evaluate(model, table).metrics);
}

// Cubes of a batch are read where they lie, one by one; what comes out is what the batch in one piece gives.
TEST(NodeGraphTraining, TakesABatchInPartsAsItTakesItWhole) {
  const Table table = some_cubes(6);
  const Model model = fitted_to_cubes(table, spec_of_graph(detector)).model;
  const nodes::NodeNetwork network = nodes::node_network(model.network);
  const nodes::States states = network.states(model.parameters);
  const nodes::IsTrained is_trained = [&](std::string_view node) { return network.is_trained(node); };
  const auto chain = nodes::find_fused_chain(network.graph, states, is_trained);
  ASSERT_TRUE(chain);
  const Dataset data = model.preparation.apply(table, DType::float32, true);
  const nodes::EnteringCubes cubes(network, data);
  const std::vector<std::int64_t> rows{4, 0, 5};
  std::vector<nodes::Values> parts;
  for (const std::int64_t row : rows) parts.push_back(cubes.one(row));
  const nodes::FusedStep one = run_fused_chain(network.graph, *chain, states, parts, is_trained);
  const nodes::FusedStep other =
      run_fused_chain(network.graph, *chain, states, cubes.together(rows), is_trained);
  const nodes::GraphValues values =
      run_forward(network.graph, states, cubes.together(rows), nodes::Stage::train);
  EXPECT_NEAR(one.loss, other.loss, 1e-6 * one.loss);
  EXPECT_NEAR(one.loss, total_loss(network.graph, values), 1e-4 * one.loss);
  const nodes::States node_by_node = run_backward(network.graph, states, values, is_trained);
  for (const auto& [node, arrays] : one.gradients)
    for (const NamedArray& array : arrays)
      for (const auto* others : {&other.gradients, &node_by_node}) {
        const auto own = array.array.as<float>();
        const auto their = find_array(others->at(node), array.name).as<float>();
        double distance = 0, size = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
          distance = std::max(distance, std::abs(static_cast<double>(own[i] - their[i])));
          size = std::max(size, std::abs(static_cast<double>(own[i])));
        }
        EXPECT_LE(distance, 1e-3 * size) << node << "." << array.name;
      }
}

// Logits and the mask of the cube itself, in the order of the rows.
TEST(NodeGraphTraining, ScoresCubesOfAnySize) {
  const Model model = fitted_to_cubes(some_cubes(6), spec_of_graph(detector)).model;
  const Table table = take_rows(some_cubes(6, 6, false), {4, 1});
  std::vector<std::int64_t> rows;
  score_cubes(model, table, [&](std::int64_t row, const CubeScores& found) {
    rows.push_back(row);
    EXPECT_EQ(found.scores.shape(), (Shape{8, 8}));
    ASSERT_EQ(found.marks.shape(), (Shape{8, 8}));
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(found.marks.as<std::uint8_t>()[i] != 0, found.scores.as<float>()[i] >= 0);
  });
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 1}));
}

// The centre of Deep SVDD follows the batches, and temperatures fall from epoch to epoch.
TEST(NodeGraphTraining, KeepsWhatFollowsWithoutAGradient) {
  const Model model = fitted_to_cubes(some_cubes(6, 6, false), spec_of_graph(R"(
nodes:
- { name: data, type: CubeDataNode }
- { name: select, type: SoftChannelSelector, settings: { n_select: 3, temperature_init: 4, temperature_decay: 0.5, temperature_min: 0.1 } }
- { name: project, type: DeepSVDDProjection, settings: { rep_dim: 4, hidden: 8 } }
- { name: centre, type: DeepSVDDCenterTracker, settings: { alpha: 0.5 } }
- { name: scores, type: DeepSVDDScores }
- { name: loss, type: DeepSVDDSoftBoundaryLoss }
connections:
- { source: data.cube, target: select.data }
- { source: select.selected, target: project.data }
- { source: project.embeddings, target: centre.embeddings }
- { source: project.embeddings, target: scores.embeddings }
- { source: centre.center, target: scores.center }
- { source: project.embeddings, target: loss.embeddings }
- { source: centre.center, target: loss.center }
unfrozen: [select, project, loss]
)"))
                          .model;
  EXPECT_FLOAT_EQ(find_array(model.parameters, "select.temperature").as<float>()[0], 0.5F);  // 4 × 0.5³
  const Evaluation evaluation = evaluate(model, some_cubes(4));
  EXPECT_EQ(evaluation.metrics.size(), 1U);  // nothing decides
  EXPECT_TRUE(evaluation.metric("average_precision"));
}

TEST(NodeGraphTraining, CountsTheClassesThatAreNormal) {
  const Table table = some_cubes(6);
  const std::string all_normal = replaced(detector, "type: CubeDataNode }",
                                          "type: CubeDataNode, settings: { normal_class_ids: [0, 1] } }");
  const auto* confusion_of_none = [&] {
    static Evaluation evaluation;
    evaluation = evaluate(fitted_to_cubes(table, spec_of_graph(all_normal)).model, table);
    return evaluation.chart<ConfusionMatrix>();
  }();
  EXPECT_EQ(confusion_of_none->counts[2] + confusion_of_none->counts[3], 0);
}

TEST(NodeGraphTraining, RefusesGraphsThatCannotBe) {
  EXPECT_THAT(refusal_of_graph(replaced(detector, "RXGlobal", "RXGlobe")),
              AllOf(HasSubstr("nodes.3"), HasSubstr("did you mean RXGlobal")));
  EXPECT_THAT(
      refusal_of_graph(replaced(detector, "source: rx.scores, target: logit.scores",
                                "source: pca.projected, target: logit.scores")),
      AllOf(HasSubstr("gives float32 [any, any, any, 3]"), HasSubstr("takes float32 [any, any, any, 1]")));
  EXPECT_THAT(refusal_of_graph(replaced(detector, "[pca, logit]", "[pcb]")), HasSubstr("did you mean pca"));
  EXPECT_THAT(refusal_of_graph(replaced(detector, "[pca, logit]", "[scale]")), HasSubstr("nothing to train"));
  EXPECT_THAT(refusal_of_graph("nodes: []"), HasSubstr("a list of nodes is needed"));
}

TEST(NodeGraphTraining, RefusesWhatTheCubesDoNotAllow) {
  const Table table = some_cubes(6);
  const auto with = [&](const std::string& part, const std::string& other) {
    return refusal_of(request_for_cubes(table, spec_of_graph(replaced(detector, part, other))));
  };
  EXPECT_THAT(with("n_components: 3", "n_components: 7"), AllOf(HasSubstr("7"), HasSubstr("6 channels")));
  FitRequest other_target = request_for_cubes(table, spec_of_graph(detector));
  other_target.preparation.target_column = "masked_pixels";
  EXPECT_THAT(refusal_of(other_target), HasSubstr("target_column: mask"));
  const Table unmarked = some_cubes(6, 6, false);
  EXPECT_THAT(refusal_of(request_for_cubes(unmarked, spec_of_graph(detector))), HasSubstr("come without"));
  const Model model = fitted_to_cubes(table, spec_of_graph(detector)).model;
  EXPECT_THAT(error_of(ExitCode::wrong_request, [&] { evaluate(model, some_cubes(2, 5)); }),
              AllOf(HasSubstr("6 channels"), HasSubstr("5 channels")));
}

// Its loss is then lowest where nothing is found.
TEST(NodeGraphTraining, WarnsOfValidationCubesInWhichNothingIsMarked) {
  const auto warnings_of = [](const Table& table, const std::string& graph) {
    ModelSpec spec = spec_of_graph(graph);
    spec.training.validation_ratio = 0.25;
    RecordingListener listener;
    fit(request_for_cubes(table, std::move(spec)), listener, StopSignal{});
    return listener.warnings;
  };
  EXPECT_THAT(warnings_of(some_cubes(8), detector), IsEmpty());
  Cubes unmarked = *some_cubes(8).cubes;
  unmarked.masks = Array(DType::uint8, unmarked.masks.shape());
  std::ranges::fill(unmarked.masks.as<std::uint8_t>(), std::uint8_t{0});
  const Table table = table_of_cubes(std::make_shared<Cubes>(std::move(unmarked)));
  EXPECT_THAT(warnings_of(table, detector),
              ElementsAre(HasSubstr("nothing is marked in the 2 cubes that are held back")));
  const std::string by_axes =
      replaced(replaced(detector, "- { name: bce, type: AnomalyBCEWithLogits }\n", ""),
               "- { source: logit.logits, target: bce.predictions }\n"
               "- { source: data.mask, target: bce.targets }\n",
               "");
  EXPECT_THAT(warnings_of(table, replaced(by_axes, "unfrozen: [pca, logit]", "unfrozen: [pca]")), IsEmpty());
}

// The third component is the same as the second, so that their covariance has no inverse.
TEST(NodeGraphTraining, RefusesASingularCovariance) {
  const Table table = some_cubes(4);
  const std::string singular =
      replaced(replaced(detector, "- { name: scale, type: MinMaxNormalizer }",
                        "- { name: scale, type: PerPixelUnitNorm }"),
               "- { name: rx, type: RXGlobal }", "- { name: rx, type: RXGlobal, settings: { eps: 0 } }");
  auto flat = std::make_shared<Cubes>(*table.cubes);
  flat->values = flat->values.clone();
  std::ranges::fill(flat->values.as<float>(), 2.0F);
  find_facts(*flat);
  for (CubeFacts& facts : flat->facts) facts.has_mask = true;
  EXPECT_THAT(refusal_of(request_for_cubes(table_of_cubes(flat), spec_of_graph(singular))),
              AllOf(HasSubstr("rx"), HasSubstr("eps")));
}

}  // namespace
}  // namespace stoker::test
