// Steps that are taken to see how long they are.
#include "train/choose/measured_figures.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/device.h"
#include "tables.h"
#include "train/fit/fit_network.h"
#include "train/loop/engines.h"

namespace stoker {
namespace {

// Steps of a machine with a clock of its own.
struct Stepping {
  double step_seconds = 0;
  double call_seconds = 0;  // beside its steps
  double now = 50;
  std::int64_t steps = 0;

  double measured_within(double seconds) {
    return step_seconds_within(
        seconds,
        [this](std::int64_t count) {
          now += call_seconds + static_cast<double>(count) * step_seconds;
          steps += count;
        },
        [this] { return now; });
  }
};

TEST(StepSeconds, AreFoundWithinTheTimeThatIsGiven) {
  for (const double step : {1e-6, 1e-4, 0.003, 0.05}) {
    Stepping machine{.step_seconds = step};
    EXPECT_NEAR(machine.measured_within(0.5), step, 1e-6 * step);
    EXPECT_LE(machine.now - 50, 0.5 + 1e-9) << step;
    EXPECT_GE(machine.now - 50, 0.15) << step;
  }
}

// Twenty steps' time for every call: stretches grow until that is little.
TEST(StepSeconds, CountWhatTheHostDoesForAChunkOnlyOncePerStretch) {
  Stepping machine{.step_seconds = 1e-5, .call_seconds = 2e-4};
  EXPECT_NEAR(machine.measured_within(0.5), 1e-5, 1e-6);
}

TEST(StepSeconds, TakeNoLongerThanTheyNeed) {
  Stepping machine{.step_seconds = 1e-4};
  machine.measured_within(3600);
  EXPECT_LE(machine.now - 50, 1);
}

TEST(StepSeconds, AreThoseOfTheOneStepThatThereIsTimeFor) {
  Stepping machine{.step_seconds = 3};
  EXPECT_DOUBLE_EQ(machine.measured_within(0.5), 3);
  EXPECT_EQ(machine.steps, 1);
}

bool has_loaded_libtorch() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libtorch") != std::string::npos) return true;
  return false;
}

PreparedData prepared_rows(const Table& table, const ModelSpec& spec) {
  return prepare(table, nullptr, test::predicting_last(table), form_of(family_of(spec), spec.settings),
                 no_notes());
}

TEST(MeasuredFigures, AreThoseOfTheEngineThatNeedsNoLibTorch) {
  const bool loaded_before = has_loaded_libtorch();
  const ModelSpec spec = test::small_network();
  const PreparedData data = prepared_rows(test::sample(SampleName::friedman, 500), spec);
  const Trial trial =
      measured_figures([&] { return engine_request(spec, data, Device::cpu()); }, "a CPU", 60);
  ASSERT_TRUE(trial.figures);
  EXPECT_EQ(trial.figures->device, "cpu");
  EXPECT_EQ(trial.figures->model, "a CPU");
  EXPECT_EQ(trial.figures->engine, "fused");
  EXPECT_GT(trial.figures->step_seconds, 0);
  EXPECT_GT(trial.figures->ready_seconds, 0);
  EXPECT_EQ(has_loaded_libtorch(), loaded_before);
}

// LibTorch alone has operands of that kind for the CPU.
TEST(MeasuredFigures, AreNoneOfATrainingThatNeedsLibTorch) {
  const bool loaded_before = has_loaded_libtorch();
  const ModelSpec spec = test::small_network();
  const PreparedData data = prepared_rows(test::sample(SampleName::friedman, 500), spec);
  FitConfig config;
  config.precision = Precision::bf16;
  const Trial trial =
      measured_figures([&] { return engine_request(spec, data, Device::cpu(), config); }, "a CPU", 60);
  EXPECT_FALSE(trial.figures);
  EXPECT_FALSE(trial.is_possible);
  EXPECT_EQ(has_loaded_libtorch(), loaded_before);
}

TEST(MeasuredFigures, AreNoneWhereTheTimeIsOverBeforeTheFirstStep) {
  const ModelSpec spec = test::small_network();
  const PreparedData data = prepared_rows(test::sample(SampleName::friedman, 500), spec);
  const Trial trial = measured_figures([&] { return engine_request(spec, data, Device::cpu()); }, "a CPU", 0);
  EXPECT_FALSE(trial.figures);
  EXPECT_TRUE(trial.is_possible);
}

NamedArrays trained_weights(const ModelSpec& spec, const PreparedData& data) {
  const EngineRequest request = engine_request(spec, data, Device::cpu());
  const std::unique_ptr<Engine> engine =
      choose_engine(engines(), EngineChoice::fused, std::nullopt, request).make(request);
  engine->run({0, std::vector<float>(200, 0.005F)});
  return engine->parameters();
}

TEST(MeasuredFigures, LeaveTheTrainingAsItWouldHaveBeenToTheLastBit) {
  ModelSpec spec = test::small_network();
  spec.settings.set("dropout", 0.2);
  const Table table = test::sample(SampleName::friedman, 500);
  const NamedArrays without = trained_weights(spec, prepared_rows(table, spec));
  const PreparedData data = prepared_rows(table, spec);
  ASSERT_TRUE(
      measured_figures([&] { return engine_request(spec, data, Device::cpu()); }, "a CPU", 60).figures);
  const NamedArrays after = trained_weights(spec, data);
  ASSERT_EQ(after.size(), without.size());
  for (std::size_t i = 0; i < without.size(); ++i) {
    const std::span<const float> one = std::as_const(without[i].array).as<float>();
    const std::span<const float> other = std::as_const(after[i].array).as<float>();
    EXPECT_TRUE(std::ranges::equal(one, other)) << without[i].name;
  }
}

}  // namespace
}  // namespace stoker
