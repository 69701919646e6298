#include "device/gpu_meter.h"

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace stoker {
namespace {

std::vector<std::unique_ptr<GpuMeter>> planted_meters() {
  setenv("STOKER_NVML", STOKER_BINARY_DIR "/libplanted_nvml.so", 1);
  std::string none_because;
  return gpu_meters(none_because);
}

TEST(GpuMeter, TellsWhatTheDriverSaysAndZeroWhereItDoesNot) {
  const auto meters = planted_meters();
  ASSERT_EQ(meters.size(), 1U);
  EXPECT_EQ(meters[0]->name(), "Planted GPU");
  const GpuReading reading = meters[0]->read();
  EXPECT_EQ(reading.busy, 0.5);
  EXPECT_EQ(reading.watts, 250);
  EXPECT_EQ(reading.megahertz, 1755);
  EXPECT_EQ(reading.celsius, 0);
  EXPECT_EQ(reading.used_bytes, 2ULL << 30);
  EXPECT_EQ(gpu_meter_of(Device::cpu()), nullptr);
  EXPECT_EQ(gpu_meter_of(Device::cuda(99)), nullptr);
}

TEST(GpuMeter, KnowsWhereItsGpuStands) {
  const auto meters = planted_meters();
  EXPECT_TRUE(meters[0]->is_at("0000:0F:00.0"));
  EXPECT_FALSE(meters[0]->is_at("0000:10:00.0"));
  EXPECT_FALSE(meters[0]->is_at(""));
}

TEST(GpuMeter, IsReadAsLongAsSomebodyWatches) {
  GpuWatch watch(std::move(planted_meters().front()));
  while (watch.use().readings < 3) std::this_thread::yield();
  const GpuUse use = watch.use();
  EXPECT_EQ(use.busy, 0.5);
  EXPECT_EQ(use.watts, 250);
  EXPECT_EQ(use.most_bytes, 2ULL << 30);
  EXPECT_TRUE(watch.latest());
  EXPECT_FALSE(GpuWatch(nullptr).latest());
}

TEST(GpuMeter, AddsUpToMeans) {
  GpuUse use;
  use.add({0.5, 100, 1000, 40, 5, 10});
  use.add({1, 300, 2000, 50, 3, 10});
  EXPECT_EQ(use.busy, 0.75);
  EXPECT_EQ(use.watts, 200);
  EXPECT_EQ(use.megahertz, 1500);
  EXPECT_EQ(use.most_bytes, 5U);
}

}  // namespace
}  // namespace stoker
