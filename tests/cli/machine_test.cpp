// A machine that gives too little memory or too few threads makes a run fail: that is told as such, with exit
// code 1, and the file is not blamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/program.h"

namespace stoker::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;  // sanitizers reserve more address space than any limit leaves
#else
constexpr bool is_sanitized = false;
#endif

std::string table_with_text(int rows) {
  std::string csv = "a,b,kind,c\n";
  for (int row = 0; row < rows; ++row)
    csv += std::to_string(row) + "," + std::to_string(row % 77) + ".125,text number " +
           std::to_string(row * 31 % rows) + "," + std::to_string(row % 5) + "\n";
  return csv;
}

// The program under a limit of the shell.
Finished limited(const Workplace& place, const std::string& limit, const std::string& words) {
  return Program({"/bin/sh", "-c", limit + "; exec " + STOKER_PROGRAM + " " + words}, place.folder()).wait();
}

TEST(Machine, WithoutEnoughMemoryEndsARunInOrder) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const Workplace place;
  place.write("table.csv", table_with_text(200'000));
  bool failed = false;
  for (const int megabytes : {120, 150, 180, 210, 240}) {
    const Finished finished =
        limited(place, "ulimit -v " + std::to_string(megabytes * 1000), "preview table.csv --rows 1");
    EXPECT_THAT(finished.code, AnyOf(0, 1)) << megabytes << " MB: " << finished.errors;
    if (finished.code != 1) continue;
    failed = true;
    EXPECT_THAT(finished.errors, HasSubstr("memory")) << megabytes << " MB";
  }
  EXPECT_TRUE(failed) << "the limits were no limits";
}

// Root may start as many threads as it likes, so the program is run as nobody.
TEST(Machine, WithoutThreadsReadsWhatItCanAndBlamesNoFile) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const Workplace place;
  std::filesystem::permissions(place.folder(), std::filesystem::perms(0755));
  place.write("table.csv", table_with_text(30'000));
  place.write("numbers.csv", "a,b\n1,2\n3,4\n");
  const bool is_root = ::geteuid() == 0;
  const std::string alone =
      is_root ? "exec setpriv --reuid 65534 --clear-groups /bin/sh -c 'ulimit -u 1; exec \"$@\"' sh" : "exec";
  const auto without_threads = [&](const std::string& words) {
    const std::string limit = is_root ? "" : "ulimit -u 1; ";
    return Program({"/bin/sh", "-c", limit + alone + " " + STOKER_PROGRAM + " " + words}, place.folder())
        .wait();
  };
  const Finished started = without_threads("--version");
  if (started.code != 0) GTEST_SKIP() << "the limit cannot be set here: " << started.errors;
  EXPECT_EQ(without_threads("preview numbers.csv").code, 0);
  ASSERT_EQ(place.stoker({"train", "table.csv", "--target", "c", "--model", "ridge", "--quiet"}).code, 0);
  ASSERT_EQ(
      place.stoker({"predict", "latest", "table.csv", "--output", "table.parquet", "--include-features"})
          .code,
      0);
  std::filesystem::permissions(place.folder() / "table.parquet", std::filesystem::perms(0644));
  const Finished parquet = without_threads("preview table.parquet --rows 1");
  EXPECT_EQ(parquet.code, 0) << parquet.errors;
  const Finished text = without_threads("preview table.csv --rows 1");
  EXPECT_THAT(text.code, AnyOf(0, 1)) << text.errors;
  if (text.code == 1) {
    EXPECT_THAT(text.errors, HasSubstr("ulimit -u"));
  }
}

}  // namespace
}  // namespace stoker::test
