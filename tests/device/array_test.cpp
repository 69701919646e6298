#include "device/array.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace stoker {
namespace {

const std::vector<float> six{1, 2, 3, 4, 5, 6};

TEST(Array, HoldsWhatItWasGiven) {
  const Array array = Array::from<float>(six, {2, 3});
  EXPECT_EQ(array.size(), 6);
  EXPECT_EQ(array.bytes(), 24U);
  EXPECT_EQ(array.dimension(1), 3);
  EXPECT_EQ(array.as<float>()[5], 6);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0U);
}

TEST(Array, CopiesShareAndClonesDoNot) {
  Array array = Array::from<float>(six, {6});
  const Array shared = array;
  const Array clone = array.clone();
  array.as<float>()[0] = 9;
  EXPECT_EQ(shared.as<float>()[0], 9);
  EXPECT_EQ(clone.as<float>()[0], 1);
}

TEST(Array, RefusesAWrongTypeSizeOrShape) {
  Array array = Array::from<float>(six, {6});
  EXPECT_THROW(array.as<double>(), Error);
  EXPECT_THROW(array.copy_from_host(six.data(), 8), Error);
  EXPECT_THROW(Array(DType::float32, {-1}), Error);
  EXPECT_THROW(Array(DType::float64, {std::numeric_limits<std::int64_t>::max(), 4}), Error);
}

TEST(Array, ReportsMemoryThatIsNotThere) {
  EXPECT_THROW(Array(DType::uint8, {std::int64_t{1} << 50}), OutOfMemory);
}

TEST(Array, TravelsToTheDeviceAndBack) {
  if (list_devices().devices.size() < 2) GTEST_SKIP() << "no GPU here";
  const Array host = Array::from<float>(six, {2, 3});
  for (const Memory memory : {Memory::device, Memory::pinned}) {
    const Array there = host.to(memory, Device::cuda(0));
    const Array back = there.clone().to_host();
    EXPECT_TRUE(std::equal(six.begin(), six.end(), back.as<float>().begin()));
  }
}

}  // namespace
}  // namespace stoker
