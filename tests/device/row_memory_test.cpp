#include "device/row_memory.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/files/files.h"
#include "device/array.h"
#include "device/host_memory.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t row_mebibyte = std::size_t{1} << 20U;

// The memory of the host as small as a test makes it.
class LimitOfMemory {
 public:
  explicit LimitOfMemory(const char* bytes) {
    setenv("STOKER_MEMORY_LIMIT", bytes, 1);
    memory_for_all_rows();  // which looks anew
  }
  LimitOfMemory(const LimitOfMemory&) = delete;
  LimitOfMemory& operator=(const LimitOfMemory&) = delete;
  ~LimitOfMemory() {
    unsetenv("STOKER_MEMORY_LIMIT");
    memory_for_all_rows();
  }
};

TEST(RowMemory, LiesInAFileBeyondHalfOfWhatTheHostHas) {
  const LimitOfMemory limit("8388608");
  EXPECT_EQ(memory_for_all_rows(), 4 * row_mebibyte);
  const auto first = memory_for_rows(3 * row_mebibyte);
  const auto second = memory_for_rows(3 * row_mebibyte);
  EXPECT_FALSE(lies_in_file(first.get()));
  EXPECT_TRUE(lies_in_file(second.get()));
  const auto third = memory_for_rows(row_mebibyte);
  EXPECT_FALSE(lies_in_file(third.get())) << "there is room for a smaller one";
}

TEST(RowMemory, HasRoomAgainForWhatWasGivenBack) {
  const LimitOfMemory limit("8388608");
  auto first = memory_for_rows(3 * row_mebibyte);
  EXPECT_TRUE(lies_in_file(memory_for_rows(3 * row_mebibyte).get()));
  first.reset();
  EXPECT_FALSE(lies_in_file(memory_for_rows(3 * row_mebibyte).get()));
}

TEST(RowMemory, KeepsWhatIsWrittenIntoAFile) {
  const LimitOfMemory limit("1048576");
  Array rows = Array::for_rows(DType::int32, {1000, 1000});
  ASSERT_TRUE(rows.lies_in_file());
  EXPECT_EQ(rows.memory(), Memory::host);
  for (std::int32_t i = 0; std::int32_t & each : rows.as<std::int32_t>()) each = i++;
  const Array copy = rows.clone();
  EXPECT_FALSE(copy.lies_in_file());
  EXPECT_EQ(std::memcmp(copy.data(), rows.data(), rows.bytes()), 0);
  EXPECT_EQ(copy.as<std::int32_t>()[999'999], 999'999);
}

TEST(RowMemory, LeavesNothingInItsFolder) {
  const TemporaryFolder folder;
  keep_rows_in(folder.path() / "not" / "there yet");
  const LimitOfMemory limit("1048576");
  const auto block = memory_for_rows(2 * row_mebibyte);
  EXPECT_TRUE(lies_in_file(block.get()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  keep_rows_in({});
}

// A file that may not grow is what a full disk is.
TEST(RowMemory, SaysWhatToDoWhereTheDiskHasNoRoom) {
  const LimitOfMemory limit("1048576");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{row_mebibyte, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    memory_for_rows(std::size_t{8} << 30U);
  } catch (const OutOfMemory& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, before);
  EXPECT_THAT(message, AllOf(HasSubstr("a file of 8.0 GiB cannot be had in"), HasSubstr("free space")));
}

std::string refusal_of_limit(const char* limit) {
  setenv("STOKER_MEMORY_LIMIT", limit, 1);
  std::string message;
  try {
    keep_rows_in({});
  } catch (const Error& error) {
    message = error.what();
  }
  unsetenv("STOKER_MEMORY_LIMIT");
  return message;
}

TEST(RowMemory, RefusesALimitThatIsNoNumberOrLeavesNothing) {
  EXPECT_EQ(refusal_of_limit("lots"), "STOKER_MEMORY_LIMIT is 'lots'; it must be a number of bytes");
  EXPECT_EQ(refusal_of_limit("0"),
            "STOKER_MEMORY_LIMIT is 0, which leaves no memory at all; unset it for no limit");
}

TEST(FreeHostMemory, IsSomeOfThisMachine) {
  EXPECT_GT(free_host_memory(), row_mebibyte);
}

}  // namespace
}  // namespace stoker
