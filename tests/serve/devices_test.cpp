// What the machine has and does, with a driver's library that a test brings along.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;

// A service that finds another driver's library than this machine has.
class WithNvml {
 public:
  explicit WithNvml(const char* library) { setenv("STOKER_NVML", library, 1); }
  WithNvml(const WithNvml&) = delete;
  WithNvml& operator=(const WithNvml&) = delete;
  ~WithNvml() { unsetenv("STOKER_NVML"); }
};

TEST(ServiceDevices, TellWhatTheMachineHasAndWhatItDoes) {
  const WithNvml planted(STOKER_PLANTED_NVML);
  const RunningService service;
  const HttpAnswer answer = service.get("/api/devices");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json told = answer.json();
  const json listed = json::parse(service.place().stoker({"devices", "--json"}).output);
  ASSERT_EQ(told["devices"].size(), listed["devices"].size());
  EXPECT_EQ(told["devices"][0]["model"], listed["devices"][0]["model"]);
  EXPECT_EQ(told["devices"][0]["total_bytes"], listed["devices"][0]["total_bytes"]);
  EXPECT_GT(told["host"]["total_bytes"], told["host"]["free_bytes"]);
  EXPECT_GE(told["host"]["busy"], 0);
  EXPECT_LE(told["host"]["busy"], 1);
  EXPECT_EQ(told["host"]["load"].size(), 3U);
  ASSERT_EQ(told["gpus"].size(), 1U);
  const json& gpu = told["gpus"][0];
  EXPECT_EQ(gpu["model"], "Planted GPU");
  EXPECT_EQ(gpu["busy"], 0.5);
  EXPECT_EQ(gpu["watts"], 250);
  EXPECT_EQ(gpu["used_bytes"], std::uint64_t{2} << 30);
  EXPECT_EQ(gpu["total_bytes"], std::uint64_t{8} << 30);
  EXPECT_THAT(service.get("/metrics").body, testing::HasSubstr("stoker_gpu_power_watts{gpu=\"0\"} 250"));
}

TEST(ServiceDevices, SayWhyNoGpuIsRead) {
  const WithNvml none("/nowhere/libnvidia-ml.so.1");
  const RunningService service;
  const json told = service.get("/api/devices").json();
  EXPECT_TRUE(told["gpus"].empty());
  EXPECT_THAT(told["no_gpus_because"], testing::HasSubstr("libnvidia-ml"));
}

// All that ask within a second get the same reading, and later ones another.
TEST(ServiceDevices, AreReadOnceForAllWhoAskAtOnce) {
  const WithNvml planted(STOKER_PLANTED_NVML);
  const RunningService service;
  std::vector<std::string> times(20);
  std::vector<std::thread> pages;
  for (std::string& time : times)
    pages.emplace_back([&] { time = service.get("/api/devices").json()["time"].get<std::string>(); });
  for (std::thread& page : pages) page.join();
  std::ranges::sort(times);
  const std::string latest = times.back();
  // A slow machine may take longer than a second to answer all of them.
  EXPECT_LT(std::unique(times.begin(), times.end()) - times.begin(), 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(2'100));
  EXPECT_NE(service.get("/api/devices").json()["time"], latest);
}

TEST(ServiceDevices, AreNotToldToStrangers) {
  const RunningService service;
  EXPECT_EQ(service.ask("GET", "/api/devices", "", {{"authorization", ""}}).status, 401);
}

}  // namespace
}  // namespace stoker::test
