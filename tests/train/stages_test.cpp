// Classes that arrive in stages.
#include "train/stages/stages.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "eager_on_record.h"
#include "expect_error.h"
#include "listeners.h"
#include "model/experts/expert_graph.h"
#include "tables.h"
#include "train/fit/fit.h"

namespace stoker {
namespace {

using test::RecordingListener;
using testing::HasSubstr;

// Four clusters of rows, a class each: "a" to "d".
Table four_clusters(std::int64_t rows) {
  constexpr int columns = 8;
  const RandomKey key = random_key(5, Purpose::sample, 0);
  std::string text;
  for (int i = 0; i < columns; ++i) text += "x" + std::to_string(i) + ",";
  text += "class\n";
  std::uint32_t index = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const int number = static_cast<int>(row % 4);
    for (int i = 0; i < columns; ++i)
      text += std::to_string((i % 4 == number ? 2.0 : 0.0) + 0.5 * normal(key, index++)) + ",";
    text += std::string(1, static_cast<char>('a' + number)) + "\n";
  }
  return test::table_from_csv(text);
}

ModelSpec mixture() {
  ModelSpec spec = test::spec_of("mixture_of_experts");
  spec.settings.set("experts", 3);
  spec.settings.set("max_experts", 8);
  spec.settings.set("hidden_layers", test::whole_numbers({16}));
  return spec;
}

FitRequest staged(const Table& table, ModelSpec spec, std::int64_t replay) {
  spec.training.epochs = 12;
  spec.training.learning_rate = 0.01;
  spec.training.validation_ratio = 0.25;
  FitRequest request = test::request_for(table, std::move(spec));
  request.config.stages = {{{"a", "c"}, {"b", "d"}}, replay};
  return request;
}

FitResult fit_in_stages(const FitRequest& request) {
  RecordingListener listener;
  return fit(request, listener, StopSignal{});
}

std::string refusal_of_stages(const StageConfig& config) {
  const std::vector<std::string> classes{"a", "b", "c"};
  return test::error_of(ExitCode::wrong_request, [&] { classes_of_stages(config, classes); });
}

TEST(Stages, ThatMissOrRepeatAClassAreRefused) {
  EXPECT_THAT(refusal_of_stages({{{"a"}, {"b"}}}), HasSubstr("no stage has the class c"));
  EXPECT_THAT(refusal_of_stages({{{"a"}, {}}}), HasSubstr("stage 2 has no class"));
  EXPECT_THAT(refusal_of_stages({{{"a", "b", "c"}}}), HasSubstr("one stage"));
  EXPECT_THAT(refusal_of_stages({{{"a", "b"}, {"c", "a"}}}),
              HasSubstr("'a' is in stage 1 and again in stage 2"));
  EXPECT_THAT(refusal_of_stages({{{"a", "b"}, {"c", "e"}}}), HasSubstr("'e', which no training row has"));
  const std::vector<std::string> classes{"a", "b", "c"};
  const auto numbers = classes_of_stages({{{"c"}, {"b", "a"}}}, classes);
  EXPECT_EQ(numbers, (std::vector<std::vector<std::int64_t>>{{2}, {1, 0}}));
}

TEST(Stages, HeedNoFiguresOnRecord) {
  const Table table = four_clusters(400);
  FitRequest request = staged(table, test::small_network(), 0);
  request.spec.training.epochs = 1;
  const test::EagerOnRecord figures(request);
  EXPECT_EQ(fit_in_stages(request).engine, "fused");
  request.config.stages = {};
  EXPECT_EQ(fit_in_stages(request).engine, "eager");
}

TEST(Stages, HaveSomeRowsOfEarlierOnesAgain) {
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 900; ++i) classes.push_back(i % 3);
  const std::vector<std::vector<std::int64_t>> stages{{0}, {1}, {2}};
  const StageConfig config{{}, 50};
  EXPECT_TRUE(rows_of_stage(classes, stages, 0, config, 1).replayed.empty());
  const StageRows last = rows_of_stage(classes, stages, 2, config, 1);
  EXPECT_EQ(last.own.size(), 300U);
  EXPECT_EQ(last.replayed.size(), 50U);
  for (const std::int64_t row : last.replayed) EXPECT_NE(row % 3, 2);
  EXPECT_EQ(last.repeats, 12);  // 600 of two classes beside 300 of one
  EXPECT_EQ(last.all().size(), 900U);
  EXPECT_TRUE(rows_of_stage(classes, stages, 2, {{}, 0}, 1).all() == last.own);
}

TEST(Stages, AreForgottenByANetworkWithoutReplay) {
  const Table table = four_clusters(1200);
  const FitResult forgetful = fit_in_stages(staged(table, test::small_network(), 0));
  ASSERT_EQ(forgetful.stages.size(), 2U);
  EXPECT_GT(forgetful.stages[0].accuracies.at(0), 0.9);
  EXPECT_LT(forgetful.stages[1].accuracies.at(0), 0.3);
  EXPECT_GT(forgetful.stages[1].accuracies.at(1), 0.9);
  const FitResult replaying = fit_in_stages(staged(table, test::small_network(), 100));
  EXPECT_GT(replaying.stages[1].accuracies.at(0), 0.85);
  EXPECT_GT(replaying.stages[1].accuracies.at(1), 0.85);
  EXPECT_EQ(replaying.stages[1].replayed_rows, 100);
}

TEST(Stages, AreNotForgottenByExpertsThatRest) {
  const Table table = four_clusters(1200);
  const FitRequest request = staged(table, mixture(), 0);
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_GT(result.stages.at(1).accuracies.at(0), 0.8);
  EXPECT_GT(result.stages.at(1).accuracies.at(1), 0.8);
  EXPECT_THAT(listener.infos,
              testing::Contains(HasSubstr("3 experts were born for the classes of stage 2: 3 to 5")));
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("rest until stage 2 is over")));
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("woke as they were")));
  EXPECT_EQ(result.epochs.size(), 24U);
  EXPECT_EQ(listener.epochs.back().record.epoch, 23);
  // Those of the first stage have not learnt anything since.
  ASSERT_EQ(result.model.stages.size(), 1U);
  const auto before = find_array(result.model.stages[0], "experts.0.weight").as<float>();
  const auto after = find_array(result.model.parameters, "experts.0.weight").as<float>();
  const std::size_t of_three = before.size() / 8 * 3;
  EXPECT_TRUE(
      std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(of_three), after.begin()));
  EXPECT_NE(after[of_three], 0.0F);
}

TEST(Stages, AreLearntByTheSameExpertsWithoutGrowth) {
  const Table table = four_clusters(400);
  ModelSpec spec = mixture();
  spec.settings.set("growth", false);
  RecordingListener listener;
  const FitResult result = fit(staged(table, spec, 0), listener, StopSignal{});
  EXPECT_THAT(listener.infos, testing::Not(testing::Contains(HasSubstr("rest until"))));
  const auto alive = find_array(result.model.parameters, "alive").as<float>();
  EXPECT_EQ(std::count(alive.begin(), alive.end(), 1.0F), 3);
}

TEST(Stages, WithReplayAreLearntByTheSameExperts) {
  const Table table = four_clusters(400);
  RecordingListener listener;
  const FitResult result = fit(staged(table, mixture(), 60), listener, StopSignal{});
  EXPECT_THAT(listener.infos, testing::Not(testing::Contains(HasSubstr("were born"))));
  EXPECT_THAT(listener.infos, testing::Not(testing::Contains(HasSubstr("rest until"))));
  EXPECT_GT(result.stages.at(1).accuracies.at(0), 0.8);
}

class InterruptsInEpoch : public RecordingListener {
 public:
  InterruptsInEpoch(std::int64_t epoch, StopSignal& stop) : epoch_(epoch), stop_(stop) {}
  void epoch_finished(const EpochReport& report) override {
    if (report.record.epoch == epoch_) stop_.interrupt();
  }

 private:
  std::int64_t epoch_;
  StopSignal& stop_;
};

TEST(Stages, GoOnExactlyWhereTheyWereInterrupted) {
  const Table table = four_clusters(800);
  for (const ModelSpec& spec : {mixture(), test::small_network()}) {
    for (const std::int64_t replay : {0, 60}) {
      FitRequest request = staged(table, spec, replay);
      const FitResult whole = fit_in_stages(request);
      TemporaryFolder folder;
      request.checkpoints = folder.path();
      request.config.checkpoint_seconds = 0;
      StopSignal stop;
      InterruptsInEpoch interrupting(14, stop);  // which is of the second stage
      // A chunk may hold the rest of the stage: then there is nothing to interrupt.
      try {
        fit(request, interrupting, stop);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::interrupted);
      }
      request.resume = true;
      const FitResult resumed = fit_in_stages(request);
      EXPECT_EQ(resumed.structure, whole.structure);
      EXPECT_EQ(resumed.stages.at(1).accuracies, whole.stages.at(1).accuracies);
      for (const NamedArray& each : whole.model.parameters) {
        const Array& array = find_array(resumed.model.parameters, each.name);
        EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
      }
    }
  }
}

TEST(Stages, ThatHadNotBegunSayNothingOfCheckpoints) {
  const Table table = four_clusters(800);
  FitRequest request = staged(table, test::small_network(), 0);
  const TemporaryFolder folder;
  request.checkpoints = folder.path();
  request.config.checkpoint_seconds = 0;
  StopSignal stop;
  InterruptsInEpoch interrupting(2, stop);
  test::error_of(ExitCode::interrupted, [&] { fit(request, interrupting, stop); });
  request.resume = true;
  RecordingListener listener;
  EXPECT_EQ(fit(request, listener, StopSignal{}).stages.size(), 2U);
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("resumed after step")));
  EXPECT_THAT(listener.infos, testing::Not(testing::Contains(HasSubstr("no checkpoint"))));
}

TEST(Stages, KeepAModelOfEach) {
  const Table table = four_clusters(400);
  const FitResult result = fit_in_stages(staged(table, test::small_network(), 0));
  TemporaryFolder folder;
  save_model(result.model, folder.path() / "model");
  const Model read = load_model(folder.path() / "model", true);
  ASSERT_EQ(read.stages.size(), 1U);
  EXPECT_TRUE(load_model(folder.path() / "model").stages.empty());
  const Model first = load_model(folder.path() / "model" / "stages" / "1");
  for (const NamedArray& each : result.model.stages[0]) {
    const Array& array = find_array(first.parameters, each.name);
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
}

// The rate rises from epoch to epoch, until weight_decay makes weights grow: in every stage.
TEST(Stages, ThatDivergeLateGoOnFromTheirBestWeights) {
  const Table table = four_clusters(800);
  FitRequest request = staged(table, test::small_network(), 200);
  TrainingSettings& training = request.spec.training;
  training.optimizer = Optimizer::sgd;
  training.momentum = 0;
  training.learning_rate = 4;
  training.weight_decay = 1;
  training.warmup_epochs = 40;
  training.epochs = 50;
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::stopped_early);
  EXPECT_EQ(result.stages.size(), 2U);
  for (const char* stage : {"stage 1 of 2: training diverged", "stage 2 of 2: training diverged"}) {
    EXPECT_THAT(listener.warnings, testing::Contains(testing::StartsWith(stage)));
    EXPECT_THAT(result.adjustments, testing::Contains(testing::StartsWith(stage)));
  }
  for (const NamedArray& each : result.model.parameters)
    for (const float value : each.array.as<float>()) EXPECT_TRUE(std::isfinite(value));
}

// Every tenth step an expert may be born, also after the epoch whose weights are the best.
TEST(Stages, OfExpertsThatDivergeLateGoOnFromTheirBestWeights) {
  const Table table = four_clusters(800);
  for (const std::int64_t replay : {0, 200}) {
    ModelSpec spec = mixture();
    spec.settings.set("max_experts", 16);
    spec.settings.set("growth_interval", 10);
    spec.settings.set("sleep_shortest", 15);
    spec.settings.set("expert_creation_uncertainty", 0.01);
    FitRequest request = staged(table, spec, replay);
    TrainingSettings& training = request.spec.training;
    training.optimizer = Optimizer::sgd;
    training.momentum = 0;
    training.learning_rate = 4;
    training.weight_decay = 1;
    training.warmup_epochs = 40;
    training.epochs = 50;
    RecordingListener listener;
    const FitResult result = fit(request, listener, StopSignal{});
    EXPECT_EQ(result.end, TrainingEnd::stopped_early);
    EXPECT_EQ(result.stages.size(), 2U);
    for (const char* stage : {"stage 1 of 2: training diverged", "stage 2 of 2: training diverged"})
      EXPECT_THAT(listener.warnings, testing::Contains(testing::StartsWith(stage))) << replay;
    const KnowledgeGraph graph = graph_from_json(nlohmann::json::parse(result.structure).at("graph"));
    const auto alive = find_array(result.model.parameters, "alive").as<float>();
    for (std::size_t place = 0; place < alive.size(); ++place)
      EXPECT_EQ(alive[place] == 1, graph.at_place(static_cast<std::int64_t>(place)) != nullptr) << place;
    for (const NamedArray& each : result.model.parameters)
      for (const float value : each.array.as<float>()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Stages, ThatDivergeFromTheStartAreNamed) {
  const Table table = four_clusters(400);
  FitRequest request = staged(table, test::small_network(), 0);
  request.spec.training.optimizer = Optimizer::sgd;
  request.spec.training.learning_rate = 1e30;
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { fit_in_stages(request); }),
              testing::AllOf(testing::StartsWith("stage 1 of 2: training diverged in epoch 1"),
                             HasSubstr("lower learning_rate")));
}

TEST(Stages, AreForNetworksOfClassesAlone) {
  const Table table = four_clusters(200);
  const auto refused = [&](FitRequest request) {
    return test::error_of(ExitCode::wrong_request, [&] { fit_in_stages(request); });
  };
  FitRequest several = staged(table, test::small_network(), 0);
  several.config.ensemble.folds = 2;
  EXPECT_THAT(refused(several), HasSubstr("an ensemble cannot be trained in stages"));
  FitRequest solved = staged(table, test::spec_of("logistic_regression"), 0);
  EXPECT_THAT(refused(solved), HasSubstr("has no stages"));
  FitRequest quantity = staged(table, test::small_network(), 0);
  quantity.preparation.target_column = "x0";
  EXPECT_THAT(refused(quantity), HasSubstr("is a quantity"));
}

}  // namespace
}  // namespace stoker
