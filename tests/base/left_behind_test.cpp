#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/replace_folder.h"

// What processes that were killed leave, and how others tell it from what is still being made.
namespace stoker {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::size_t count_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Another process that does something and is killed before it can clear up.
void killed_while(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
}

// TMPDIR for one test.
class TemporariesIn {
 public:
  explicit TemporariesIn(const fs::path& folder) {
    if (const char* set = std::getenv("TMPDIR")) earlier_ = set;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  TemporariesIn(const TemporariesIn&) = delete;
  TemporariesIn& operator=(const TemporariesIn&) = delete;
  ~TemporariesIn() { earlier_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", earlier_.c_str(), 1); }

 private:
  std::string earlier_;
};

TEST(LeftBehind, HalfMadeThingsOfAKilledProcessAreClearedAndThoseOfALivingOneStay) {
  const TemporaryFolder folder;
  killed_while([&] {
    auto* const file = new AtomicFile(folder.path() / "a.csv");
    file->write("half");
    write_file((new AtomicFolder(folder.path() / "model"))->folder() / "weights", "half");
  });
  AtomicFile file(folder.path() / "a.csv");
  AtomicFolder model(folder.path() / "model");
  ASSERT_EQ(count_in(folder.path()), 4U);
  clear_half_made(folder.path());
  EXPECT_EQ(count_in(folder.path()), 2U);
  file.commit();
  model.commit();
  EXPECT_TRUE(fs::exists(folder.path() / "a.csv"));
  EXPECT_TRUE(fs::exists(folder.path() / "model"));
}

TEST(LeftBehind, NobodyElsesFilesAreTakenForHalfMadeOnes) {
  const TemporaryFolder folder;
  for (const char* name : {"a.partial-1-0", "a.partial-0123456789abcdeg", "0123456789abcdef", "a.partial-"})
    write_file(folder.path() / name, "x");
  clear_half_made(folder.path());
  EXPECT_EQ(count_in(folder.path()), 4U);
}

TEST(LeftBehind, ATemporaryFolderOfAKilledProcessIsClearedByTheNext) {
  const TemporaryFolder folder;
  const TemporariesIn here(folder.path());
  const TemporaryFolder alive;
  killed_while([] { write_file((new TemporaryFolder)->path() / "download.csv", "half"); });
  ASSERT_EQ(count_in(folder.path()), 2U);
  { const TemporaryFolder next; }
  EXPECT_EQ(count_in(folder.path()), 1U);
  EXPECT_TRUE(fs::exists(alive.path()));
}

TEST(LeftBehind, WhatAnEndingProcessHasClaimedCanBeRemovedAtOnce) {
  const TemporaryFolder folder;
  killed_while([&] {
    write_file((new AtomicFolder(folder.path() / "model"))->folder() / "weights", "half");
    const auto* const file = new AtomicFile(folder.path() / "a.csv");
    write_file(folder.path() / "whole.csv", "x");
    remove_claims();
    if (file == nullptr) ::_exit(1);
  });
  EXPECT_TRUE(fs::exists(folder.path() / "whole.csv"));
  EXPECT_EQ(count_in(folder.path()), 1U);
}

TEST(LeftBehind, AFolderIsRemovedOutOfSight) {
  const TemporaryFolder folder;
  make_folder(folder.path() / "run" / "checkpoints");
  std::error_code error;
  remove_folder(folder.path() / "run", error);
  EXPECT_FALSE(error);
  EXPECT_EQ(count_in(folder.path()), 0U);
  remove_folder(folder.path() / "run", error);
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

// Its locks may not reach this far.
TEST(LeftBehind, HalfMadeThingsOfAnotherMachineStay) {
  const TemporaryFolder folder;
  fs::path of_another;
  killed_while([&] { new AtomicFile(folder.path() / "a.csv"); });
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    std::string name = entry.path().filename().string();
    char& digit = name[name.size() - 16];
    digit = digit == '0' ? '1' : '0';
    of_another = folder.path() / name;
    fs::rename(entry.path(), of_another);
    break;
  }
  clear_half_made(folder.path());
  EXPECT_TRUE(fs::exists(of_another));
}

// File systems without an exchange of two names are rare here, so the steps are taken by hand.
TEST(LeftBehind, AFolderThatIsReplacedInStepsIsReplacedAsAWhole) {
  const TemporaryFolder folder;
  for (const char* name : {"old", "new"}) {
    make_folder(folder.path() / name);
    write_file(folder.path() / name / name, "x");
  }
  replace_folder_in_steps(folder.path() / "new", folder.path() / "old");
  EXPECT_TRUE(fs::exists(folder.path() / "old" / "new"));
  EXPECT_EQ(count_in(folder.path()), 1U);
}

TEST(LeftBehind, AnOldFolderIsPutBackWhoseReplacementWasKilledInBetween) {
  const TemporaryFolder folder;
  make_folder(folder.path() / "model.replaced-0123456789abcdef");
  write_file(folder.path() / "model.replaced-0123456789abcdef" / "weights", "old");
  clear_half_made(folder.path());
  EXPECT_EQ(read_file(folder.path() / "model" / "weights", 10), "old");
  make_folder(folder.path() / "model.replaced-0123456789abcdef");
  clear_half_made(folder.path());
  EXPECT_EQ(count_in(folder.path()), 1U);
}

TEST(LeftBehind, WhatOthersHaveNamedSoIsNotTouched) {
  const TemporaryFolder folder;
  const std::string digits = "0123456789abcdef";
  const std::vector<std::string> names{"data.replaced-2023", "data.replaced-", "data.replaced-old-" + digits};
  for (const std::string& name : names) {
    make_folder(folder.path() / name);
    write_file(folder.path() / name / "thesis", "precious");
  }
  make_folder(folder.path() / "data");
  write_file(folder.path() / "prices.replaced-old.csv", "a,b");
  write_file(folder.path() / ("prices.replaced-" + digits), "a,b");
  make_folder(folder.path() / "elsewhere");
  fs::create_directory_symlink("elsewhere", folder.path() / ("link.replaced-" + digits));
  const std::size_t before = count_in(folder.path());
  clear_half_made(folder.path());
  EXPECT_EQ(count_in(folder.path()), before);
  EXPECT_EQ(read_file(folder.path() / "data.replaced-2023" / "thesis", 10), "precious");
  EXPECT_TRUE(fs::exists(folder.path() / ("prices.replaced-" + digits)));
  EXPECT_TRUE(fs::is_symlink(folder.path() / ("link.replaced-" + digits)));
}

TEST(LeftBehind, AFolderThatSomebodyLetsStepAsideIsLeftToHim) {
  const TemporaryFolder folder;
  const fs::path aside = folder.path() / "model.replaced-0123456789abcdef";
  make_folder(aside);
  write_file(aside / "weights", "old");
  const int held = ::open(aside.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  clear_half_made(folder.path());
  EXPECT_TRUE(fs::exists(aside / "weights"));
  make_folder(folder.path() / "model");
  clear_half_made(folder.path());
  EXPECT_TRUE(fs::exists(aside / "weights"));
  ::close(held);
  clear_half_made(folder.path());
  EXPECT_FALSE(fs::exists(aside));
}

TEST(TemporaryFolder, SaysThatTmpdirIsNoFolder) {
  const TemporaryFolder folder;
  const TemporariesIn nowhere(folder.path() / "absent");
  try {
    const TemporaryFolder refused;
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("absent"), HasSubstr("set TMPDIR")));
  }
}

}  // namespace
}  // namespace stoker
