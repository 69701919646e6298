#include "device/control_groups.h"

#include <cstdlib>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/files/files.h"
#include "device/array.h"
#include "device/device.h"
#include "device/host_memory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

// A tree of groups as the kernel shows it, in a folder of the test.
class GroupTree : public testing::Test {
 protected:
  void put(const fs::path& file, const std::string& content) const {
    fs::create_directories((folder_.path() / file).parent_path());
    write_file(folder_.path() / file, content);
  }
  ControlGroups groups() const { return {folder_.path() / "process", folder_.path()}; }
  std::uint64_t room() const { return memory_of_control_groups(groups()).value().room; }

 private:
  TemporaryFolder folder_;
};

TEST_F(GroupTree, OfVersion2LimitsMemoryByTheSmallestOfAllLevels) {
  put("process", "0::/outer/inner\n");
  EXPECT_FALSE(memory_of_control_groups(groups()));
  put("outer/memory.max", "1000\n");
  put("outer/memory.current", "700\n");
  put("outer/memory.stat", "anon 500\ninactive_file 150\nactive_file 50\n");
  put("outer/inner/memory.max", "max\n");
  EXPECT_EQ(room(), 500U) << "cached files count as free";
  EXPECT_EQ(memory_of_control_groups(groups())->limit, 1000U);
  put("outer/inner/memory.max", "400\n");
  put("outer/inner/memory.current", "500\n");
  EXPECT_EQ(room(), 0U);
  EXPECT_EQ(memory_of_control_groups(groups())->limit, 400U);
}

TEST_F(GroupTree, OfVersion1LimitsMemoryByTheSmallestOfAllLevels) {
  put("process", "5:cpu,cpuacct:/a\n4:memory:/a/b\n");
  put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(memory_of_control_groups(groups())) << "a number near the largest stands for no limit";
  put("memory/a/memory.limit_in_bytes", "1000\n");
  put("memory/a/memory.usage_in_bytes", "900\n");
  put("memory/a/memory.stat", "total_inactive_file 100\ntotal_active_file 0\n");
  put("memory/a/b/memory.limit_in_bytes", "5000\n");
  EXPECT_EQ(room(), 200U);
  EXPECT_EQ(memory_of_control_groups(groups())->limit, 1000U);
}

TEST_F(GroupTree, IsReadWhereBothVersionsAreMounted) {
  put("process", "4:memory:/a\n0::/b\n");
  put("unified/b/memory.max", "3000\n");
  put("unified/b/memory.current", "1000\n");
  EXPECT_EQ(room(), 2000U);
  put("memory/a/memory.limit_in_bytes", "1500\n");
  EXPECT_EQ(room(), 1500U);
}

TEST_F(GroupTree, OfVersion2HasTheSmallestQuotaOfAllLevels) {
  put("process", "0::/outer/inner\n");
  EXPECT_FALSE(cpu_quota_of_control_groups(groups()));
  put("outer/cpu.max", "max 100000\n");
  EXPECT_FALSE(cpu_quota_of_control_groups(groups()));
  put("outer/inner/cpu.max", "350000 100000\n");
  EXPECT_EQ(cpu_quota_of_control_groups(groups()), 3.5);
  put("outer/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota_of_control_groups(groups()), 0.5);
}

TEST_F(GroupTree, OfVersion1HasTheSmallestQuotaOfAllLevels) {
  put("process", "2:cpu,cpuacct:/a\n");
  put("cpu/cpu.cfs_quota_us", "-1\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cpu_quota_of_control_groups(groups()));
  put("cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
  put("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota_of_control_groups(groups()), 1.5);
}

TEST_F(GroupTree, WithDamagedFilesSetsNoLimit) {
  put("process", "no colons\n0::/a\n");
  put("a/memory.max", "-5\n");
  put("a/cpu.max", "lots 0\n");
  EXPECT_FALSE(memory_of_control_groups(groups()));
  EXPECT_FALSE(cpu_quota_of_control_groups(groups()));
}

TEST_F(GroupTree, LimitsTheMemoryOfTheHost) {
  put("process", "0::/a\n");
  const MemoryOfHost unlimited = memory_of_host(groups());
  put("a/memory.max", "600000000\n");
  put("a/memory.current", "100000000\n");
  const MemoryOfHost limited = memory_of_host(groups());
  EXPECT_GT(unlimited.total, limited.total);
  EXPECT_EQ(limited.total, 600'000'000U);
  EXPECT_EQ(limited.available, 500'000'000U);
}

bool can_allocate(std::uint64_t bytes) {
  try {
    const Array large(DType::uint8, {static_cast<std::int64_t>(bytes)});
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
}

// In a process of its own, which the limit ends with.
void allocate_beyond(const ControlGroups& groups) {
  fail_allocations_beyond_control_groups(1, groups);
  const bool has_failed = !can_allocate(300 * mebibyte) && can_allocate(20 * mebibyte);
  restore_allocation_limit();
  std::_Exit(has_failed && can_allocate(300 * mebibyte) ? 0 : 1);
}

// In a process of its own. Stacks of new threads have 2 MiB each, those of 120 threads 240 MiB.
void allocate_in_place_of_stacks(const ControlGroups& groups) {
  fail_allocations_in_place_of_stacks(0, groups);
  const bool is_unlimited = can_allocate(300 * mebibyte);
  fail_allocations_beyond_control_groups(120, groups);
  const bool is_in_stacks = can_allocate(300 * mebibyte);
  fail_allocations_in_place_of_stacks(0, groups);
  std::_Exit(is_unlimited && is_in_stacks && !can_allocate(300 * mebibyte) ? 0 : 1);
}

TEST_F(GroupTree, LeavesNoMemoryForStacksOfThreadsThatRunAlready) {
  put("process", "0::/a\n");
  put("a/memory.max", std::to_string(200 * mebibyte) + "\n");
  put("a/memory.current", std::to_string(50 * mebibyte) + "\n");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(allocate_in_place_of_stacks(groups()), testing::ExitedWithCode(0), "");
}

// Of 8 MiB each, they would leave room for an allocation that the kernel ends the process for.
void allocate_in_place_of_large_stacks(const ControlGroups& groups) {
  fail_allocations_beyond_control_groups(16, groups);
  std::_Exit(can_allocate(100 * mebibyte) && !can_allocate(200 * mebibyte) ? 0 : 1);
}

TEST_F(GroupTree, MakesStacksOfManyThreadsSmall) {
  put("process", "0::/a\n");
  put("a/memory.max", std::to_string(200 * mebibyte) + "\n");
  put("a/memory.current", std::to_string(50 * mebibyte) + "\n");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(allocate_in_place_of_large_stacks(groups()), testing::ExitedWithCode(0), "");
}

TEST_F(GroupTree, MakesAllocationsFailThatTheKernelWouldEndTheProcessFor) {
  put("process", "0::/a\n");
  put("a/memory.max", std::to_string(200 * mebibyte) + "\n");
  put("a/memory.current", std::to_string(50 * mebibyte) + "\n");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(allocate_beyond(groups()), testing::ExitedWithCode(0), "");
}

void see_limit_of_addresses() {
  const rlimit limit{rlim_t{4} << 30U, rlim_t{4} << 30U};
  setrlimit(RLIMIT_AS, &limit);
  const MemoryOfHost memory = memory_of_host();
  std::_Exit(memory.total <= limit.rlim_cur && memory.available < memory.total ? 0 : 1);
}

TEST(MemoryOfHost, IsNoMoreThanTheLimitOfAddresses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more addresses than the limit allows";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(see_limit_of_addresses(), testing::ExitedWithCode(0), "");
}

// Of this thread, until it goes.
class OneCoreAllowed {
 public:
  OneCoreAllowed() {
    sched_getaffinity(0, sizeof before_, &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  OneCoreAllowed(const OneCoreAllowed&) = delete;
  OneCoreAllowed& operator=(const OneCoreAllowed&) = delete;
  ~OneCoreAllowed() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

TEST(CpuCores, FollowAffinityAndTheEnvironment) {
  const int all = cpu_cores();
  {
    const OneCoreAllowed one;
    EXPECT_EQ(cpu_cores(), 1);
  }
  EXPECT_EQ(cpu_cores(), all);
  setenv("STOKER_THREADS", "1", 1);
  EXPECT_EQ(cpu_cores(), 1);
  setenv("STOKER_THREADS", "100000", 1);
  EXPECT_EQ(cpu_cores(), all);
  unsetenv("STOKER_THREADS");
}

}  // namespace
}  // namespace stoker
