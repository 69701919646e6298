// What `device: auto` makes of figures, and when it asks for more of them. Nothing is measured here: trials
// and the clock are made up.
#include "train/choose/auto_device.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// 100 µs a step on the GPU by arithmetic, so that 100,000 of them are 10 s.
OpenDevice open_with(std::int64_t steps) {
  OpenDevice open;
  open.gpu = Device::cuda(0);
  open.gpu_model = "a GPU";
  open.steps = steps;
  open.on_gpu = {1e-4, 0};
  open.on_cpu = {2e-4, 0};
  return open;
}

StepFigures on_cpu(double step_seconds) {
  return {"cpu", "a CPU", "fused", step_seconds, 0};
}
StepFigures on_gpu(double step_seconds) {
  return {"cuda:0", "a GPU", "fused", step_seconds, 0};
}

// A machine whose trials take as long as they may, or as they are told.
class Machine {
 public:
  std::map<std::string, Trial> trials;
  std::map<std::string, double> seconds_taken;  // else those that were given
  std::vector<std::string> tried;
  double now = 1000;

  Trials to_try() {
    return {[this](Device device, double seconds) {
              tried.push_back(device.name());
              const auto taken = seconds_taken.find(device.name());
              now += taken == seconds_taken.end() ? seconds : taken->second;
              return trials.at(device.name());
            },
            [this] { return now; }};
  }
};

Machine with_steps(double cpu_step, double gpu_step) {
  Machine machine;
  machine.trials["cpu"].figures = on_cpu(cpu_step);
  machine.trials["cuda:0"].figures = on_gpu(gpu_step);
  return machine;
}

TEST(SecondsToMeasure, AreNoneForATrainingOfTenSecondsOrLess) {
  EXPECT_EQ(seconds_to_measure(open_with(1), {}), 0);
  EXPECT_EQ(seconds_to_measure(open_with(99'999), {}), 0);
  EXPECT_GT(seconds_to_measure(open_with(100'100), {}), 0);
}

TEST(SecondsToMeasure, AreAtMostTwoPercentOfTheTraining) {
  for (const std::int64_t steps : {110'000, 200'000, 300'000})
    EXPECT_DOUBLE_EQ(seconds_to_measure(open_with(steps), {}), 0.02 * 1e-4 * static_cast<double>(steps));
  // Of a day's training that would be half an hour.
  EXPECT_LE(seconds_to_measure(open_with(864'000'000), {}), 1);
}

TEST(SecondsToMeasure, GoByFiguresOfTheGpuWhereThereAreSome) {
  const std::vector<StepFigures> fast{on_gpu(1e-6)};
  EXPECT_EQ(seconds_to_measure(open_with(200'000), fast), 0);
  const std::vector<StepFigures> slow{on_gpu(1e-3)};
  EXPECT_GT(seconds_to_measure(open_with(20'000), slow), 0);
  EXPECT_EQ(seconds_to_measure(open_with(20'000), {}), 0);
}

TEST(SecondsToMeasure, AreNoneWhereBothDevicesAreKnown) {
  const std::vector<StepFigures> both{on_cpu(1), on_gpu(1)};
  EXPECT_EQ(seconds_to_measure(open_with(200'000), both), 0);
}

TEST(SecondsToMeasure, AreNoneWhereATimeLimitEndsTheTrainingBefore) {
  OpenDevice open = open_with(10'000'000);
  open.time_limit = 10;
  EXPECT_EQ(seconds_to_measure(open, {}), 0);
  open.time_limit = 20;
  EXPECT_DOUBLE_EQ(seconds_to_measure(open, {}), 0.4);
}

TEST(SecondsToMeasure, AreNoneWhereTheyAreTooFewForSteps) {
  OpenDevice open = open_with(200'000);  // 0.2 s for each device
  open.on_cpu.step_seconds = 0.06;
  EXPECT_EQ(seconds_to_measure(open, {}), 0);
  open.on_cpu.step_seconds = 0.04;
  EXPECT_GT(seconds_to_measure(open, {}), 0);
  open.on_gpu.ready_seconds = 0.3;
  EXPECT_EQ(seconds_to_measure(open, {}), 0);
}

TEST(OpenDevice, IsTheCpuWhereItsStepsAreFasterAndSaysThatThereIsAGpu) {
  Machine machine = with_steps(1e-5, 1e-4);
  const DeviceChoice choice = choose_open_device(open_with(200'000), {}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cpu());
  EXPECT_EQ(choice.told,
            "training on the CPU, although there is a GPU: as measured on this machine, this training takes "
            "2.0 s here and 20.0 s there (measuring took 400 ms)");
  EXPECT_THAT(choice.measured, SizeIs(2));
}

TEST(OpenDevice, IsTheGpuWhereItsStepsAreFasterAndSaysSo) {
  Machine machine = with_steps(1e-3, 1e-4);
  const DeviceChoice choice = choose_open_device(open_with(200'000), {}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_EQ(choice.told,
            "training on a GPU: as measured on this machine, this training takes 20.0 s there and 3 min 20 s "
            "on the CPU (measuring took 400 ms)");
}

// What is faster by less than a tenth may be so by chance.
TEST(OpenDevice, StaysTheGpuWhereTheCpuIsHardlyFaster) {
  Machine machine = with_steps(0.95e-4, 1e-4);
  EXPECT_EQ(choose_open_device(open_with(200'000), {}, machine.to_try()).device, Device::cuda(0));
}

TEST(OpenDevice, IsChosenByRecordedFiguresWithoutMeasuring) {
  Machine machine;
  DeviceChoice choice =
      choose_open_device(open_with(200'000), {on_cpu(1e-5), on_gpu(1e-4)}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cpu());
  EXPECT_THAT(choice.told, AllOf(StartsWith("training on the CPU, although there is a GPU"),
                                 EndsWith("2.0 s here and 20.0 s there")));
  choice = choose_open_device(open_with(200'000), {on_cpu(1e-3), on_gpu(1e-4)}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_EQ(choice.told, "");
  EXPECT_THAT(choice.measured, IsEmpty());
  EXPECT_THAT(machine.tried, IsEmpty());
}

TEST(OpenDevice, MeasuresOnlyTheDeviceThatIsNotKnown) {
  Machine machine = with_steps(1e-5, 7);
  const DeviceChoice choice = choose_open_device(open_with(200'000), {on_gpu(1e-4)}, machine.to_try());
  EXPECT_THAT(machine.tried, ElementsAre("cpu"));
  EXPECT_EQ(choice.device, Device::cpu());
  ASSERT_THAT(choice.measured, SizeIs(1));
  EXPECT_EQ(choice.measured.front().device, "cpu");
}

TEST(OpenDevice, OfAShortTrainingIsTheGpuAsEver) {
  Machine machine = with_steps(1e-9, 1);
  const DeviceChoice choice = choose_open_device(open_with(1000), {}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_EQ(choice.told, "");
  EXPECT_THAT(machine.tried, IsEmpty());
}

// There would be nothing to hold the CPU's steps against without opening LibTorch.
TEST(OpenDevice, IsTheGpuAsEverWhereThatTakesLibTorch) {
  Machine machine = with_steps(1e-9, 1);
  machine.trials["cuda:0"] = {std::nullopt, false};
  const DeviceChoice choice = choose_open_device(open_with(200'000), {}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_EQ(choice.told, "");
  EXPECT_THAT(machine.tried, ElementsAre("cuda:0"));
}

TEST(OpenDevice, KeepsWhatWasMeasuredWhereTheCpuHasNoEngine) {
  Machine machine = with_steps(1e-9, 1);
  machine.trials["cpu"] = {std::nullopt, false};
  const DeviceChoice choice = choose_open_device(open_with(200'000), {}, machine.to_try());
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_EQ(choice.told, "");
  EXPECT_THAT(choice.measured, SizeIs(1));
}

// As where a kernel had to be compiled first.
TEST(OpenDevice, IsNotMeasuredFurtherWhenTheTimeIsOver) {
  Machine machine = with_steps(1e-9, 1e-4);
  machine.seconds_taken["cuda:0"] = 5;
  const DeviceChoice choice = choose_open_device(open_with(200'000), {}, machine.to_try());
  EXPECT_THAT(machine.tried, ElementsAre("cuda:0"));
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_EQ(choice.told,
            "training on a GPU: whether the CPU is faster could not be measured in time (measuring took 5.0 "
            "s)");
  EXPECT_THAT(choice.measured, SizeIs(1));
}

}  // namespace
}  // namespace stoker
