#include "device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace stoker {
namespace {

TEST(Devices, ListTheCpuFirst) {
  const DeviceList list = list_devices();
  ASSERT_FALSE(list.devices.empty());
  EXPECT_EQ(list.devices[0].device, Device::cpu());
  EXPECT_GT(list.devices[0].compute_units, 0);
  EXPECT_GT(list.devices[0].total_bytes, list.devices[0].free_bytes);
  EXPECT_EQ(list.devices.size() == 1, !list.no_cuda_because.empty());
}

TEST(ChooseDevice, FallsBackToTheCpuAndSaysSo) {
  std::string said;
  const Device device = choose_device("auto", [&](Severity, const std::string& message) { said = message; });
  EXPECT_EQ(device.is_cuda(), said.empty());
  EXPECT_THAT(said, device.is_cuda() ? testing::HasSubstr("") : testing::HasSubstr("CPU"));
}

TEST(ChooseDevice, RefusesWhatIsNotHere) {
  for (const char* wanted : {"cuda:99", "gpu", "cuda:", "cuda:x", "cuda:-1", "", "cuda:1x"}) {
    try {
      choose_device(wanted, no_notes());
      ADD_FAILURE() << wanted << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request) << wanted;
    }
  }
}

TEST(Process, KnowsItsMachineAndItsMemory) {
  EXPECT_FALSE(cpu_model().empty());
  EXPECT_GT(cpu_cores(), 0);
  EXPECT_GT(peak_memory_bytes(), 1U << 20);
}

}  // namespace
}  // namespace stoker
