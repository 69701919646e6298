// From short runs and steps to whole runs, and from these to advice; by hand, so that every number is known.
#include "advise/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "advise/advice.h"
#include "advise/measured_json.h"

namespace stoker::advise {
namespace {

constexpr std::uint64_t mib = 1 << 20;

Work small_work() {
  Work work;
  work.card = "train";
  work.family = "neural_network";
  work.rows = 1000;
  work.validation_rows = 300;
  work.parameters = 1000;
  work.multiply_adds = 900;
  work.batch_size = 10;
  work.epochs = 20;
  work.training_bytes = 4 * mib;
  work.kernels_from = 80;
  return work;
}

// 2,000 steps were planned, and 500 of 1 ms taken in half a second; all else took 2 s.
TriedRun short_run(const std::string& device, const std::string& engine) {
  TriedRun tried;
  tried.device = device;
  tried.engine = "auto";
  tried.start_seconds = 0.25;
  tried.end_seconds = 0.25;
  tried.run.began = 10;
  tried.run.ended = 12;
  tried.run.peak_bytes = 50 * mib;
  tried.run.cards = {{"load", false, false, 1}, {"train", true, false, 0.8}};
  MeasuredTraining training;
  training.card = "train";
  training.engine = engine;
  training.placement = device == "cpu" ? "host" : "vram";
  training.end = "time_limit";
  training.was_cut = true;
  training.batch_size = 10;
  training.planned_steps = 2000;
  training.planned_epochs = 20;
  training.loop_seconds = 0.5;
  training.pace = {0.001, 0, true};
  tried.run.trainings = {training};
  return tried;
}

StepLine line_of(const std::string& engine, const std::string& placement, double seconds) {
  StepLine line;
  line.card = "train";
  line.engine = engine;
  line.placement = placement;
  line.precision = "fp32";
  line.batch_size = 10;
  line.is_as_written = true;
  line.step_seconds = seconds;
  return line;
}

DeviceInfo device_called(const std::string& model, Device device) {
  DeviceInfo info;
  info.device = device;
  info.model = model;
  return info;
}

Measurements measured_on_cpu() {
  Measurements found;
  found.devices = {device_called("a CPU", Device::cpu())};
  found.runs = {short_run("cpu", "fused")};
  MeasuredSteps steps;
  steps.device = "cpu";
  steps.works = {small_work()};
  steps.lines = {line_of("fused", "host", 0.002), line_of("eager", "host", 0.006),
                 line_of("fused", "window", 0.0021)};
  StepLine refused = line_of("graph", "auto", 0);
  refused.refusal = "it needs a GPU";
  steps.lines.push_back(refused);
  StepLine larger = line_of("fused", "host", 0.004);
  larger.batch_size = 40;
  larger.is_as_written = false;
  steps.lines.push_back(larger);
  found.steps = {steps};
  return found;
}

const Prediction& way_with(const Predictions& predictions, const std::string& engine,
                           const std::string& placement) {
  for (const Prediction& each : predictions.ways)
    if (each.engine == engine && each.placement == placement) return each;
  throw std::runtime_error("there is no such way");
}

TEST(Prediction, AddsTheStepsThatWereNotTaken) {
  const Predictions predictions = predictions_of(measured_on_cpu());
  const Prediction& fused = way_with(predictions, "fused", "host");
  EXPECT_NEAR(fused.seconds, 2.5 - 0.5 + 2000 * 0.001, 1e-12);
  EXPECT_NEAR(fused.training_seconds, 2, 1e-12);
  EXPECT_EQ(fused.peak_bytes, 50 * mib);
  EXPECT_TRUE(fused.was_run);
  EXPECT_FALSE(fused.is_measured);
}

TEST(Prediction, ComparesOtherWaysByTheirSteps) {
  const Predictions predictions = predictions_of(measured_on_cpu());
  EXPECT_NEAR(way_with(predictions, "eager", "host").seconds, 2 + 3 * 2, 1e-12);
  EXPECT_FALSE(way_with(predictions, "eager", "host").was_run);
  EXPECT_NEAR(way_with(predictions, "fused", "window").seconds, 2 + 1.05 * 2, 1e-12);
  EXPECT_EQ(way_with(predictions, "fused", "window").peak_bytes, 54 * mib);
  ASSERT_EQ(predictions.impossible.size(), 1U);
  EXPECT_EQ(predictions.impossible.front().why, "it needs a GPU");
}

TEST(Prediction, CountsWhatTheCacheSavedAgain) {
  Measurements found = measured_on_cpu();
  TriedRun second = short_run("cpu", "eager");
  second.run.cards[0] = {"load", false, true, 0.25};
  found.runs.push_back(second);
  EXPECT_NEAR(way_with(predictions_of(found), "eager", "host").seconds, 4 + 0.75, 1e-12);
}

// Half a second of the load and a quarter of the rest went to other programs; what the steps waited is in
// their pace.
TEST(Prediction, LeavesOutWhatTheRunWaitedForCores) {
  Measurements found = measured_on_cpu();
  const double quiet = predictions_of(found).ways.front().seconds;
  TriedRun& run = found.runs.front();
  run.run.ended += 0.75;
  run.run.cards[0].seconds += 0.5;
  run.run.cards[0].waited = 0.5;
  run.run.waited = 0.85;
  run.run.trainings[0].loop_waited = 0.1;
  EXPECT_NEAR(predictions_of(found).ways.front().seconds, quiet, 1e-9);
}

TEST(Prediction, TakesAFinishedTrainingAsItWas) {
  Measurements found = measured_on_cpu();
  found.runs[0].run.trainings[0].was_cut = false;
  const Predictions predictions = predictions_of(found);
  EXPECT_NEAR(way_with(predictions, "fused", "host").seconds, 2.5, 1e-12);
  EXPECT_TRUE(way_with(predictions, "fused", "host").is_measured);
}

TEST(Prediction, EstimatesValidationThatWasNotSeen) {
  Measurements found = measured_on_cpu();
  found.runs[0].run.trainings[0].pace = {0.001, 0, false};
  // 300 rows after each of 20 epochs, at a third of the 0.1 ms that a row takes in training.
  EXPECT_NEAR(predictions_of(found).ways.front().training_seconds, 2 + 20 * 300 * 0.0001 / 3, 1e-12);
}

TEST(Advice, KeepsWhatIsWrittenWhereItIsAsFast) {
  const Advice advice = advice_from(measured_on_cpu(), {"auto", "fused", "window"});
  EXPECT_EQ(advice.best.placement, "window");
  EXPECT_EQ(advice.times_as_written(), 1);
}

// What a short measurement finds between them is what else the machine did meanwhile.
TEST(Advice, LeavesRowsWhereTheyLieOnACpu) {
  Measurements found = measured_on_cpu();
  found.steps[0].lines[2].step_seconds = 0.001;  // window
  EXPECT_LT(way_with(predictions_of(found), "fused", "window").seconds,
            0.8 * way_with(predictions_of(found), "fused", "host").seconds);
  EXPECT_EQ(advice_from(found, {}).best.placement, "host");
}

TEST(Advice, SaysHowMuchSlowerADocumentIsAsWritten) {
  const Advice advice = advice_from(measured_on_cpu(), {"cpu", "eager", "auto"});
  EXPECT_EQ(advice.best.engine, "fused");
  EXPECT_EQ(advice.best.placement, "host");
  EXPECT_NEAR(advice.times_as_written(), 2, 1e-12);
}

TEST(Advice, TellsOtherBatchesApart) {
  const Advice advice = advice_from(measured_on_cpu(), {});
  ASSERT_EQ(advice.batches.size(), 1U);
  // 25 steps of 4 ms an epoch in place of 100 of 2 ms.
  EXPECT_NEAR(advice.batches.front().seconds, 2 + 2 * 0.5, 1e-12);
  EXPECT_EQ(advice.batches.front().steps_per_epoch, 25);
  EXPECT_TRUE(to_json(advice).at("batches").at(0).at("changes_result").get<bool>());
}

// A GPU whose steps are faster, but that takes longer to get ready than there is to gain.
TEST(Advice, PrefersTheCpuWhereAGpuDoesNotPayAndSaysThatTheRuleIsWrong) {
  Measurements found = measured_on_cpu();
  found.devices.push_back(device_called("a GPU", Device::cuda(0)));
  TriedRun gpu = short_run("cuda:0", "fused");
  gpu.start_seconds = 3;
  gpu.run.trainings[0].pace.step_seconds = 0.0001;
  found.runs.push_back(gpu);
  found.steps[0].works[0].batch_size = 32;
  const Advice advice = advice_from(found, {});
  EXPECT_EQ(advice.best.device, "cpu");
  ASSERT_TRUE(advice.as_written);
  EXPECT_EQ(advice.as_written->device, "cuda:0");
  ASSERT_TRUE(advice.rule);
  EXPECT_TRUE(advice.rule->says_gpu);
  EXPECT_TRUE(advice.rule->disagrees);
  EXPECT_TRUE(advice.gpus.empty());
}

// 2 s of steps, of which the document allows 1.5; another engine takes 6 s for them, and gets less far.
TEST(Prediction, EndsATrainingAtItsTimeLimit) {
  Measurements found = measured_on_cpu();
  found.runs[0].run.trainings[0].time_limit = 1.5;
  const Predictions predictions = predictions_of(found);
  const Prediction& fused = way_with(predictions, "fused", "host");
  EXPECT_NEAR(fused.training_seconds, 1.5, 1e-12);
  EXPECT_NEAR(fused.seconds, 2 + 1.5, 1e-12);
  EXPECT_NEAR(fused.all_steps_seconds, 2, 1e-12);
  const Prediction& eager = way_with(predictions, "eager", "host");
  EXPECT_NEAR(eager.seconds, 2 + 1.5, 1e-12);
  EXPECT_NEAR(eager.all_steps_seconds, 6, 1e-12);
  const Advice advice = advice_from(found, {.engine = "eager"});
  EXPECT_EQ(advice.best.engine, "fused");
  EXPECT_NEAR(advice.times_as_written(), 2, 1e-12);
  EXPECT_NE(sentences_of(advice).at(1).find("time limit"), std::string::npos);
}

// Which a run that finds its rows in the cache does not need; a run of the document does.
TEST(Prediction, CountsTheMemoryAndTheTimeThatReadingRowsTook) {
  Measurements found = measured_on_cpu();
  TriedRun first = short_run("cpu", "fused");
  first.run.cards[0].seconds = 3;
  first.run.load_peak_bytes = 70 * mib;
  found.first_runs = {first};
  found.runs[0].run.cards[0].reused = true;
  const Prediction way = predictions_of(found).ways.front();
  EXPECT_EQ(way.peak_bytes, 70 * mib);
  EXPECT_NEAR(way.seconds, 2 + 2 + 2, 1e-12) << "2 s around 2 s of steps, and 3 in place of 1 to read";
  found.runs[0].run.cards[0].reused = false;
  EXPECT_EQ(predictions_of(found).ways.front().peak_bytes, 50 * mib);
}

// A first chunk takes what is done once: 8 steps in 0.8 s, and then one every 2 ms.
TEST(Prediction, CountsWhatTheFirstChunkMakesReadyOnce) {
  Measurements found = measured_on_cpu();
  MeasuredTraining& training = found.runs[0].run.trainings[0];
  training.loop_seconds = 0.8;
  training.pace = {0.1, 0, false, true, 8};
  const double steps = 0.8 + (2000 - 8) * 0.002;
  const double validation = 20 * 300 * 0.002 / 10 / 3;
  EXPECT_NEAR(way_with(predictions_of(found), "fused", "host").training_seconds, steps + validation, 1e-9);
  // Nothing else is known.
  found.steps.clear();
  EXPECT_NEAR(way_with(predictions_of(found), "fused", "host").training_seconds, 2000 * 0.1, 1e-9);
  // A step that took longer by itself says nothing of getting ready.
  found = measured_on_cpu();
  found.runs[0].run.trainings[0].pace = {0.001, 0, true, true, 8};
  EXPECT_NEAR(way_with(predictions_of(found), "fused", "host").training_seconds, 2, 1e-9);
}

TEST(Advice, SaysInPlainNumbersWhatAGpuWouldHaveToBe) {
  Measurements found = measured_on_cpu();
  Work& graph = found.steps[0].works[0];
  graph.kernels_from = 0;
  graph.nodes = 1;
  graph.multiply_adds = 12'345'678;
  graph.written_bytes = 1 << 20;
  EXPECT_THAT(sentences_of(advice_from(found, {})),
              testing::Contains(testing::AllOf(testing::HasSubstr("at least 1,300 GFLOP/s and 190 GB/s"),
                                               testing::HasSubstr("none would be faster than"))));
}

TEST(Advice, HasNoGpusForWhatNoneTrains) {
  Measurements found = measured_on_cpu();
  EXPECT_FALSE(advice_from(found, {}).gpus.empty());
  Work& graph = found.steps[0].works[0];
  graph.kernels_from = 0;
  graph.nodes = 5;
  StepLine elsewhere = line_of("eager", "window", 0);
  elsewhere.refusal = "cubes are read where they lie";
  found.steps[0].lines.push_back(elsewhere);
  EXPECT_FALSE(advice_from(found, {}).gpus.empty()) << "LibTorch trains it";
  EXPECT_TRUE(to_json(advice_from(found, {})).at("gpu_not_estimated").is_null());

  found.steps[0].lines[1].refusal = "it does not leave out pixels";
  const Advice refused = advice_from(found, {});
  EXPECT_TRUE(refused.gpus.empty());
  EXPECT_FALSE(refused.rule);
  EXPECT_EQ(to_json(refused).at("gpu_not_estimated"), "it does not leave out pixels");
  EXPECT_THAT(sentences_of(refused), testing::Contains(testing::HasSubstr("it does not leave out pixels")));

  std::erase_if(found.steps[0].lines, [](const StepLine& line) { return line.engine == "eager"; });
  EXPECT_THAT(advice_from(found, {}).not_estimated, testing::HasSubstr("no time"));
  found.steps[0].works[0].nodes = 0;  // what GPUs have kernels for
  EXPECT_FALSE(advice_from(found, {}).gpus.empty());
}

TEST(Measurements, ComeBackAsTheyWereFromAnotherProcess) {
  const nlohmann::json run = short_run("cpu", "fused").run;
  EXPECT_EQ(nlohmann::json(run.get<MeasuredRun>()), run);
  EXPECT_EQ(run.at("trainings").at(0).at("pace").at("step_seconds"), 0.001);
  const nlohmann::json steps = measured_on_cpu().steps.front();
  EXPECT_EQ(nlohmann::json(steps.get<MeasuredSteps>()), steps);
}

}  // namespace
}  // namespace stoker::advise
