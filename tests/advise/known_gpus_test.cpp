// Estimates of GPUs that are not here, held against what docs/performance.md has of an H200 that was there.
#include "advise/known_gpus.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace stoker::advise {
namespace {

const KnownGpu& named(const std::string& name) {
  return *std::ranges::find_if(known_gpus(), [&](const KnownGpu& each) { return each.name == name; });
}

// 13 → 128 → 64 → 32 → 1 over 40,000 rows.
Work w1(std::int64_t batch) {
  Work work;
  work.card = "train";
  work.rows = 40'000;
  work.parameters = 12'161;
  work.multiply_adds = 13 * 128 + 128 * 64 + 64 * 32 + 32;
  work.batch_size = batch;
  work.epochs = 50;
  work.training_bytes = 40'000 * 14 * 4;
  work.kernels_from = 80;
  return work;
}

void expect_within_twice(double estimated, double measured) {
  EXPECT_LE(estimated, 2 * measured);
  EXPECT_GE(estimated, measured / 2);
}

TEST(KnownGpus, EstimatesStepsThatWereMeasuredOnAnH200) {
  const KnownGpu& h200 = named("H200");
  expect_within_twice(estimated_step_seconds(w1(32), h200), 1.92e-6);
  expect_within_twice(estimated_step_seconds(w1(512), h200), 7.9e-6);
  expect_within_twice(estimated_step_seconds(w1(4096), h200), 15.1e-6);
  Work lstm = w1(256);  // w2: 17 GFLOP a step
  lstm.multiply_adds = static_cast<std::int64_t>(17e9 / 2 / 3 / 256);
  lstm.parameters = 625'726;
  expect_within_twice(estimated_step_seconds(lstm, h200), 255e-6);
  lstm.kernels_from = 0;  // as the engine graph has them
  expect_within_twice(estimated_step_seconds(lstm, h200), 1140e-6);
}

TEST(KnownGpus, AreNoFasterThanTheirMemoryAndTheirProducts) {
  Work wide = w1(32);
  wide.parameters = 500'000'000;
  const double bytes = 7 * 4 * 500e6;
  EXPECT_GE(estimated_step_seconds(wide, named("GTX 1650")), bytes / 128e9);
  Work heavy = w1(4096);
  heavy.multiply_adds = 100'000'000;
  EXPECT_GE(estimated_step_seconds(heavy, named("T4")), 3 * 4096 * 1e8 / 32.5e12);
  EXPECT_GT(estimated_step_seconds(heavy, named("T4")), estimated_step_seconds(heavy, named("H100")));
}

// Kernels of sequences are for 9.0 and later, and stand in a frame of LibTorch's even there.
TEST(KnownGpus, HaveKernelsOfOurOwnFromACapabilityOn) {
  Work sequence = w1(256);
  sequence.kernels_from = 90;
  sequence.needs_libtorch = true;
  Work without = sequence;
  without.kernels_from = 0;
  EXPECT_EQ(estimated_step_seconds(sequence, named("A100")), estimated_step_seconds(without, named("A100")));
  EXPECT_LT(estimated_step_seconds(sequence, named("H100")), estimated_step_seconds(without, named("H100")));
  const auto seconds_on_h100 = [](const Work& work) {
    const std::vector<GpuEstimate> all = estimate_gpus(std::vector{work}, 10, 5);
    return std::ranges::find_if(all, [](const GpuEstimate& each) { return each.name == "H100"; })->seconds;
  };
  Work alone = sequence;
  alone.needs_libtorch = false;
  EXPECT_GT(seconds_on_h100(sequence), seconds_on_h100(alone));
}

TEST(KnownGpus, PayOnlyWhereTheStepsTakeLongerThanGettingReady) {
  const std::vector<Work> works{w1(32)};
  EXPECT_FALSE(needed_gpu(works, 0.2).is_possible);
  for (const GpuEstimate& each : estimate_gpus(works, 1.2, 0.2)) EXPECT_FALSE(each.pays) << each.name;
  const NeededGpu needed = needed_gpu(works, 60);
  EXPECT_TRUE(needed.is_possible);
  // 60 s less half a second, for 62,500 steps.
  EXPECT_NEAR(needed.step_seconds, 59.6 / 62'500, 0.1 / 62'500);
  EXPECT_TRUE(estimate_gpus(works, 61, 60).back().pays);
}

// LibTorch trains those without kernels, operation by operation.
TEST(KnownGpus, TakeAGraphByItsNodesItsBytesAndItsProducts) {
  Work graph = w1(4);
  graph.kernels_from = 0;
  graph.multiply_adds = 1000;
  graph.nodes = 8;
  graph.written_bytes = 1000;
  const double few = estimated_step_seconds(graph, named("T4"));
  EXPECT_EQ(few, estimated_step_seconds(graph, named("H200"))) << "the host begins as many operations";
  graph.nodes = 16;
  EXPECT_DOUBLE_EQ(estimated_step_seconds(graph, named("T4")), 2 * few);
  graph.written_bytes = std::uint64_t{1} << 30;
  EXPECT_GE(estimated_step_seconds(graph, named("T4")), 4 * 1073741824.0 / 320e9);
  EXPECT_GT(demand_of(graph).bytes, 4 * 1073741824.0);
  graph.written_bytes = 1000;
  graph.multiply_adds = 1'000'000'000'000;
  EXPECT_GE(estimated_step_seconds(graph, named("T4")), 3 * 4 * 1e12 / 4.1e12) << "in 32 bits";
}

TEST(KnownGpus, HaveRoomOrNot) {
  Work large = w1(32);
  large.training_bytes = std::uint64_t{10} << 30;
  for (const GpuEstimate& each : estimate_gpus(std::vector<Work>{large}, 100, 90))
    EXPECT_EQ(each.has_room, named(each.name).memory_gib > 10) << each.name;
  Work graph = w1(4);
  graph.kernels_from = 0;
  graph.nodes = 8;
  graph.written_bytes = std::uint64_t{1} << 30;
  for (const GpuEstimate& each : estimate_gpus(std::vector<Work>{graph}, 100, 90))
    EXPECT_EQ(each.has_room, named(each.name).memory_gib > 16) << each.name;
}

}  // namespace
}  // namespace stoker::advise
