#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/placement/dataset.h"

namespace stoker {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Dataset numbers(std::int64_t rows, std::int64_t columns) {
  Dataset dataset;
  dataset.arrays.push_back({"features", Role::features, Array(DType::float32, {rows, columns})});
  for (std::size_t i = 0; float& value : dataset.arrays[0].array.as<float>())
    value = static_cast<float>(i++ % 1000);
  return dataset;
}

std::optional<DeviceInfo> first_gpu() {
  const DeviceList list = list_devices();
  if (list.devices.size() < 2) return std::nullopt;
  return list.devices[1];
}

TEST(Placement, StaysInTheHostsMemoryOnTheCpu) {
  const Dataset dataset = numbers(40, 3);
  const Placement placement = place(dataset, Device::cpu(), no_notes());
  EXPECT_EQ(placement.memory, Memory::host);
  EXPECT_EQ(placement.dataset.features().data(), dataset.features().data()) << "nothing is copied";
  EXPECT_EQ(dataset.rows(), 40);
  EXPECT_EQ(dataset.bytes(), 40U * 3 * sizeof(float));
}

TEST(Placement, GoesIntoTheMemoryOfAGpuWhereItFits) {
  const auto gpu = first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  const Dataset dataset = numbers(1000, 13);
  const Placement placement = place(dataset, gpu->device, no_notes());
  EXPECT_EQ(placement.memory, Memory::device);
  const Array back = placement.dataset.features().to_host();
  const auto expected = dataset.features().as<float>();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), back.as<float>().begin()));
}

TEST(Placement, StaysPinnedWhereAGpuHasNoRoomAndSaysSo) {
  const auto gpu = first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  constexpr std::int64_t left = 256 << 20;
  const Array filler(DType::uint8, {static_cast<std::int64_t>(gpu->free_bytes) - left}, Memory::device,
                     gpu->device);
  HeardNotes notes;
  const Dataset dataset = numbers(2 * left / 4 / 16, 16);
  const Placement placement = place(dataset, gpu->device, notes.listener());
  EXPECT_EQ(placement.memory, Memory::pinned);
  EXPECT_THAT(notes.warnings, Contains(HasSubstr("does not fit into the memory of cuda:0")));
  EXPECT_EQ(placement.dataset.features().as<float>()[999], 999);
}

}  // namespace
}  // namespace stoker
