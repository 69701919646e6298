#include "train/loop/loop.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "expect_error.h"
#include "listeners.h"
#include "scripted_engine.h"

namespace stoker {
namespace {

using test::RecordingListener;
using test::ScriptedEngine;
using testing::AllOf;
using testing::HasSubstr;

TrainingPlan plan_of(std::int64_t epochs, std::int64_t steps_per_epoch = 4) {
  TrainingPlan plan;
  plan.config.epochs = epochs;
  plan.config.learning_rate = 0.1;
  plan.rows = 100;
  plan.steps_per_epoch = steps_per_epoch;
  return plan;
}

TrainingOutcome trained(ScriptedEngine& engine, const TrainingPlan& plan, RecordingListener& listener) {
  Checkpoints none("", {}, no_notes());
  return train(engine, plan, {}, none, listener, StopSignal{});
}

float weight(const NamedArrays& parameters) {
  return find_array(parameters, "weight").as<float>()[0];
}

std::vector<double> losses(const Progress& progress) {
  std::vector<double> result;
  for (const EpochReport& epoch : progress.epochs) result.push_back(epoch.record.train_loss);
  return result;
}

TEST(Loop, RunsEveryStepOnceAndReportsEveryEpoch) {
  ScriptedEngine engine({.steps_per_epoch = 7});
  RecordingListener listener;
  const TrainingOutcome outcome = trained(engine, plan_of(30, 7), listener);
  EXPECT_EQ(outcome.end, TrainingEnd::finished);
  EXPECT_EQ(outcome.progress.next_step, 210);
  EXPECT_EQ(engine.rates.size(), 210U);
  ASSERT_EQ(listener.epochs.size(), 30U);
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_EQ(listener.epochs[i].record.epoch, static_cast<std::int64_t>(i));
  EXPECT_EQ(listener.steps.back(), 210);
  EXPECT_LE(engine.chunk_sizes.front(), 10);
}

// A slow engine gets small chunks and a fast one large chunks; nothing else may differ.
TEST(Loop, GivesTheSameOutcomeHoweverTheStepsFallIntoChunks) {
  TrainingPlan plan = plan_of(500);
  plan.config.schedule = Schedule::cosine;
  plan.config.warmup_epochs = 3;
  const std::vector<double> validation(500, 1.0);
  ScriptedEngine fast({.validation_losses = validation});
  ScriptedEngine slow({.validation_losses = validation, .before_chunk = [](const Chunk&) {
                         std::this_thread::sleep_for(std::chrono::milliseconds(40));
                       }});
  RecordingListener listener;
  const TrainingOutcome one = trained(fast, plan, listener);
  const TrainingOutcome other = trained(slow, plan, listener);
  EXPECT_NE(fast.chunk_sizes, slow.chunk_sizes);
  EXPECT_EQ(fast.rates, slow.rates);
  EXPECT_EQ(losses(one.progress), losses(other.progress));
  EXPECT_EQ(weight(one.parameters), weight(other.parameters));
}

// The engine takes 40 of every 60 milliseconds, the listener the rest.
TEST(Loop, TellsWhatShareOfItsTimeWasComputing) {
  const auto wait = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  struct SlowListener : RecordingListener {
    void advanced(std::int64_t done, std::int64_t total, double pace) override {
      RecordingListener::advanced(done, total, pace);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  ScriptedEngine engine({.before_chunk = [&](const Chunk&) { wait(40); }});
  SlowListener listener;
  const TrainingOutcome outcome = trained(engine, plan_of(40), listener);
  const Progress& progress = outcome.progress;
  EXPECT_GE(progress.seconds, 0.04 * static_cast<double>(engine.chunk_sizes.size()));
  EXPECT_GE(progress.loop_seconds, progress.seconds + 0.02 * static_cast<double>(engine.chunk_sizes.size()));
  EXPECT_EQ(progress.computing_share(), progress.seconds / progress.loop_seconds);
  // A sitting that goes on from there counts on; one from a version that did not count has its steps.
  for (const double earlier : {progress.loop_seconds, 0.0}) {
    Progress resumed = progress;
    resumed.loop_seconds = earlier;
    Checkpoints none("", {}, no_notes());
    RecordingListener quick;
    ScriptedEngine again({});
    again.restore(engine.state());
    const Progress end = train(again, plan_of(80), resumed, none, quick, StopSignal{}).progress;
    EXPECT_GE(end.loop_seconds, end.seconds);
    EXPECT_GE(end.loop_seconds, earlier);
    EXPECT_LE(end.computing_share(), 1);
    EXPECT_GT(end.computing_share(), 0);
  }
}

TEST(Loop, ReportsTheRateOfAnEpochsLastStep) {
  TrainingPlan plan = plan_of(6);
  plan.config.schedule = Schedule::step;
  plan.config.step_epochs = 2;
  plan.config.step_factor = 0.5;
  ScriptedEngine engine({});
  RecordingListener listener;
  trained(engine, plan, listener);
  EXPECT_FLOAT_EQ(static_cast<float>(listener.epochs[1].learning_rate), 0.1F);
  EXPECT_FLOAT_EQ(static_cast<float>(listener.epochs[2].learning_rate), 0.05F);
  EXPECT_FLOAT_EQ(static_cast<float>(listener.epochs[5].learning_rate), 0.025F);
}

// The losses and rates are those of torch's ReduceLROnPlateau; see schedules.py.
TEST(Loop, CutsTheRateOnAPlateauAsTorchDoes) {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/schedules.json");
  const nlohmann::json reference = nlohmann::json::parse(file);
  TrainingPlan plan = plan_of(12);
  plan.config.learning_rate = 0.02;
  plan.config.schedule = Schedule::plateau;
  plan.config.plateau_patience = 3;
  plan.config.step_factor = 0.1;
  plan.config.min_learning_rate = 0.0005;
  plan.config.validation_ratio = 0.1;
  ScriptedEngine engine({.validation_losses = reference.at("plateau_losses").get<std::vector<double>>()});
  RecordingListener listener;
  trained(engine, plan, listener);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(listener.epochs[i].learning_rate, reference.at("plateau")[i].get<double>(), 1e-9)
        << "epoch " << i;
}

TEST(Loop, NeverCrossesAnEpochWhenThePlateauDecides) {
  TrainingPlan plan = plan_of(5, 10);
  plan.config.schedule = Schedule::plateau;
  Progress progress;
  progress.next_step = 17;
  EXPECT_EQ(next_chunk(plan, progress, 1000).learning_rates.size(), 3U);
  plan.config.schedule = Schedule::constant;
  EXPECT_EQ(next_chunk(plan, progress, 1000).learning_rates.size(), 33U);
}

TEST(Loop, HandsEveryStepTheRateOfItsSchedule) {
  for (const Schedule schedule : {Schedule::constant, Schedule::cosine, Schedule::step, Schedule::plateau}) {
    TrainingPlan plan = plan_of(5, 10);
    plan.config.schedule = schedule;
    plan.config.step_epochs = 1;
    plan.config.warmup_epochs = 2;
    for (const std::int64_t first : {0, 17, 20, 31}) {
      Progress progress;
      progress.next_step = first;
      progress.plateau_factor = 0.25;
      const Chunk chunk = next_chunk(plan, progress, 12);
      for (std::size_t i = 0; i < chunk.learning_rates.size(); ++i)
        EXPECT_EQ(chunk.learning_rates[i],
                  learning_rate_at(plan.config, 10, first + static_cast<std::int64_t>(i), 0.25))
            << config::name_of(schedule) << ", step " << i << " after " << first;
    }
  }
}

TEST(Loop, StopsEarlyWithTheBestWeights) {
  ScriptedEngine engine({.validation_losses = {3, 2, 1, 1.5, 1.4, 9, 9, 9}, .patience = 3});
  ScriptedEngine until_best({});
  RecordingListener listener;
  const TrainingOutcome outcome = trained(engine, plan_of(8), listener);
  EXPECT_EQ(outcome.end, TrainingEnd::stopped_early);
  EXPECT_EQ(outcome.progress.epochs.size(), 6U);
  EXPECT_EQ(outcome.progress.next_step, 24);
  EXPECT_EQ(weight(outcome.parameters), weight(trained(until_best, plan_of(3), listener).parameters));
}

TEST(Loop, KeepsTheBestModelWhenTimeIsUp) {
  TrainingPlan plan = plan_of(1'000'000);
  plan.time_limit = 0.2;
  std::vector<double> validation(1'000'000, 5.0);
  validation[1] = 1;
  ScriptedEngine engine({.validation_losses = std::move(validation), .before_chunk = [](const Chunk&) {
                           std::this_thread::sleep_for(std::chrono::milliseconds(30));
                         }});
  ScriptedEngine until_best({});
  RecordingListener listener;
  const TrainingOutcome outcome = trained(engine, plan, listener);
  EXPECT_EQ(outcome.end, TrainingEnd::time_limit);
  EXPECT_LT(outcome.progress.next_step, plan.total_steps());
  EXPECT_EQ(weight(outcome.parameters), weight(trained(until_best, plan_of(2), listener).parameters));
}

TEST(Loop, RunsTheFirstChunkEvenIfTheDeadlineHasPassed) {
  StopSignal stop;
  stop.set_deadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  ScriptedEngine engine({.steps_per_epoch = 1000, .validation_losses = {1}});
  RecordingListener listener;
  Checkpoints none("", {}, no_notes());
  const TrainingOutcome outcome = train(engine, plan_of(1, 1000), {}, none, listener, stop);
  EXPECT_EQ(outcome.end, TrainingEnd::time_limit);
  EXPECT_EQ(engine.chunk_sizes.size(), 1U);
  // No epoch was judged yet, so the weights are the last ones, not the engine's empty best ones.
  EXPECT_EQ(weight(outcome.parameters), weight(engine.parameters()));
}

TEST(Loop, WritesACheckpointWhenInterruptedAndGoesOnExactlyFromIt) {
  const std::vector<double> validation(50, 1.0);
  const TrainingPlan plan = plan_of(50, 13);
  RecordingListener listener;
  ScriptedEngine whole({.steps_per_epoch = 13, .validation_losses = validation});
  const TrainingOutcome expected = trained(whole, plan, listener);

  TemporaryFolder folder;
  Checkpoints checkpoints(folder.path(), {}, no_notes());
  StopSignal stop;
  ScriptedEngine first(
      {.steps_per_epoch = 13, .validation_losses = validation, .before_chunk = [&](const Chunk& chunk) {
         if (chunk.first_step > 0) stop.interrupt();
       }});
  EXPECT_THAT(
      test::error_of(ExitCode::interrupted, [&] { train(first, plan, {}, checkpoints, listener, stop); }),
      AllOf(HasSubstr("interrupted in epoch"), HasSubstr("resume with stoker run --resume")));

  const std::optional<Checkpoint> saved = Checkpoints(folder.path(), {}, no_notes()).newest();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->progress.next_step, static_cast<std::int64_t>(first.rates.size()));
  EXPECT_LT(saved->progress.next_step, plan.total_steps());
  ScriptedEngine second({.steps_per_epoch = 13, .validation_losses = validation});
  second.restore(saved->state);
  const TrainingOutcome outcome = train(second, plan, saved->progress, checkpoints, listener, StopSignal{});
  EXPECT_EQ(losses(outcome.progress), losses(expected.progress));
  EXPECT_EQ(weight(outcome.parameters), weight(expected.parameters));
}

TEST(Loop, SaysThatNothingIsKeptWhenInterruptedWithoutCheckpoints) {
  StopSignal stop;
  stop.interrupt();
  ScriptedEngine engine({});
  RecordingListener listener;
  Checkpoints none("", {}, no_notes());
  EXPECT_THAT(
      test::error_of(ExitCode::interrupted, [&] { train(engine, plan_of(5), {}, none, listener, stop); }),
      HasSubstr("no checkpoints are kept"));
}

TEST(Loop, FailsWithEpochAndAdviceWhenTheLossIsNotFinite) {
  ScriptedEngine engine({.train_losses = {1, 2, std::nan(""), 1, 1}});
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { trained(engine, plan_of(5), listener); }),
              AllOf(HasSubstr("diverged in epoch 3 of 5"), HasSubstr("nan"),
                    HasSubstr("lower learning_rate (it is 0.1)")));
  EXPECT_EQ(listener.epochs.size(), 2U);
}

TEST(Loop, LeavesTheLastGoodCheckpointWhenWeightsOverflowInsideAnEpoch) {
  TemporaryFolder folder;
  Checkpoints checkpoints(folder.path(), {}, no_notes());
  TrainingPlan plan = plan_of(1, 400);
  plan.config.learning_rate = 10;
  plan.checkpoint_seconds = 0;
  ScriptedEngine engine({.steps_per_epoch = 400});
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::run_failed,
                             [&] { train(engine, plan, {}, checkpoints, listener, StopSignal{}); }),
              HasSubstr("diverged in epoch 1"));
  const std::optional<Checkpoint> saved = checkpoints.newest();
  ASSERT_TRUE(saved.has_value());
  EXPECT_TRUE(std::isfinite(find_array(saved->state, "parameters.weight").as<float>()[0]));
}

TEST(Loop, HasNothingToDoForATrainingThatWasFinished) {
  TemporaryFolder folder;
  Checkpoints checkpoints(folder.path(), {}, no_notes());
  RecordingListener listener;
  ScriptedEngine first({.validation_losses = {3, 2, 9, 9, 9}, .patience = 2});
  const TrainingOutcome done = train(first, plan_of(5), {}, checkpoints, listener, StopSignal{});
  const std::optional<Checkpoint> saved = checkpoints.newest();
  ASSERT_TRUE(saved.has_value());
  ScriptedEngine second({.validation_losses = {3, 2, 9, 9, 9}, .patience = 2});
  second.restore(saved->state);
  const TrainingOutcome again =
      train(second, plan_of(5), saved->progress, checkpoints, listener, StopSignal{});
  EXPECT_TRUE(second.chunk_sizes.empty());
  EXPECT_EQ(again.end, TrainingEnd::stopped_early);
  EXPECT_EQ(weight(again.parameters), weight(done.parameters));
}

}  // namespace
}  // namespace stoker
