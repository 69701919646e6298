#include "base/files/files.h"

#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/new_file.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, ExistsOnlyOnceItIsComplete) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path() / "a.txt");
  file.write("one ");
  EXPECT_FALSE(fs::exists(folder.path() / "a.txt"));
  file.write("two");
  file.commit();
  EXPECT_EQ(read_file(folder.path() / "a.txt", 100), "one two");
  EXPECT_EQ(entries_in(folder.path()), 1U);
}

TEST(NewFile, NeverTakesThePlaceOfAnother) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.txt";
  EXPECT_TRUE(write_new_file(file, "first"));
  EXPECT_FALSE(write_new_file(file, "second"));
  EXPECT_EQ(read_file(file, 100), "first");
  fs::create_symlink("nowhere", folder.path() / "link");
  EXPECT_FALSE(write_new_file(folder.path() / "link", "through a link"));
  EXPECT_EQ(entries_in(folder.path()), 2U);
}

TEST(NewFile, IsWrittenByOneOfManyWhoTry) {
  const TemporaryFolder folder;
  std::vector<std::future<bool>> writers;
  for (int i = 0; i < 8; ++i)
    writers.push_back(std::async(std::launch::async, [&folder, i] {
      return write_new_file(folder.path() / "a.txt", std::to_string(i));
    }));
  int written = 0;
  for (std::future<bool>& each : writers) written += each.get() ? 1 : 0;
  EXPECT_EQ(written, 1);
}

TEST(AtomicFile, DroppedLeavesTheOldContentAndNothingElse) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.txt", "old");
  {
    AtomicFile file(folder.path() / "a.txt");
    file.write("new");
  }
  EXPECT_EQ(read_file(folder.path() / "a.txt", 100), "old");
  EXPECT_EQ(entries_in(folder.path()), 1U);
}

// Containers that share a folder all have the process number 1, and each counts from 0.
TEST(AtomicFolder, WritesIntoNoFolderThatAnotherProcessOfItsNumberMade) {
  const TemporaryFolder folder;
  for (int i = 0; i < 100; ++i) {
    const fs::path theirs = folder.path() / fmt::format("entry.partial-{}-{}", ::getpid(), i);
    fs::create_directory(theirs);
    std::ofstream(theirs / "theirs") << "x";
  }
  const AtomicFolder whole(folder.path() / "entry");
  EXPECT_TRUE(fs::is_empty(whole.folder()));
}

TEST(AtomicFolder, ReplacesAFolderAsAWhole) {
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "model";
  for (const char* text : {"first", "second"}) {
    AtomicFolder whole(target);
    write_file(whole.folder() / text, text);
    whole.commit();
  }
  EXPECT_TRUE(fs::exists(target / "second"));
  EXPECT_FALSE(fs::exists(target / "first"));
  EXPECT_EQ(entries_in(folder.path()), 1U);
}

TEST(AtomicFolder, ManyWritersOfOneNameAllSucceedAndOneStays) {
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "entry";
  const auto write_often = [&target](int writer) {
    for (int i = 0; i < 50; ++i) {
      AtomicFolder whole(target);
      write_file(whole.folder() / "writer", std::to_string(writer));
      whole.commit();
    }
  };
  std::vector<std::future<void>> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.push_back(std::async(std::launch::async, write_often, writer));
  for (std::future<void>& writer : writers) EXPECT_NO_THROW(writer.get());
  EXPECT_EQ(read_file(target / "writer", 10).size(), 1U);
  EXPECT_EQ(entries_in(folder.path()), 1U);
}

TEST(AtomicFolder, IsThereAtEveryMomentWhileItIsReplaced) {
  const TemporaryFolder folder;
  const fs::path target = folder.path() / "model";
  const auto write_once = [&target] {
    AtomicFolder whole(target);
    write_file(whole.folder() / "weights", "w");
    whole.commit();
  };
  write_once();
  std::atomic<bool> is_over{false};
  std::future<int> missed = std::async(std::launch::async, [&] {
    int times = 0;
    while (!is_over) times += ::access((target / "weights").c_str(), F_OK) == 0 ? 0 : 1;
    return times;
  });
  for (int i = 0; i < 50; ++i) write_once();
  is_over = true;
  EXPECT_EQ(missed.get(), 0);
}

TEST(AtomicFolder, DoesNotReplaceWhatItIsNotAskedTo) {
  const TemporaryFolder folder;
  make_folder(folder.path() / "first");
  write_file(folder.path() / "first" / "theirs", "x");
  AtomicFolder whole(folder.path() / "new");
  write_file(whole.folder() / "mine", "y");
  EXPECT_FALSE(whole.commit_if_free(folder.path() / "first"));
  EXPECT_TRUE(whole.commit_if_free(folder.path() / "second"));
  EXPECT_TRUE(fs::exists(folder.path() / "first" / "theirs"));
  EXPECT_TRUE(fs::exists(folder.path() / "second" / "mine"));
  EXPECT_EQ(entries_in(folder.path()), 2U);
}

TEST(AtomicFolder, TakesNeitherTheNameOfAFileNorThatOfALink) {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "x");
  make_folder(folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", folder.path() / "link");
  for (const char* name : {"file", "link"}) {
    AtomicFolder whole(folder.path() / name);
    EXPECT_THROW(whole.commit(), Error) << name;
  }
  EXPECT_EQ(read_file(folder.path() / "file", 10), "x");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "link"));
}

TEST(AtomicFolder, DroppedLeavesNothing) {
  const TemporaryFolder folder;
  {
    const AtomicFolder whole(folder.path() / "model");
    write_file(whole.folder() / "half", "half");
  }
  EXPECT_EQ(entries_in(folder.path()), 0U);
}

TEST(AppendedFile, KeepsWhatWasThereAndAddsWholeLines) {
  const TemporaryFolder folder;
  AppendedFile(folder.path() / "events").append_line("one");
  AppendedFile(folder.path() / "events").append_line("two");
  EXPECT_EQ(read_file(folder.path() / "events", 100), "one\ntwo\n");
}

// Whoever tries many things tells by this whether the next one would fare better.
TEST(Files, AnErrorSaysWhetherTheMachineIsItsCause) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "x");
  const auto cause_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.cause();
    }
    ADD_FAILURE() << "nothing was refused";
    return Cause::request;
  };
  EXPECT_EQ(cause_of([] { AppendedFile("/dev/full").append_line("x"); }), Cause::machine);
  EXPECT_EQ(cause_of([&] { write_file(folder.path() / "none" / "a", "x"); }), Cause::machine);
  EXPECT_EQ(cause_of([&] { make_folder(folder.path() / "a" / "b"); }), Cause::machine);
  EXPECT_EQ(cause_of([&] { read_file(folder.path() / "none", 10); }), Cause::machine);
  EXPECT_EQ(cause_of([&] { read_file(folder.path() / "a", 0); }), Cause::request);
  EXPECT_EQ(cause_of([] { throw OutOfMemory("none left"); }), Cause::machine);
}

TEST(ReadFile, RefusesMissingTooLargeAndFolders) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", std::string(100, 'x'));
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ExitCode::done;
  };
  EXPECT_EQ(code_of([&] { read_file(folder.path() / "none", 10); }), ExitCode::wrong_request);
  EXPECT_EQ(code_of([&] { read_file(folder.path() / "a", 99); }), ExitCode::wrong_request);
  EXPECT_EQ(code_of([&] { read_file(folder.path(), 10); }), ExitCode::wrong_request);
  EXPECT_EQ(read_file(folder.path() / "a", 100).size(), 100U);
}

TEST(MakeFolder, RefusesWhereAFileStands) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "x");
  EXPECT_THROW(make_folder(folder.path() / "a"), Error);
  EXPECT_THROW(make_folder(folder.path() / "a" / "b"), Error);
}

}  // namespace
}  // namespace stoker
