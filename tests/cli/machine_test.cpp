// A machine that gives too little memory or too few threads makes a run fail: that is told as such, with exit
// code 1, and the file is not blamed.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
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

// A wave, one row an hour.
std::string hours_of_a_wave(int hours) {
  std::string csv = "hour,degrees\n";
  for (int hour = 0; hour < hours; ++hour)
    csv += std::to_string(hour) + "," + std::to_string(10 + hour % 24 * (24 - hour % 24) / 16.0) + "\n";
  return csv;
}

// A small LSTM, which LibTorch trains, under a prefix of the shell.
Finished lstm_trained(const Workplace& place, const std::string& prefix) {
  place.write("wave.csv", hours_of_a_wave(200));
  return Program(
             {"/bin/sh", "-c",
              prefix + " " + STOKER_PROGRAM +
                  " train wave.csv --target degrees --windows 8 --horizon 1 --time-column hour --model lstm "
                  "--epochs 1 --device cpu --quiet --no-cache"},
             place.folder())
      .wait();
}

// LibTorch's threads are OpenMP's, which prints the settings that it has taken.
TEST(Machine, LetsThreadsOfLibTorchSleepWhileTheyWait) {
  const Workplace place;
  const std::string shown = "exec env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=VERBOSE";
  const Finished finished = lstm_trained(place, shown);
  ASSERT_EQ(finished.code, 0) << finished.errors;
  if (finished.errors.find("GOMP_") == std::string::npos) GTEST_SKIP() << "another OpenMP than GNU's";
  EXPECT_THAT(finished.errors, HasSubstr("OMP_WAIT_POLICY = 'PASSIVE'"));
  EXPECT_THAT(finished.errors, HasSubstr("GOMP_SPINCOUNT = '0'"));
  EXPECT_THAT(lstm_trained(place, shown + " OMP_WAIT_POLICY=active").errors,
              HasSubstr("OMP_WAIT_POLICY = 'ACTIVE'"));
}

TEST(Machine, WithTooLittleMemoryForLibTorchSaysSoAndNamesNoMissingPackage) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const Workplace place;
  const Finished finished = lstm_trained(place, "ulimit -v 400000; exec");
  EXPECT_EQ(finished.code, 1) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr("out of memory"));
  EXPECT_THAT(finished.errors, Not(HasSubstr("install")));
}

TEST(Machine, DevicesShowTheMemoryThatALimitLeaves) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const Workplace place;
  const Finished finished = limited(place, "ulimit -v 3000000", "devices --json");
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const auto cpu = nlohmann::json::parse(finished.output).at("devices").at(0);
  EXPECT_LE(cpu.at("total_bytes").get<std::uint64_t>(), std::uint64_t{3'000'000} * 1024);
  EXPECT_LT(cpu.at("free_bytes"), cpu.at("total_bytes"));
}

// A group of the kernel with a limit of memory, for as long as this object; none where none can be made.
class LimitedGroup {
 public:
  explicit LimitedGroup(std::uint64_t bytes) {
    const std::string name = "stoker_test_" + std::to_string(::getpid());
    for (const auto& [root, file] : {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                     std::pair{"/sys/fs/cgroup", "memory.max"}}) {
      const std::filesystem::path folder = std::filesystem::path(root) / name;
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error) || error) continue;
      std::ofstream limit(folder / file);
      if (limit << bytes << std::flush) {
        folder_ = folder;
        return;
      }
      std::filesystem::remove(folder, error);
    }
  }
  LimitedGroup(const LimitedGroup&) = delete;
  LimitedGroup& operator=(const LimitedGroup&) = delete;
  ~LimitedGroup() {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove(folder_, error);
  }

  bool is_there() const { return !folder_.empty(); }
  // What a shell does to be in it.
  std::string entry() const { return "echo $$ > " + (folder_ / "cgroup.procs").string(); }

 private:
  std::filesystem::path folder_;
};

// Two stacks of 128 MiB are as many bytes as those of 32 threads, one for each core of a larger machine.
constexpr const char* stacks_of_many_cores = "; ulimit -s 131072";

TEST(Machine, WithALimitedControlGroupTrainsInSmallerPartsInsteadOfBeingKilled) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const LimitedGroup group(std::uint64_t{600} << 20U);
  if (!group.is_there()) GTEST_SKIP() << "no group can be made here";
  const Workplace place;
  const Finished devices = limited(place, group.entry(), "devices --json");
  ASSERT_EQ(devices.code, 0) << devices.errors;
  const auto cpu = nlohmann::json::parse(devices.output).at("devices").at(0);
  EXPECT_EQ(cpu.at("total_bytes"), std::uint64_t{600} << 20U);
  const std::string training =
      "train sample:friedman --target y --sample-rows 250000 --hidden-layers 64,64,64,64,64,64 "
      "--batch-size 200000 --epochs 2 --device cpu --engine eager --validation-ratio 0.1 --no-cache";
  for (const std::string stack : {"", stacks_of_many_cores}) {
    const Finished trained = limited(place, group.entry() + stack, training);
    EXPECT_EQ(trained.code, 0) << stack << trained.errors;
    EXPECT_THAT(trained.errors, HasSubstr("memory ran out in a step of 180000 rows")) << stack;
  }
}

// A few members fit into the group at once, with whole batches.
TEST(Machine, WithALimitedControlGroupTrainsFewerMembersAtOnce) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const LimitedGroup group(std::uint64_t{500} << 20U);
  if (!group.is_there()) GTEST_SKIP() << "no group can be made here";
  const Workplace place;
  const Finished trained = limited(
      place, group.entry() + "; export STOKER_THREADS=16",
      "train sample:friedman --target y --sample-rows 60000 --hidden-layers 64,64,64 --batch-size 40000 "
      "--epochs 1 --device cpu --engine eager --ensemble-folds 16 --no-cache");
  EXPECT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(trained.errors, HasSubstr("fewer are trained at a time"));
  EXPECT_THAT(trained.errors, Not(HasSubstr("takes them in smaller parts")));
}

TEST(Machine, WithALimitedControlGroupNamesTheMemberThatDoesNotFitAlone) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  const LimitedGroup group(std::uint64_t{200} << 20U);
  if (!group.is_there()) GTEST_SKIP() << "no group can be made here";
  const Workplace place;
  const std::string training =
      "train sample:friedman --target y --sample-rows 2000 --hidden-layers 8000,8000 --epochs 1 "
      "--device cpu --ensemble-folds 2 --no-cache";
  for (const std::string stack : {"", stacks_of_many_cores}) {
    const Finished trained = limited(place, group.entry() + stack, training);
    EXPECT_EQ(trained.code, 1) << stack << trained.errors;
    EXPECT_THAT(trained.errors, HasSubstr("of 2, trained alone: ")) << stack;
    EXPECT_THAT(trained.errors, HasSubstr("out of memory")) << stack;
  }
}

}  // namespace
}  // namespace stoker::test
