// What a document does as it is, among the ways that were measured.
#include "advise/written_choice.h"

#include <gtest/gtest.h>

namespace stoker::advise {
namespace {

DeviceInfo device_of_model(const std::string& model, Device device) {
  DeviceInfo info;
  info.device = device;
  info.model = model;
  return info;
}

TriedRun run_on(const std::string& device) {
  TriedRun tried;
  tried.device = device;
  tried.engine = "auto";
  MeasuredTraining training;
  training.card = "train";
  training.engine = "fused";
  training.placement = device == "cpu" ? "host" : "vram";
  training.planned_steps = 1000;
  tried.run.trainings = {training};
  return tried;
}

StepLine line_with(const std::string& engine, const std::string& placement, double seconds) {
  StepLine line;
  line.card = "train";
  line.engine = engine;
  line.placement = placement;
  line.is_as_written = true;
  line.step_seconds = seconds;
  return line;
}

MeasuredSteps steps_on(const std::string& device, double fused, double eager) {
  Work work;
  work.card = "train";
  work.rows = 1000;
  work.batch_size = 10;
  work.epochs = 10;
  MeasuredSteps steps;
  steps.device = device;
  steps.works = {work};
  const char* usual = device == "cpu" ? "host" : "vram";
  steps.lines = {line_with("fused", usual, fused), line_with("eager", usual, eager),
                 line_with("fused", "window", fused), line_with("fused", "pinned", fused)};
  return steps;
}

// A CPU and two GPUs of one kind, of which the first was measured.
Measurements measured_everywhere() {
  Measurements found;
  found.devices = {device_of_model("a CPU", Device::cpu()), device_of_model("a GPU", Device::cuda(0))};
  found.twins = {{"cuda:1", "cuda:0"}};
  found.runs = {run_on("cuda:0"), run_on("cpu")};
  found.steps = {steps_on("cpu", 0.01, 0.02), steps_on("cuda:0", 0.001, 0.002)};
  return found;
}

Prediction as_written(const WrittenChoice& written, const Measurements& found = measured_everywhere()) {
  return way_as_written(found, predictions_of(found), written).value();
}

TEST(WrittenChoice, OfAutoIsTheFirstGpu) {
  EXPECT_EQ(as_written({}).device, "cuda:0");
  EXPECT_EQ(as_written({}).engine, "fused");
  EXPECT_EQ(as_written({}).placement, "vram");
}

TEST(WrittenChoice, OfAutoHeedsWhatWasJustMeasured) {
  Measurements found = measured_everywhere();
  found.steps = {steps_on("cpu", 0.01, 0.001), steps_on("cuda:0", 0.1, 0.2)};
  EXPECT_EQ(as_written({}, found).device, "cpu");
  EXPECT_EQ(as_written({}, found).engine, "eager");
  // An engine that is asked for by name is the only one that counts.
  EXPECT_EQ(as_written({.engine = "fused"}, found).engine, "fused");
  // Those of an ensemble do not look at figures.
  EXPECT_EQ(as_written({.heeds_figures = false}, found).device, "cuda:0");
  EXPECT_EQ(as_written({.heeds_figures = false}, found).engine, "fused");
}

// Where a GPU has no kernels for a model, LibTorch takes it there if that is faster.
TEST(WrittenChoice, OfAutoIsAGpuWithoutKernelsWhereThatIsFaster) {
  const auto of_nodes = [](std::vector<MeasuredSteps> all) {
    for (MeasuredSteps& each : all) each.works[0].nodes = 5;
    return all;
  };
  Measurements found = measured_everywhere();
  found.steps = of_nodes(found.steps);
  EXPECT_EQ(as_written({}, found).device, "cuda:0");
  EXPECT_EQ(as_written({.heeds_figures = false}, found).device, "cpu");
  found.steps = of_nodes({steps_on("cpu", 0.01, 0.02), steps_on("cuda:0", 0.01, 0.02)});
  EXPECT_EQ(as_written({}, found).device, "cpu");
  EXPECT_EQ(as_written({.placement = "vram", .asks_for_gpu_memory = true}, found).device, "cuda:0");
  // Steps that were not measured tell nothing; then the settings do.
  found.steps.clear();
  EXPECT_EQ(as_written({}, found).device, "cuda:0");
  found.lacks_kernels = true;
  EXPECT_EQ(as_written({}, found).device, "cpu");
}

TEST(WrittenChoice, KeepsAGpuOfWhichAnotherOfItsKindWasMeasured) {
  EXPECT_EQ(as_written({.device = "cuda:1"}).device, "cuda:1");
  EXPECT_EQ(as_written({.device = "cuda"}).device, "cuda:0");
  const Measurements found = measured_everywhere();
  EXPECT_FALSE(way_as_written(found, predictions_of(found), {.device = "cuda:7"}));
}

TEST(WrittenChoice, OfAPlacementForGpusIsTheUsualOneOnACpu) {
  EXPECT_EQ(as_written({.device = "cpu", .placement = "vram"}).placement, "host");
  EXPECT_EQ(as_written({.device = "cpu", .placement = "window"}).placement, "window");
  EXPECT_EQ(as_written({.placement = "pinned"}).placement, "pinned");
}

TEST(WrittenChoice, WithoutPreloadingIsAWindow) {
  EXPECT_EQ(as_written({.lays_rows_into_vram = false}).placement, "window");
  EXPECT_EQ(as_written({.device = "cpu", .lays_rows_into_vram = false}).placement, "host");
}

}  // namespace
}  // namespace stoker::advise
