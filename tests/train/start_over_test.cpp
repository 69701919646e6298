#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "expect_error.h"
#include "listeners.h"
#include "scripted_engine.h"
#include "tables.h"
#include "train/fit/fit_network.h"
#include "train/loop/phases.h"

// A training that stumbles over its precision or over the device's memory goes back to where all was well and
// on in another way.
namespace stoker {
namespace {

using test::RecordingListener;
using test::ScriptedEngine;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t steps_per_epoch = 4;

// What is planted, and what engines were asked for.
struct Plan {
  std::int64_t not_finite_from = 1'000'000;  // step, in anything but fp32
  std::int64_t most_rows = 1'000'000;        // of a part; more and memory runs out
  std::int64_t short_from = 0;               // step from which memory is short
  std::int64_t most_rows_to_set_up = 1'000'000;
  std::int64_t most_rows_to_copy = 1'000'000;  // more leave no room for a copy of the state
  bool fits_when_recomputed = true;
  std::vector<EngineRequest> made = {};
};

class StumblingEngine : public ScriptedEngine {
 public:
  StumblingEngine(Plan& plan, const EngineRequest& request)
      : ScriptedEngine({.steps_per_epoch = steps_per_epoch}), plan_(plan), request_(request) {
    if (request.part_rows() > plan.most_rows_to_set_up) throw OutOfMemory("planted in the set-up");
    plan.made.push_back(request);
  }
  Precision precision() const override { return request_.precision; }
  bool can_start_over() const override { return true; }

  NamedArrays state() const override {
    if (request_.part_rows() > plan_.most_rows_to_copy) throw OutOfMemory("planted in a copy");
    return ScriptedEngine::state();
  }

  ChunkResult run(const Chunk& chunk) override {
    const std::int64_t end = chunk.first_step + static_cast<std::int64_t>(chunk.learning_rates.size());
    ChunkResult result = ScriptedEngine::run(chunk);
    const bool is_helped = request_.checkpoint_activations && plan_.fits_when_recomputed;
    if (end > plan_.short_from && request_.part_rows() > plan_.most_rows && !is_helped)
      throw OutOfMemory("planted");
    if (end > plan_.not_finite_from && request_.precision != Precision::fp32) result.is_sound = false;
    return result;
  }

 private:
  Plan& plan_;
  EngineRequest request_;
};

class StartOver : public testing::Test {
 protected:
  StartOver() {
    const PreparedData data = prepare(table_, nullptr, test::predicting_last(table_),
                                      form_of(family_of(spec_), spec_.settings), no_notes());
    request_ = engine_request(spec_, data, Device::cpu());
    request_.precision = Precision::bf16;
    plan_.config.epochs = 30;
    plan_.config.learning_rate = 0.1;
    plan_.rows = table_.rows();
    plan_.steps_per_epoch = steps_per_epoch;
  }

  TrainingOutcome train(TrainingListener& listener, std::optional<Checkpoint> from = std::nullopt) {
    Checkpoints checkpoints(folder_.path(), {}, no_notes());
    const MakeEngine make = [this](const EngineRequest& request) {
      return std::make_unique<StumblingEngine>(planted_, request);
    };
    return train_in_phases(request_, make, plan_, std::move(from), checkpoints, listener, {});
  }
  std::optional<Checkpoint> newest() const { return Checkpoints(folder_.path(), {}, no_notes()).newest(); }

  const Table table_ = test::sample(SampleName::friedman, 128);
  const ModelSpec spec_ = test::small_network();
  EngineRequest request_;
  TrainingPlan plan_;
  Plan planted_;
  TemporaryFolder folder_;
};

TEST_F(StartOver, GoesOnInFp32FromTheLastGoodStateAndSaysSoOnce) {
  RecordingListener undisturbed;
  const float expected = find_array(train(undisturbed).parameters, "weight").as<float>()[0];
  planted_ = {.not_finite_from = 50};
  RecordingListener listener;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(outcome.end, TrainingEnd::finished);
  EXPECT_EQ(outcome.precision, Precision::fp32);
  EXPECT_EQ(outcome.progress.epochs.size(), 30U);
  EXPECT_EQ(find_array(outcome.parameters, "weight").as<float>()[0], expected);
  EXPECT_THAT(listener.warnings,
              ElementsAre(AllOf(HasSubstr("not finite in bf16"), HasSubstr("goes on in fp32"))));
  EXPECT_EQ(outcome.progress.adjustments.said, listener.warnings);
  ASSERT_EQ(planted_.made.size(), 2U);
  EXPECT_EQ(planted_.made.back().precision, Precision::fp32);
}

TEST_F(StartOver, FailsAsEverWhereFp32IsNotFiniteEither) {
  request_.precision = Precision::fp32;
  RecordingListener listener;
  Checkpoints none("", {}, no_notes());
  const MakeEngine make = [](const EngineRequest&) {
    return std::make_unique<ScriptedEngine>(
        ScriptedEngine::Script{.train_losses = std::vector<double>(30, NAN)});
  };
  EXPECT_THAT(test::error_of(ExitCode::run_failed,
                             [&] { train_in_phases(request_, make, plan_, {}, none, listener, {}); }),
              HasSubstr("training diverged"));
  EXPECT_THAT(listener.warnings, testing::IsEmpty());
}

// Epochs 1 to 4 are judged, the third is the best, and the fifth has no finite loss.
MakeEngine diverges_in_epoch_5() {
  return [](const EngineRequest&) {
    ScriptedEngine::Script script;
    script.validation_losses = std::vector<double>(30, 5.0);
    script.validation_losses[2] = 1;
    script.train_losses = std::vector<double>(30, 0.5);
    script.train_losses[4] = -NAN;
    return std::make_unique<ScriptedEngine>(script);
  };
}

TEST_F(StartOver, KeepsTheBestWeightsWhereFp32DivergesLater) {
  request_.precision = Precision::fp32;
  RecordingListener listener;
  Checkpoints none("", {}, no_notes());
  const MakeEngine make = diverges_in_epoch_5();
  const TrainingOutcome outcome =
      train_in_phases(request_, make, plan_, {}, none, listener, {}, OnDivergence::end_with_best);
  EXPECT_EQ(outcome.end, TrainingEnd::stopped_early);
  EXPECT_EQ(outcome.progress.epochs.size(), 4U);
  EXPECT_EQ(outcome.progress.next_step, 4 * steps_per_epoch);
  EXPECT_TRUE(outcome.progress.stopped_early);
  EXPECT_THAT(outcome.divergence, AllOf(HasSubstr("training diverged in epoch 5 of 30: its loss is nan"),
                                        HasSubstr("uses the weights of epoch 3, the best by validation")));
  EXPECT_THAT(outcome.progress.adjustments.said, ElementsAre(outcome.divergence));
  TrainingPlan until_best = plan_;
  until_best.config.epochs = 3;
  RecordingListener quiet;
  EXPECT_EQ(find_array(outcome.parameters, "weight").as<float>()[0],
            find_array(train_in_phases(request_, make, until_best, {}, none, quiet, {}).parameters, "weight")
                .as<float>()[0]);
}

TEST_F(StartOver, FailsWhereADivergedTrainingMustNotEndWithItsBestWeights) {
  request_.precision = Precision::fp32;
  RecordingListener listener;
  Checkpoints none("", {}, no_notes());
  const MakeEngine make = diverges_in_epoch_5();
  EXPECT_THAT(test::error_of(ExitCode::run_failed,
                             [&] { train_in_phases(request_, make, plan_, {}, none, listener, {}); }),
              HasSubstr("training diverged in epoch 5"));
}

TEST_F(StartOver, ALaterSittingBeginsInFp32) {
  planted_ = {.not_finite_from = 50};
  RecordingListener listener;
  train(listener);
  plan_.config.epochs = 40;
  planted_.made.clear();
  RecordingListener later;
  const TrainingOutcome outcome = train(later, newest());
  EXPECT_EQ(outcome.progress.epochs.size(), 40U);
  ASSERT_EQ(planted_.made.size(), 1U);
  EXPECT_EQ(planted_.made.front().precision, Precision::fp32);
  EXPECT_THAT(later.warnings, testing::IsEmpty());
  EXPECT_EQ(outcome.progress.adjustments.said.size(), 1U);
}

TEST_F(StartOver, HalvesThePartsOfABatchWhereAnEngineCannotEvenBeSetUp) {
  RecordingListener undisturbed;
  const float expected = find_array(train(undisturbed).parameters, "weight").as<float>()[0];
  planted_ = {.most_rows_to_set_up = 9};
  RecordingListener listener;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(find_array(outcome.parameters, "weight").as<float>()[0], expected);
  ASSERT_EQ(planted_.made.size(), 1U);
  EXPECT_EQ(planted_.made.front().part_rows(), 8);
  EXPECT_TRUE(planted_.made.front().is_short_of_memory);
  EXPECT_THAT(listener.warnings, ElementsAre(HasSubstr("in smaller parts")));
  EXPECT_EQ(outcome.progress.adjustments.said, listener.warnings);

  planted_ = {.most_rows_to_set_up = 0};
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { train(listener); }),
              HasSubstr("planted in the set-up"));
}

TEST_F(StartOver, HalvesThePartsOfABatchWhereTheFirstCopyOfTheStateDoesNotFit) {
  RecordingListener undisturbed;
  const float expected = find_array(train(undisturbed).parameters, "weight").as<float>()[0];
  planted_ = {.most_rows_to_copy = 9};
  RecordingListener listener;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(find_array(outcome.parameters, "weight").as<float>()[0], expected);
  EXPECT_EQ(listener.epochs.size(), 30U);
  ASSERT_EQ(planted_.made.size(), 3U);  // 32 rows: 16, 8
  EXPECT_EQ(planted_.made.back().part_rows(), 8);
  EXPECT_THAT(listener.warnings, ElementsAre(HasSubstr("in smaller parts")));
  EXPECT_EQ(outcome.progress.adjustments.said, listener.warnings);

  planted_ = {.most_rows_to_copy = 0};
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { train(listener); }), HasSubstr("planted in a copy"));
}

TEST_F(StartOver, ResumesInSmallerPartsWhereACopyOfTheCheckpointDoesNotFit) {
  RecordingListener undisturbed;
  const float expected = find_array(train(undisturbed).parameters, "weight").as<float>()[0];
  Checkpoints(folder_.path(), {}, no_notes()).clear();
  plan_.config.epochs = 10;
  train(undisturbed);
  plan_.config.epochs = 30;
  planted_ = {.most_rows_to_copy = 9};
  RecordingListener listener;
  const TrainingOutcome outcome = train(listener, newest());
  EXPECT_EQ(find_array(outcome.parameters, "weight").as<float>()[0], expected);
  EXPECT_EQ(listener.epochs.size(), 20U);
  EXPECT_EQ(outcome.progress.epochs.size(), 30U);
  EXPECT_EQ(planted_.made.back().part_rows(), 8);
}

TEST_F(StartOver, HalvesThePartsOfABatchUntilTheyFit) {
  RecordingListener undisturbed;
  const float expected = find_array(train(undisturbed).parameters, "weight").as<float>()[0];
  planted_ = {.most_rows = 5, .short_from = 60};
  RecordingListener listener;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(outcome.progress.epochs.size(), 30U);
  EXPECT_EQ(find_array(outcome.parameters, "weight").as<float>()[0], expected);
  EXPECT_EQ(outcome.progress.adjustments.accumulation_steps, 8);  // 32 rows: 16, 8, 4
  EXPECT_EQ(planted_.made.back().part_rows(), 4);
  EXPECT_EQ(planted_.made.back().precision, Precision::bf16);
  EXPECT_THAT(listener.warnings, ElementsAre(HasSubstr("memory ran out in a step of 32 rows")));
}

TEST_F(StartOver, ComputesActivationsAgainAsTheLastResort) {
  planted_ = {.most_rows = 0};
  RecordingListener listener;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(outcome.progress.epochs.size(), 30U);
  EXPECT_TRUE(planted_.made.back().checkpoint_activations);
  EXPECT_EQ(planted_.made.back().part_rows(), 1);
  EXPECT_EQ(listener.warnings.size(), 2U);
  planted_ = {.most_rows = 0, .fits_when_recomputed = false};
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { train(listener); }), HasSubstr("planted"));
}

TEST(Adjustments, ComeBackFromJson) {
  Progress progress;
  progress.chosen_batch = 128;
  progress.adjustments = {true, 4, true, {"one", "two"}};
  const Progress back = Progress::from_json(progress.to_json());
  EXPECT_EQ(back.adjustments, progress.adjustments);
  EXPECT_EQ(back.chosen_batch, 128);
  nlohmann::json earlier = Progress{}.to_json();
  earlier.erase("adjustments");
  earlier.erase("chosen_batch");
  EXPECT_EQ(Progress::from_json(earlier).adjustments, Adjustments{});
  earlier["chosen_batch"] = -1;
  EXPECT_THROW(Progress::from_json(earlier), Error);
}

}  // namespace
}  // namespace stoker
