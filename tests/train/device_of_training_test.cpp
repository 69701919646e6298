// Which trainings may measure where to run, and what becomes of it. The GPU is made up where there is none.
#include "train/choose/device_of_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/own_cache.h"
#include "base/files/files.h"
#include "listeners.h"
#include "tables.h"
#include "train/choose/choose_batch.h"
#include "train/fit/fit_network.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeviceOfTraining : public testing::Test {
 protected:
  DeviceOfTraining() {
    request.config.device = "auto";
    request.spec.training.epochs = 1'000'000'000;  // more than 10 s on anything
    gpu.device = Device::cuda(0);
    gpu.model = "a GPU";
    gpu.free_bytes = std::uint64_t{8} << 30;
  }

  // Both devices as they are told; the CPU's steps take a tenth of the GPU's.
  Trials trials() {
    return {[this](Device device, double) {
              tried.push_back(device.name());
              const bool is_gpu = device.is_cuda();
              return Trial{StepFigures{device.name(), is_gpu ? gpu.model : cpu_model(), "fused",
                                       is_gpu ? 1e-3 : 1e-4, 0}};
            },
            [] { return 0.0; }};
  }
  Device chosen() {
    tried.clear();
    said.clear();
    return device_of_training(request, data, gpu, trials(),
                              [this](Severity, const std::string& message) { said += message; });
  }

  std::vector<std::string> tried;
  std::string said;

 private:
  TemporaryFolder folder_;
  test::OwnCache cache_{folder_.path()};
  Table table_ = test::sample(SampleName::friedman, 500);

 protected:
  FitRequest request = test::request_for(table_, test::small_network());
  PreparedData data = prepare(table_, nullptr, test::predicting_last(table_),
                              form_of(family_of(request.spec), request.spec.settings), no_notes());
  DeviceInfo gpu;
};

TEST_F(DeviceOfTraining, IsMeasuredOnceAndThenOnRecord) {
  EXPECT_EQ(chosen(), Device::cpu());
  EXPECT_THAT(tried, ElementsAre("cuda:0", "cpu"));
  EXPECT_THAT(said, HasSubstr("training on the CPU, although there is a GPU"));
  const std::string key =
      figures_key(request_without_rows(request.spec, data, Device::cuda(0), request.config));
  EXPECT_EQ(recorded_figures(key, false).at(0).step_seconds, 1e-4);
  // Figures of a GPU that is not here are not heeded; those of the CPU are.
  chosen();
  EXPECT_THAT(tried, ElementsAre("cuda:0"));
}

TEST_F(DeviceOfTraining, IsNotMeasuredOfAShortOne) {
  request.spec.training.epochs = 1;
  EXPECT_EQ(chosen(), Device::cuda(0));
  EXPECT_THAT(tried, IsEmpty());
  EXPECT_EQ(said, "");
}

TEST_F(DeviceOfTraining, IsNotMeasuredWhereAPersonHasChosenOrItGoesOn) {
  ASSERT_TRUE(may_measure_devices(request, data, gpu));
  const std::vector<std::function<void(FitRequest&)>> changes{
      [](FitRequest& each) { each.config.device = "cuda"; },
      [](FitRequest& each) { each.config.device = "cpu"; },
      [](FitRequest& each) { each.config.engine = EngineChoice::fused; },
      [](FitRequest& each) { each.config.placement.placement = PlacementChoice::window; },
      [](FitRequest& each) { each.config.placement.preload_to_gpu = false; },
      [](FitRequest& each) { each.config.placement.gpu_memory_fraction = 0.2; },
      [](FitRequest& each) { each.config.deterministic = true; },
      [](FitRequest& each) { each.spec.training.batch_size = automatic_batch; },
      [](FitRequest& each) { each.resume = true; },
      [](FitRequest& each) { each.heeds_figures = false; },
  };
  const FitRequest open = request;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    FitRequest changed = open;
    changes[i](changed);
    EXPECT_FALSE(may_measure_devices(changed, data, gpu)) << "change " << i;
  }
  request.config.engine = EngineChoice::fused;
  EXPECT_EQ(chosen(), Device::cuda(0));
  EXPECT_THAT(tried, IsEmpty());
}

TEST_F(DeviceOfTraining, IsNotMeasuredWhereTheGpuHasLittleRoomForTheRows) {
  gpu.free_bytes = data.training.bytes();
  EXPECT_FALSE(may_measure_devices(request, data, gpu));
}

TEST_F(DeviceOfTraining, IsTheCpuWithoutAWordWhereThereIsNoGpu) {
  const Notes notes = [](Severity, const std::string& message) { ADD_FAILURE() << message; };
  EXPECT_EQ(device_of_training(request, data, Device::cpu(), notes), Device::cpu());
}

// Figures of a GPU that is not here are not heeded.
TEST_F(DeviceOfTraining, WithoutKernelsIsTheCpuAndWhyIsSaid) {
  record_figures(
      figures_key(request_without_rows(request.spec, data, Device::cuda(0), request.config)),
      std::vector<StepFigures>{{"cpu", cpu_model(), "fused", 1, 0}, {"cuda:0", "a GPU", "eager", 1e-3, 0}});
  const Notes notes = [this](Severity, const std::string& message) { said += message; };
  EXPECT_EQ(device_without_kernels(request, data, Device::cuda(0), "it has no kernels", notes),
            Device::cpu());
  EXPECT_THAT(said, HasSubstr("on the CPU although cuda:0 is there: it has no kernels"));
  said.clear();
  EXPECT_EQ(device_without_kernels(request, data, Device::cpu(), "it has no kernels", notes), Device::cpu());
  EXPECT_EQ(said, "");
}

// The GPU and what LibTorch says are made up.
class WithoutKernels : public DeviceOfTraining {
 protected:
  DeviceChoice chosen_by(std::span<const StepFigures> figures) { return chosen_by(figures, request); }
  DeviceChoice chosen_by(std::span<const StepFigures> figures, const FitRequest& asking) {
    const Refusal refusal = [this](const EngineRequest&) {
      ++asked;
      return refused;
    };
    return device_without_kernels(asking, data, gpu, figures, refusal, "it has no kernels");
  }

  std::vector<StepFigures> faster{{"cpu", "a CPU", "fused", 1, 0}, {"cuda:0", "a GPU", "eager", 1e-3, 0}};
  std::vector<StepFigures> slower{{"cpu", "a CPU", "fused", 1, 0}, {"cuda:0", "a GPU", "eager", 2, 0}};
  std::string refused;
  int asked = 0;
};

TEST_F(WithoutKernels, IsTheGpuThatIsOnRecordAsFaster) {
  const DeviceChoice choice = chosen_by(faster);
  EXPECT_EQ(choice.device, Device::cuda(0));
  EXPECT_THAT(choice.told, HasSubstr("training on a GPU: as measured on this machine"));
}

TEST_F(WithoutKernels, IsTheCpuWhereThatIsFasterOrNothingIsKnown) {
  EXPECT_THAT(chosen_by(slower).told, HasSubstr("it has no kernels; with LibTorch, as measured"));
  EXPECT_EQ(chosen_by(slower).device, Device::cpu());
  EXPECT_THAT(chosen_by({}).told, HasSubstr("`stoker advise` measures"));
  EXPECT_EQ(chosen_by({}).device, Device::cpu());
  EXPECT_EQ(asked, 0) << "LibTorch would be opened";
}

TEST_F(WithoutKernels, IsTheCpuWhereNoEngineTakesTheRequest) {
  refused = "engine eager: it needs LibTorch";
  EXPECT_EQ(chosen_by(faster).device, Device::cpu());
  EXPECT_THAT(chosen_by(faster).told, HasSubstr("although cuda:0 is there: engine eager: it needs LibTorch"));
}

// Figures are of rows that lie as usual, of a batch that is given, and of a training that begins.
TEST_F(WithoutKernels, IsTheCpuWhereFiguresTellNothingOfTheRequest) {
  const std::vector<std::function<void(FitRequest&)>> changes{
      [](FitRequest& each) { each.config.engine = EngineChoice::fused; },
      [](FitRequest& each) { each.config.placement.placement = PlacementChoice::window; },
      [](FitRequest& each) { each.config.placement.placement = PlacementChoice::host; },
      [](FitRequest& each) { each.config.placement.preload_to_gpu = false; },
      [](FitRequest& each) { each.config.placement.gpu_memory_fraction = 0.2; },
      [](FitRequest& each) { each.spec.training.batch_size = automatic_batch; },
      [](FitRequest& each) { each.resume = true; },
      [](FitRequest& each) { each.heeds_figures = false; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    FitRequest changed = request;
    changes[i](changed);
    EXPECT_EQ(chosen_by(faster, changed).device, Device::cpu()) << "change " << i;
    EXPECT_NE(chosen_by(faster, changed).told, "") << "change " << i;
    EXPECT_THAT(chosen_by({}, changed).told, testing::Not(HasSubstr("stoker advise"))) << "change " << i;
  }
  gpu.free_bytes = data.training.bytes();
  EXPECT_EQ(chosen_by(faster).device, Device::cpu());
}

TEST_F(WithoutKernels, IsTheGpuWhereItsMemoryIsAskedFor) {
  request.config.placement.placement = PlacementChoice::vram;
  EXPECT_EQ(chosen_by({}).device, Device::cuda(0));
}

// On a machine with a GPU alone.
TEST_F(DeviceOfTraining, WithoutKernelsIsARealGpuThatIsOnRecordAsFaster) {
  if (!test::has_gpu()) GTEST_SKIP() << "there is no GPU";
  const std::string key =
      figures_key(request_without_rows(request.spec, data, Device::cuda(0), request.config));
  const auto on_record = [&](double gpu_step) {
    record_figures(
        key, std::vector<StepFigures>{{"cpu", cpu_model(), "fused", 1, 0},
                                      {"cuda:0", list_devices().devices.at(1).model, "eager", gpu_step, 0}});
  };
  const Notes notes = [this](Severity, const std::string& message) { said += message; };
  const auto taken = [&] { return device_without_kernels(request, data, Device::cuda(0), "why", notes); };
  on_record(1e-3);
  EXPECT_EQ(taken(), Device::cuda(0));
  EXPECT_THAT(said, HasSubstr("as measured on this machine"));
  request.config.engine = EngineChoice::fused;
  EXPECT_EQ(taken(), Device::cpu()) << "of which nothing is known there";
  request.config.engine = EngineChoice::automatic;
  on_record(2);
  EXPECT_EQ(taken(), Device::cpu());
}

// On a machine with a GPU alone.
TEST_F(DeviceOfTraining, IsMeasuredOnARealGpu) {
  if (!test::has_gpu()) GTEST_SKIP() << "there is no GPU";
  FitRequest short_one = request;
  short_one.config.device = "cuda";
  short_one.spec.training.epochs = 1;
  test::RecordingListener listener;
  fit(short_one, listener, StopSignal{});  // a kernel that has to be compiled is there then
  const Notes notes = [this](Severity, const std::string& message) { said += message; };
  const Device first = device_of_training(request, data, Device::cuda(0), notes);
  EXPECT_THAT(said, HasSubstr("as measured on this machine"));
  EXPECT_THAT(said, HasSubstr("measuring took"));
  said.clear();
  EXPECT_EQ(device_of_training(request, data, Device::cuda(0), notes), first);
  EXPECT_EQ(said.find("measuring took"), std::string::npos);
}

}  // namespace
}  // namespace stoker
