// How many threads LibTorch divides the steps of a training on the CPU among.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "device/device.h"
#include "model/family.h"
#include "model/network/recurrent.h"
#include "torch/door.h"
#include "torch/training_case.h"

namespace stoker {
namespace {

using test::make_engine;
using test::run_epochs;

// An LSTM over windows of 20 moments with 29 columns, one step to an epoch.
EngineRequest lstm_request(std::int64_t rows, std::int64_t hidden) {
  constexpr std::int64_t length = 20;
  constexpr std::int64_t columns = 29;
  EngineRequest request = test::small_request();
  RecurrentSettings settings;
  settings.hidden_size = hidden;
  settings.layers = 1;
  request.network = {
      "lstm", config::write(settings), {{"window", Role::features, DType::float32, {length, columns}}}, 1};
  Array series(DType::float32, {rows + length, columns});
  std::size_t place = 0;
  for (float& each : series.as<float>()) each = static_cast<float>(place++ % 17) / 17;
  Array starts(DType::int64, {rows});
  for (std::int64_t row = 0; row < rows; ++row)
    starts.as<std::int64_t>()[static_cast<std::size_t>(row)] = row;
  Array targets(DType::float32, {rows, 1});
  for (float& each : targets.as<float>()) each = 0.5F;
  request.training = {
      {{"window", Role::features, series, starts, length}, {"targets", Role::targets, targets}}};
  request.validation = {};
  request.batch_size = rows;
  request.epochs = 1;
  request.initial_parameters = initial_parameters(request.network, 1);
  return request;
}

// CPU time of each thread of this process, in nanoseconds, by its id.
std::map<std::string, std::int64_t> cpu_time_by_thread() {
  std::map<std::string, std::int64_t> times;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(each.path() / "schedstat");
    if (std::int64_t nanoseconds = 0; file >> nanoseconds) times[each.path().filename()] = nanoseconds;
  }
  return times;
}

// Threads that compute at least a tenth as long as the busiest one. Others are asleep: CUDA's driver and the
// backward pass of LibTorch start some for each GPU, even if the training is on the CPU.
int threads_that_compute(const std::function<void()>& work) {
  const std::map<std::string, std::int64_t> before = cpu_time_by_thread();
  work();
  std::vector<std::int64_t> spent;
  for (const auto& [thread, time] : cpu_time_by_thread())
    spent.push_back(time - (before.contains(thread) ? before.at(thread) : 0));
  if (spent.empty()) return 0;
  const std::int64_t most = std::ranges::max(spent);
  return static_cast<int>(std::ranges::count_if(spent, [&](std::int64_t each) { return 10 * each > most; }));
}

// After one step of the training.
int threads_used(const EngineRequest& request) {
  const auto engine = make_engine("eager", request);
  run_epochs(*engine, request, 1, 1);
  return torch_door::cpu_threads();
}

EngineRequest large_request() {
  return lstm_request(512, 128);
}

TEST(CpuThreads, ASmallStepOfAnLstmHasOne) {
  EngineRequest small = lstm_request(32, 64);
  EXPECT_EQ(threads_used(small), 1);
  small.epochs = 20;
  const auto engine = make_engine("eager", small);
  run_epochs(*engine, small, 1, 1);
  if (cpu_time_by_thread().empty()) GTEST_SKIP() << "the kernel does not count the CPU time of threads";
  EXPECT_EQ(threads_that_compute([&] { run_epochs(*engine, small, 20, 1, 1); }), 1);
}

TEST(CpuThreads, ALargeStepHasOneForEachCoreThatTheProcessMayUse) {
  EXPECT_EQ(threads_used(large_request()), cpu_cores());
}

// In a process of its own: OpenMP reads the variable when LibTorch is loaded.
TEST(CpuThreads, UseAllCoresIfOpenMpBindsThreads) {
  const std::string command =
      "OMP_PROC_BIND=true exec /proc/" + std::to_string(getpid()) +
      "/exe --gtest_filter=CpuThreads.ALargeStepHasOneForEachCoreThatTheProcessMayUse";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(CpuThreads, FollowTheEnvironment) {
  setenv("STOKER_THREADS", "1", 1);
  EXPECT_EQ(threads_used(large_request()), 1);
  unsetenv("STOKER_THREADS");
}

TEST(CpuThreads, FollowTheAffinityOfTheProcess) {
  cpu_set_t before{};
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(threads_used(large_request()), 1);
  sched_setaffinity(0, sizeof before, &before);
}

TEST(CpuThreads, FollowTheSettingOfTheTraining) {
  EngineRequest request = large_request();
  request.threads = 1;
  EXPECT_EQ(threads_used(request), 1);
}

}  // namespace
}  // namespace stoker
