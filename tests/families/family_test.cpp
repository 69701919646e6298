#include "model/family.h"

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "families/sets_and_series.h"
#include "torch/door.h"
#include "torch/training_case.h"
#include "train/listeners.h"
#include "train/loop/engines.h"
#include "train/loop/metric_stopping.h"
#include "train/loop/phases.h"

// A family comes in through its own files and the tables, whatever its inputs, losses and phases are.
namespace stoker {
namespace {

using test::sets_and_series_request;
using testing::HasSubstr;

struct FamilyWay {
  const char* name;
  const char* engine;
  bool on_gpu;
};

const EngineMaker& maker_of(std::string_view name) {
  for (const EngineMaker& each : engines())
    if (each.name == name) return each;
  fail("there is no engine {}", name);
}

TrainingPlan plan_for(const EngineRequest& request, std::int64_t epochs) {
  TrainingPlan plan;
  plan.config.epochs = epochs;
  plan.config.learning_rate = 0.02;
  plan.rows = request.rows_per_epoch();
  plan.steps_per_epoch = request.steps_per_epoch();
  plan.checkpoint_seconds = 1e9;
  return plan;
}

class OwnFamily : public testing::TestWithParam<FamilyWay> {
 protected:
  void SetUp() override {
    if (GetParam().on_gpu && !test::first_gpu()) GTEST_SKIP() << "no GPU here";
    test::add_sets_and_series();
    folder_ = std::filesystem::temp_directory_path() /
              ("stoker-family-" + std::string(GetParam().name) + std::to_string(::getpid()));
    request_ = sets_and_series_request();
    identity_ = identity_of(request_);
    if (GetParam().on_gpu) request_ = test::placed_on(request_, *test::first_gpu(), Memory::device);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // To the end or to a pause, from the beginning or from where the last one paused.
  TrainingOutcome train(TrainingListener& listener, std::int64_t pause = 0, bool resumes = false) {
    Checkpoints checkpoints(folder_, identity_, no_notes());
    TrainingPlan plan = plan_for(request_, epochs);
    plan.pause_after_epochs = pause;
    return train_in_phases(request_, making(maker_of(GetParam().engine), std::nullopt), plan,
                           resumes ? checkpoints.newest() : std::nullopt, checkpoints, listener, {});
  }

  static constexpr std::int64_t epochs = 12;
  std::filesystem::path folder_;
  EngineRequest request_;
  Identity identity_;
};

TEST_P(OwnFamily, GoesThroughAllPhases) {
  test::RecordingListener listener;
  const NamedArrays begun = request_.initial_parameters;
  const TrainingOutcome outcome = train(listener);
  ASSERT_EQ(listener.epochs.size(), static_cast<std::size_t>(epochs));
  const NamedArrays& trained = outcome.parameters;

  // Statistics: of those members that are there, and of the whole series.
  const Dataset rows = test::sets_and_windows(203, 1);
  double sum = 0;
  double count = 0;
  const auto members = rows.find("members")->array.as<float>();
  const auto present = rows.find("present")->array.as<float>();
  for (std::size_t i = 0; i < present.size(); ++i) {
    sum += present[i] * members[i * test::member_width];
    count += present[i];
  }
  EXPECT_NEAR(find_array(trained, "members.mean").as<float>()[0], sum / count, 1e-5);
  const auto series = rows.find("window")->array.as<float>();
  double level = 0;
  for (std::size_t i = 1; i < series.size(); i += test::series_width) level += series[i];
  level /= static_cast<double>(series.size()) / test::series_width;
  EXPECT_NEAR(find_array(trained, "window.mean").as<float>()[1], level, 1e-4);
  EXPECT_GT(find_array(trained, "window.scale").as<float>()[1], 5);

  // Structure: once. The frozen layer: as it began.
  EXPECT_EQ(find_array(trained, "pruned").as<float>()[0], 1);
  EXPECT_TRUE(test::same_bits({{"", find_array(trained, "embed.weight")}},
                              {{"", find_array(begun, "embed.weight")}}));
  EXPECT_FALSE(
      test::same_bits({{"", find_array(trained, "head.weight")}}, {{"", find_array(begun, "head.weight")}}));
  EXPECT_LT(listener.epochs.back().record.train_loss, 0.5 * listener.epochs.front().record.train_loss);
}

TEST_P(OwnFamily, ReportsEachLossAndTrainsTheirWeightedSum) {
  test::RecordingListener listener;
  train(listener);
  for (const EpochReport& epoch : listener.epochs) {
    const std::vector<NamedValue>& values = epoch.record.values;
    ASSERT_EQ(values.size(), 4U);
    EXPECT_EQ(values[0].name, "train_value");
    EXPECT_EQ(values[1].name, "validation_value");
    EXPECT_EQ(values[2].name, "train_next");
    EXPECT_EQ(values[3].name, "validation_next");
    EXPECT_NEAR(values[0].value + 0.5 * values[2].value, epoch.record.train_loss,
                1e-9 * epoch.record.train_loss);
    EXPECT_NEAR(values[1].value + 0.5 * values[3].value, *epoch.record.validation_loss,
                1e-9 * *epoch.record.validation_loss);
  }
}

// The huber loss that the family trains `next` with.
double huber(double difference) {
  const double size = std::abs(difference);
  return size <= 1 ? 0.5 * size * size : size - 0.5;
}

TEST_P(OwnFamily, PredictsThroughTheDoorWhatItWasValidatedWith) {
  test::RecordingListener listener;
  const NamedArrays parameters = train(listener).parameters;
  double best = listener.epochs.back().record.validation_loss.value();
  for (const EpochReport& epoch : listener.epochs)
    if (epoch.record.epoch >= test::first_phase_epochs) best = std::min(best, *epoch.record.validation_loss);
  const Dataset rows = test::sets_and_windows(50, 2);
  const Array outputs = torch_door::outputs(request_.network, parameters, rows, 0, 50);
  double loss = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    const auto predicted = outputs.as<float>();
    loss += std::pow(predicted[2 * i] - rows.find("targets")->array.as<float>()[i], 2) +
            0.5 * huber(predicted[2 * i + 1] - rows.find("next")->array.as<float>()[i]);
  }
  EXPECT_NEAR(loss / 50, best, 1e-5 * best);
  // Some rows alone, in windows of their own.
  const Array last = torch_door::outputs(request_.network, parameters, rows, 47, 3);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(last.as<float>()[i], outputs.as<float>()[94 + i], 1e-5) << i;
}

TEST_P(OwnFamily, ResumesExactlyInEveryPhase) {
  test::RecordingListener nobody;
  const TrainingOutcome whole = train(nobody);
  for (const std::int64_t pause : {1, 2, 3, 9}) {
    std::filesystem::remove_all(folder_);
    EXPECT_EQ(train(nobody, pause).progress.next_step, pause * request_.steps_per_epoch());
    const TrainingOutcome resumed = train(nobody, 0, true);
    EXPECT_TRUE(test::same_bits(whole.parameters, resumed.parameters)) << pause;
    EXPECT_EQ(resumed.progress.epochs.size(), static_cast<std::size_t>(epochs));
  }
}

TEST_P(OwnFamily, GoesOnExactlyFromTheMiddleOfAnEpoch) {
  EngineRequest request = request_;
  request.unfrozen = {"head.weight"};
  const auto run = [&](Engine& engine, std::int64_t first, std::int64_t end) {
    engine.run({first, std::vector<float>(static_cast<std::size_t>(end - first), 0.01F)});
  };
  const EngineMaker& maker = maker_of(GetParam().engine);
  const auto whole = maker.make(request);
  run(*whole, 0, 40);
  for (const std::int64_t cut : {1, 12, 13, 22}) {
    const auto first = maker.make(request);
    run(*first, 0, cut);
    const auto second = maker.make(request);
    second->restore(first->state());
    run(*second, cut, 40);
    EXPECT_TRUE(test::same_bits(whole->state(), second->state())) << cut;
  }
}

TEST_P(OwnFamily, IsRefusedWhereItsDataDoesNotFit) {
  const EngineMaker& maker = maker_of(GetParam().engine);
  const auto refused = [&](auto change) {
    EngineRequest changed = request_;
    change(changed);
    return maker.refusal(changed);
  };
  EXPECT_EQ(refused([](EngineRequest&) {}), "");
  EXPECT_THAT(refused([](EngineRequest& r) { r.training.arrays.erase(r.training.arrays.begin() + 1); }),
              HasSubstr("there are no present"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.training.arrays[2].length = 9; }), HasSubstr("[9, 2]"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.losses[1].first_output = 0; }),
              HasSubstr("the losses value and next both read output 0"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.losses[1].first_output = 2; }), HasSubstr("reads outputs"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.losses[1].targets = "later"; }),
              HasSubstr("there are no later"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.unfrozen = {"window.mean"}; }),
              HasSubstr("no trained parameter 'window.mean'"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.order = {0, 2, 2}; }), HasSubstr("process 2 of 2"));
}

TEST_P(OwnFamily, RefusesWindowsOutsideOfTheirSeries) {
  const std::int64_t moments = request_.training.find("window")->array.dimension(0);
  for (const std::int64_t start : {std::int64_t{-1}, moments - test::window_length + 1}) {
    EngineRequest changed = sets_and_series_request();
    changed.training.arrays[2].starts.as<std::int64_t>()[7] = start;
    if (GetParam().on_gpu) changed = test::placed_on(changed, *test::first_gpu(), Memory::device);
    try {
      maker_of(GetParam().engine).make(changed);
      FAIL() << "a window that begins at " << start << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      EXPECT_THAT(error.what(), HasSubstr("outside its series"));
    }
  }
}

TEST_P(OwnFamily, NeedsAnEpochForItsLastPhase) {
  test::RecordingListener nobody;
  Checkpoints checkpoints({}, identity_, no_notes());
  try {
    train_in_phases(request_, making(maker_of(GetParam().engine), std::nullopt), plan_for(request_, 2),
                    std::nullopt, checkpoints, nobody, {});
    FAIL() << "two epochs were enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), HasSubstr("epochs is 2"));
  }
}

TEST_P(OwnFamily, IsNotForTheFusedEngine) {
  EXPECT_THAT(maker_of("fused").refusal(request_), HasSubstr("multi-layer perceptrons"));
}

INSTANTIATE_TEST_SUITE_P(Ways, OwnFamily,
                         testing::Values(FamilyWay{"EagerOnTheCpu", "eager", false},
                                         FamilyWay{"EagerOnTheGpu", "eager", true},
                                         FamilyWay{"GraphOnTheGpu", "graph", true}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace stoker
