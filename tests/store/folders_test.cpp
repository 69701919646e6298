#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "store/run_lock.h"
#include "store/runs.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Runs : public testing::Test {
 protected:
  fs::path add(const std::string& id, const std::string& started, RunStatus status = RunStatus::finished) {
    const fs::path folder = out() / id;
    fs::create_directories(folder);
    RunRecord record;
    record.name = id;
    record.started = started;
    record.status = status;
    write_record({folder}, record);
    return folder;
  }

  // A run that this process works on.
  fs::path add_running(const std::string& id, RunStatus recorded = RunStatus::running) {
    const fs::path folder = add(id, "2026-11-15T10:00:00.000Z", recorded);
    locks_.push_back(std::move(*RunLock::take(folder)));
    return folder;
  }

  // A run whose process began, wrote its record and was gone.
  fs::path add_dead(const std::string& id) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::ofstream(RunPaths{add(id, "2026-01-01T00:00:00.000Z", RunStatus::running)}.document())
          << "version: 1";
      const std::optional<RunLock> lock = RunLock::take(out() / id);
      ::_exit(lock ? 0 : 1);
    }
    ::waitpid(child, nullptr, 0);
    return out() / id;
  }

  std::vector<std::string> ids() {
    std::vector<std::string> names;
    damaged_.clear();
    for (const ListedRun& run : list_runs(out(), damaged_)) names.push_back(run.id);
    return names;
  }

  std::string refusal_of_find(const std::string& id) {
    try {
      find_run(out(), id);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      return error.what();
    }
    return "";
  }

  fs::path out() const { return folder_.path() / "runs"; }

  TemporaryFolder folder_;
  std::vector<std::string> damaged_;
  std::vector<RunLock> locks_;
};

TEST_F(Runs, AreListedNewestFirst) {
  add("b", "2026-11-15T10:00:00.000Z");
  add("c", "2026-11-14T10:00:00.000Z");
  add("a", "2026-11-16T10:00:00.000Z");
  add("d", "2026-11-14T10:00:00.000Z");
  EXPECT_THAT(ids(), ElementsAre("a", "b", "d", "c"));
}

TEST_F(Runs, AreNoneWhereThereIsNoFolder) {
  EXPECT_THAT(ids(), IsEmpty());
  EXPECT_THAT(refusal_of_find("latest"), HasSubstr("there are no runs in"));
}

TEST_F(Runs, PassOverWhatIsNoRunAndReportWhatIsDamaged) {
  add("good", "2026-11-15T10:00:00.000Z");
  add(".deleted-old", "2026-11-15T10:00:00.000Z");
  fs::create_directories(out() / "cache");
  std::ofstream(out() / "notes.txt") << "x";
  fs::create_directory_symlink(out() / "good", out() / "newest");
  fs::create_directories(out() / "broken");
  std::ofstream(out() / "broken" / "run.json") << "{";
  EXPECT_THAT(ids(), ElementsAre("good"));
  EXPECT_THAT(damaged_, ElementsAre(HasSubstr("broken/run.json")));
  EXPECT_THAT(refusal_of_find("broken"), HasSubstr("cannot be read"));
}

TEST_F(Runs, LatestPassesOverARecordThatIsDamagedAnywhere) {
  add("good", "2026-11-15T10:00:00.000Z");
  const fs::path record = RunPaths{add("newer", "2026-11-15T11:00:00.000Z")}.record();
  std::string text = read_file(record, 1 << 20);
  text.replace(text.find("\"cores\":") + 8, 2, " \"many\" ,\"x\":");
  write_file(record, text);
  EXPECT_EQ(find_run(out(), "latest").id, "good");
}

TEST_F(Runs, WhoseProcessIsGoneAreListedAsFailed) {
  add_dead("dead");
  add_running("alive");
  const ListedRun dead = find_run(out(), "dead");
  EXPECT_EQ(dead.record.status, RunStatus::failed);
  const std::string command = "stoker run --resume " + (out() / "dead").string();
  EXPECT_EQ(dead.to_go_on, command);
  EXPECT_THAT(dead.record.error, AllOf(HasSubstr("died"), HasSubstr(command)));
  std::ofstream(out() / "dead" / "sweep.yaml") << "version: 1";
  EXPECT_THAT(find_run(out(), "dead").to_go_on, HasSubstr("stoker sweep --resume"));
  EXPECT_EQ(find_run(out(), "alive").to_go_on, "");
  EXPECT_EQ(find_run(out(), "alive").record.status, RunStatus::running);
}

// Earlier versions could be killed between the record and the document.
TEST_F(Runs, ThatDiedWithoutADocumentAreNotOfferedToBeResumed) {
  fs::remove(RunPaths{add_dead("dead")}.document());
  const ListedRun dead = find_run(out(), "dead");
  EXPECT_EQ(dead.to_go_on, "");
  EXPECT_EQ(dead.record.status, RunStatus::failed);
  EXPECT_THAT(dead.record.error, AllOf(HasSubstr("died"), HasSubstr("stoker runs delete dead")));
}

TEST_F(Runs, AreFoundByNameUniquePrefixOrLatest) {
  add("2026-11-15_one", "2026-11-15T10:00:00.000Z");
  add("2026-11-15_one-more", "2026-11-15T11:00:00.000Z");
  add("2026-11-14_two", "2026-11-14T10:00:00.000Z");
  EXPECT_EQ(find_run(out(), "2026-11-15_one").id, "2026-11-15_one");
  EXPECT_EQ(find_run(out(), "2026-11-14").id, "2026-11-14_two");
  EXPECT_EQ(find_run(out(), "latest").id, "2026-11-15_one-more");
  EXPECT_THAT(refusal_of_find("2026-11-15"), HasSubstr("2 runs begin with"));
  EXPECT_THAT(refusal_of_find("2026-11-15_ome"), HasSubstr("did you mean 2026-11-15_one?"));
  EXPECT_THAT(refusal_of_find("../runs/2026-11-14_two"), HasSubstr("there is no run"));
  EXPECT_NE(refusal_of_find(""), "");
}

TEST_F(Runs, AreDeletedWholeWithoutFollowingLinks) {
  const fs::path precious = folder_.path() / "precious";
  fs::create_directories(precious);
  std::ofstream(precious / "data.csv") << "1,2\n";
  const fs::path run = add("run", "2026-11-15T10:00:00.000Z");
  fs::create_directories(run / "checkpoints" / "1");
  fs::create_directory_symlink(precious, run / "checkpoints" / "link");
  fs::create_symlink(precious / "data.csv", run / "data.csv");
  delete_run(find_run(out(), "run"), false);
  EXPECT_TRUE(fs::is_empty(out()));
  EXPECT_TRUE(fs::exists(precious / "data.csv"));
}

TEST_F(Runs, AreNotDeletedThroughALinkOrWithoutARecord) {
  const fs::path run = add("run", "2026-11-15T10:00:00.000Z");
  fs::create_directory_symlink(run, out() / "link");
  fs::create_directories(out() / "folder");
  std::ofstream(out() / "folder" / "thesis.tex") << "x";
  for (const char* name : {"link", "folder", "absent", "."}) {
    EXPECT_THROW(delete_run({name, {out() / name}, {}}, true), Error) << name;
  }
  EXPECT_TRUE(fs::exists(run / "run.json"));
  EXPECT_TRUE(fs::exists(out() / "folder" / "thesis.tex"));
}

TEST_F(Runs, ThatStillGoOnAreDeletedOnlyByForce) {
  add_running("alive");
  const ListedRun run = find_run(out(), "alive");
  try {
    delete_run(run, false);
    FAIL() << "a running run was deleted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("still running (process " + std::to_string(::getpid())));
    EXPECT_THAT(error.what(), HasSubstr("--force"));
  }
  EXPECT_THAT(ids(), ElementsAre("alive"));
  delete_run(run, true);
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(Runs, ThatDiedCanBeDeleted) {
  add_dead("dead");
  delete_run(find_run(out(), "dead"), false);
  EXPECT_THAT(ids(), IsEmpty());
}

// As after a crash in a container or on another machine: there is no process to look at.
TEST_F(Runs, KilledWhereTheirProcessCannotBeSeenAreKnownToBeOver) {
  const fs::path folder = add_dead("elsewhere");
  std::string record = read_file(folder / "run.json", 1U << 16);
  for (const std::string key : {"boot", "host", "process_space"}) {
    const std::size_t value = record.find('"', record.find("\"" + key + "\": ") + key.size() + 4) + 1;
    record.insert(value, "another-");
  }
  write_file(folder / "run.json", record);
  ASSERT_TRUE(is_alive(*read_record({folder}).process)) << "nothing but the lock tells";
  EXPECT_EQ(find_run(out(), "elsewhere").record.status, RunStatus::failed);
  delete_run(find_run(out(), "elsewhere"), false);
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(Runs, ThatWereFinishedAreRunningWhileTheyAreGoneThroughAgain) {
  add_running("again", RunStatus::finished);
  EXPECT_EQ(find_run(out(), "again").record.status, RunStatus::running);
  EXPECT_THROW(delete_run(find_run(out(), "again"), false), Error);
  locks_.clear();
  EXPECT_EQ(find_run(out(), "again").record.status, RunStatus::finished);
}

TEST(RunLock, IsTakenOnceAndFreeAgainWhenItsHolderIsGone) {
  const TemporaryFolder folder;
  EXPECT_EQ(lock_of(folder.path()), Held::no);
  {
    const std::optional<RunLock> lock = RunLock::take(folder.path());
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock_of(folder.path()), Held::yes);
    EXPECT_FALSE(RunLock::take(folder.path()));
  }
  EXPECT_EQ(lock_of(folder.path()), Held::no);
  EXPECT_TRUE(RunLock::take(folder.path()));
}

TEST(Process, OfAnotherMachineCountsAsAliveAndOfAnEarlierStartAsGone) {
  ProcessIdentity process = this_process();
  EXPECT_TRUE(is_alive(process));
  process.start += 1;
  EXPECT_FALSE(is_alive(process)) << "the number was given to a later process";
  process.boot = "an earlier start";
  EXPECT_FALSE(is_alive(process));
  process.host = "another-machine";
  EXPECT_TRUE(is_alive(process));
}

}  // namespace
}  // namespace stoker
