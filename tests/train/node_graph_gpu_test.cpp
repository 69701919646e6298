#include <cmath>
#include <optional>

#include "advise/own_cache.h"
#include "base/files/files.h"
#include "graphs_of_cubes.h"
#include "train/choose/recorded_figures.h"
#include "train/fit/fit_network.h"
#include "train/loop/engines.h"
#include "train/rows/place_data.h"

// Graphs of nodes over cubes, on a GPU.
namespace stoker::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

const std::string trained_detector = replaced(detector, "[pca, logit]", "[pca, rx, logit]");

Dataset on_gpu(const Dataset& data, Device gpu) {
  Dataset copy = data;
  for (DatasetArray& each : copy.arrays) {
    each.array = each.array.to(Memory::device, gpu);
    each.starts = each.starts.to(Memory::device, gpu);
  }
  return copy;
}

std::optional<Device> any_gpu() {
  for (const DeviceInfo& each : list_devices().devices)
    if (each.device.is_cuda()) return each.device;
  return std::nullopt;
}

void expect_near_model(const FitResult& found, const FitResult& expected) {
  for (const NamedArray& each : expected.model.parameters) {
    const Array other = find_array(found.model.parameters, each.name);
    for (std::size_t i = 0; i < each.array.as<float>().size(); ++i)
      EXPECT_NEAR(other.as<float>()[i], each.array.as<float>()[i],
                  1e-3 * (1 + std::abs(other.as<float>()[i])))
          << each.name << ' ' << i;
  }
}

// Statistics, steps, validation and the metrics of every epoch. One of four is left out of the training, so
// that not all of its cubes are neighbours.
TEST(NodeGraphTraining, LearnsOnAGpuWhereADocumentAsksForIt) {
  if (!any_gpu()) GTEST_SKIP() << "no GPU here";
  const Table table = some_cubes(24);
  ModelSpec spec = spec_of_graph(detector);
  spec.training.validation_ratio = 0.25;
  spec.training.epochs = 4;
  std::vector<FitResult> results;
  for (const char* device : {"cpu", "cuda"}) {
    FitRequest request = request_for_cubes(table, spec);
    request.config.device = device;
    RecordingListener listener;
    results.push_back(fit(request, listener, StopSignal{}));
  }
  EXPECT_EQ(results[1].device, "cuda:0");
  EXPECT_EQ(results[1].placement, "vram");
  ASSERT_EQ(results[0].epochs.size(), results[1].epochs.size());
  for (std::size_t i = 0; i < results[0].epochs.size(); ++i) {
    const EpochRecord &here = results[0].epochs[i].record, &there = results[1].epochs[i].record;
    EXPECT_NEAR(there.train_loss, here.train_loss, 1e-4);
    EXPECT_NEAR(there.validation_loss.value(), here.validation_loss.value(), 1e-4);
    ASSERT_EQ(there.values.size(), here.values.size());
    for (std::size_t k = 0; k < here.values.size(); ++k) {
      EXPECT_EQ(there.values[k].name, here.values[k].name);
      EXPECT_NEAR(there.values[k].value, here.values[k].value, 0.01) << here.values[k].name;
    }
  }
  expect_near_model(results[1], results[0]);
}

// Statistics of cubes that do not lie on the GPU are the CPU's.
TEST(NodeGraphTraining, LearnsTheSameOnAGpuWhereverTheCubesLie) {
  if (!any_gpu()) GTEST_SKIP() << "no GPU here";
  const Table table = some_cubes(24);
  ModelSpec spec = spec_of_graph(detector);
  spec.training.validation_ratio = 0.25;
  std::vector<FitResult> results;
  for (const PlacementChoice placement :
       {PlacementChoice::vram, PlacementChoice::window, PlacementChoice::host, PlacementChoice::pinned}) {
    FitRequest request = request_for_cubes(table, spec);
    request.config.device = "cuda";
    request.config.placement.placement = placement;
    RecordingListener listener;
    results.push_back(fit(request, listener, StopSignal{}));
    EXPECT_EQ(results.back().placement, config::name_of(placement));
    expect_near_model(results.back(), results.front());
  }
}

TEST(NodeGraphTraining, TellsByItsSettingsWhatNoGpuHasKernelsFor) {
  const auto why = [](const std::string& graph) {
    const ModelSpec spec = spec_of_graph(graph);
    return no_gpu_because(family_of(spec), spec.settings);
  };
  EXPECT_EQ(why(detector), "");
  EXPECT_THAT(why(trained_detector), HasSubstr("chains of affine nodes"));
  EXPECT_THAT(why(std::string(detector) + "bad_pixels: leave_out\n"), HasSubstr("bad pixels"));
}

// Without rows to validate with.
TEST(NodeGraphTraining, TrainsADetectorOnTheCpu) {
  const Table table = some_cubes(8);
  FitRequest request = request_for_cubes(table, spec_of_graph(trained_detector));
  request.config.device = "cpu";
  RecordingListener listener;
  EXPECT_EQ(fit(request, listener, StopSignal{}).epochs.size(), 4U);
}

TEST(NodeGraphTraining, TakesAGpuByItselfForWhatThatHasKernelsFor) {
  if (!any_gpu()) GTEST_SKIP() << "no GPU here";
  const TemporaryFolder folder;
  const OwnCache cache(folder.path());
  const Table table = some_cubes(8);
  FitRequest chain = request_for_cubes(table, spec_of_graph(detector));
  chain.config.device = "auto";
  RecordingListener listener;
  EXPECT_EQ(fit(chain, listener, StopSignal{}).device, "cuda:0");
  FitRequest other = request_for_cubes(table, spec_of_graph(trained_detector));
  other.config.device = "auto";
  EXPECT_EQ(fit(other, listener, StopSignal{}).device, "cpu");
  EXPECT_THAT(listener.infos,
              Contains(HasSubstr("although cuda:0 is there: the kernels for GPUs are for chains")));
  other.config.device = "cuda";
  const FitResult by_libtorch = fit(other, listener, StopSignal{});
  EXPECT_EQ(by_libtorch.device, "cuda:0");
  EXPECT_EQ(by_libtorch.engine, "eager");
}

// Behind `stoker advise`, which leaves such figures.
TEST(NodeGraphTraining, TakesAGpuByItselfWhereLibTorchIsOnRecordAsFaster) {
  if (!any_gpu()) GTEST_SKIP() << "no GPU here";
  const TemporaryFolder folder;
  const OwnCache cache(folder.path());
  const Table table = some_cubes(8);
  FitRequest request = request_for_cubes(table, spec_of_graph(trained_detector));
  request.config.device = "auto";
  const PreparedData data = prepare(table, nullptr, request.preparation,
                                    form_of(family_of(request.spec), request.spec.settings), no_notes());
  record_figures(figures_key(request_without_rows(request.spec, data, Device::cuda(0), request.config)),
                 std::vector<StepFigures>{{"cpu", cpu_model(), "fused", 1, 0},
                                          {"cuda:0", list_devices().devices.at(1).model, "eager", 1e-3, 0}});
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.device, "cuda:0");
  EXPECT_EQ(result.engine, "eager");
  EXPECT_THAT(listener.infos, Contains(HasSubstr("as measured on this machine")));
}

// When they are asked which device to take, nothing is learned yet that engines with kernels look for.
TEST(NodeGraphTraining, IsShownToTheEnginesOfLibTorchBeforeItHasLearnedAnything) {
  const Table table = some_cubes(4);
  const FitRequest request = request_for_cubes(table, spec_of_graph(trained_detector));
  const PreparedData data = prepare(table, nullptr, request.preparation,
                                    form_of(family_of(request.spec), request.spec.settings), no_notes());
  EngineRequest wanted = request_without_rows(request.spec, data, Device::cuda(0), request.config);
  wanted.training = data.training;
  wanted.is_placed = false;
  std::vector<std::string_view> names;
  for (const EngineMaker& each : libtorch_engines()) names.push_back(each.name);
  EXPECT_THAT(names, testing::ElementsAre("graph", "eager"));
  const NoWindow asking = asking_engines(EngineChoice::automatic, std::nullopt, libtorch_engines());
  EXPECT_NO_THROW(asking(wanted));
}

TEST(NodeGraphTraining, LearnsOnAGpuWhatItLearnsOnTheCpu) {
  const std::optional<Device> gpu = any_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  const Table table = some_cubes(8), held_back = some_cubes(3);
  ModelSpec spec = spec_of_graph(detector);
  spec.training.batch_size = 3;
  const FitRequest wanted = request_for_cubes(table, spec);
  const PreparedData data =
      prepare(table, &held_back, wanted.preparation, form_of(family_of(spec), spec.settings), no_notes());
  const EngineRequest request = engine_request(spec, data, Device::cpu(), wanted.config);
  EngineRequest there = request;
  there.device = *gpu;
  there.training = on_gpu(request.training, *gpu);
  there.validation = on_gpu(request.validation, *gpu);
  const auto engine_for = [](const EngineRequest& each) {
    return choose_engine(engines(), EngineChoice::fused, std::nullopt, each).make(each);
  };
  const auto plain = engine_for(request), engine = engine_for(there);
  const Chunk chunk{0, {0.01F, 0.02F, 0.01F, 0.01F, 0.02F, 0.01F}};
  const ChunkResult expected = plain->run(chunk), found = engine->run(chunk);
  ASSERT_EQ(found.finished_epochs.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(found.finished_epochs[i].train_loss, expected.finished_epochs[i].train_loss, 1e-5);
    EXPECT_NEAR(found.finished_epochs[i].validation_loss.value(),
                expected.finished_epochs[i].validation_loss.value(), 1e-5);
  }
  for (const NamedArray& each : plain->parameters()) {
    const Array other = find_array(engine->parameters(), each.name);
    for (std::size_t i = 0; i < each.array.as<float>().size(); ++i)
      EXPECT_NEAR(other.as<float>()[i], each.array.as<float>()[i],
                  1e-4 * (1 + std::abs(other.as<float>()[i])))
          << each.name << ' ' << i;
  }
}

}  // namespace
}  // namespace stoker::test
