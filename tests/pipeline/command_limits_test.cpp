// What ends a program of the operator's own before its time, and that nothing of it is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/card/command_process.h"
#include "pipeline/commands_place.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A word that its program writes the number of a process to, in a place that outlives it.
std::string noted_in(const CommandsPlace& place, const std::string& name) {
  const std::string file = (place.folder() / name).string();
  return "> " + file + ".new; mv " + file + ".new " + file;
}

TEST(CommandLimits, TimeEndsAllItsProcesses) {
  CommandsPlace place;
  place.command("echo waits; (trap '' TERM HUP INT; while :; do sleep 1; done) & echo $! " +
                    noted_in(place, "child") + "; setsid sleep 600 & echo $! " + noted_in(place, "away") +
                    "; sleep 600",
                "time_limit: 10\n");  // long enough for it to have begun on a busy machine
  const Error error = place.failure();
  EXPECT_EQ(error.code(), ExitCode::run_failed);
  EXPECT_THAT(error.what(),
              HasSubstr("command own took longer than its time_limit of 10 s; its last words:\nwaits"));
  EXPECT_TRUE(CommandsPlace::is_gone(place.process_in("child")));
  EXPECT_TRUE(CommandsPlace::is_gone(place.process_in("away"))) << "in a session of its own";
}

TEST(CommandLimits, TheTimeOfTheCardCountsToo) {
  CommandsPlace place;
  place.command("echo $$ " + noted_in(place, "own") + "; sleep 600");
  const Error error = place.failure(", time_limit: 10");
  EXPECT_EQ(error.code(), ExitCode::run_failed);
  EXPECT_THAT(error.what(), HasSubstr("took longer than the time_limit of its card"));
  EXPECT_TRUE(CommandsPlace::is_gone(place.process_in("own")));
}

TEST(CommandLimits, WhatItLeavesBehindIsEnded) {
  CommandsPlace place;
  place.command("cp $input $output; setsid sh -c 'sleep 600 & sleep 600' & echo $! " +
                noted_in(place, "away"));
  const Watched run = place.run();
  EXPECT_THAT(run.watcher.ran, Contains("own"));
  EXPECT_THAT(run.watcher.warnings, Contains(HasSubstr("that it had started; these were ended too")));
  EXPECT_TRUE(CommandsPlace::is_gone(place.process_in("away")));
}

TEST(CommandLimits, MemoryOfOneProcess) {
  CommandsPlace place;
  place.command("head -c 400000000 /dev/zero | tail -n 1 > /dev/null && cp $input $output",
                "memory_limit_gib: 0.1\n");
  EXPECT_THAT(place.failure().what(), AllOf(HasSubstr("command own"), HasSubstr("memory")));
}

// Each has less than it may have, all together more.
TEST(CommandLimits, MemoryOfAllProcesses) {
  CommandsPlace place;
  place.command(
      "for i in 1 2 3; do (head -c 60000000 /dev/zero; sleep 600) | tail -n 1 > /dev/null & done; wait; cp "
      "$input "
      "$output",
      "memory_limit_gib: 0.1\ntime_limit: 3600\n");
  const Error error = place.failure();
  EXPECT_EQ(error.code(), ExitCode::run_failed);
  EXPECT_THAT(error.what(), HasSubstr("used more memory than its memory_limit_gib allows (102.4 MiB)"));
}

TEST(CommandLimits, WhatItWrites) {
  CommandsPlace place;
  for (const char* words : {"exec head -c 60000000 /dev/zero > $output",
                            "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done"}) {
    place.command(words, "output_limit_gib: 0.02\ntime_limit: 3600\n");
    EXPECT_THAT(place.failure().what(), HasSubstr("wrote more than its output_limit_gib allows")) << words;
  }
}

TEST(CommandLimits, WhatItSaysDoesNotFillTheRecord) {
  CommandsPlace place;
  place.command("seq 1 5000 >&2; head -c 5000 /dev/zero | tr '\\0' a; cp $input $output");
  const std::vector<std::string> notes = place.run().watcher.notes;
  EXPECT_THAT(notes, Contains("own: 100"));
  EXPECT_THAT(notes, testing::Not(Contains("own: 101")));
  EXPECT_THAT(notes, Contains("own: 4,905 lines more, which are not noted"))
      << "a line of 5,000 bytes is told in five";
  place.command("yes without end", "time_limit: 1\n");
  Watcher& watcher = place.watcher;
  EXPECT_THAT(place.failure().what(), HasSubstr("took longer than its time_limit of 1 s"));
  EXPECT_LE(watcher.notes.size(), 110U);
}

TEST(CommandLimits, AnInterruptionEndsItAndTheRunGoesOn) {
  CommandsPlace place;
  const std::string wait =
      "[ -e " + (place.folder() / "go_on").string() + " ] || sleep 600; cp $input $output";
  place.command("echo $$ " + noted_in(place, "own") + "; " + wait);
  const Document document = place.document();
  StopSignal stop;
  std::thread person([&] {
    place.process_in("own");
    stop.interrupt();
  });
  ExitCode code = ExitCode::done;
  try {
    run_pipeline(document, place.options(), place.watcher, stop);
  } catch (const Error& error) {
    code = error.code();
  }
  person.join();
  EXPECT_EQ(code, ExitCode::interrupted);
  EXPECT_TRUE(CommandsPlace::is_gone(place.process_in("own")));
  write_file(place.folder() / "go_on", "");
  RunOptions options = place.options();
  options.resume = place.watcher.run_folder;
  const Watched resumed = run_watched(document, options);
  EXPECT_THAT(resumed.watcher.ran, Contains("own"));
  EXPECT_THAT(resumed.watcher.reused, Contains("load"));
}

// Guards are copies of one process, which must not keep open what tells another that its program runs or
// ends.
TEST(CommandLimits, SeveralAtOnceDoNotWaitForEachOther) {
  const TemporaryFolder folder;
  constexpr int programs = 12;
  std::vector<ProgramEnd> ends(programs);
  std::vector<std::thread> threads;
  for (int i = 0; i < programs; ++i)
    threads.emplace_back([&, i] {
      GuardedProgram program;
      program.words = {"/bin/sh", "-c", "setsid sleep 600 & exit " + std::to_string(i)};
      program.environment = {"PATH=/usr/bin:/bin"};
      program.folder = program.writes_below = folder.path();
      program.seconds = 300;
      program.memory_bytes = program.disk_bytes = std::uint64_t{1} << 30U;
      const StopSignal stop;
      ends[static_cast<std::size_t>(i)] = run_guarded(program, stop, [](std::string_view) {});
    });
  for (std::thread& each : threads) each.join();
  for (int i = 0; i < programs; ++i) {
    const ProgramEnd& end = ends[static_cast<std::size_t>(i)];
    EXPECT_EQ(end.by, ProgramEnd::By::itself);
    EXPECT_EQ(end.code, i);
    EXPECT_LE(end.left_behind, 1);
  }
}

TEST(CommandLimits, AProgramThatCannotBeRunIsRefused) {
  CommandsPlace place;
  write_file(place.commands() / "own.sh", "#!/no/such/interpreter\n");
  fs::permissions(place.commands() / "own.sh", fs::perms(0755));
  place.declare();
  const Error error = place.failure();
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("own.sh cannot be run: No such file or directory"));
}

TEST(CommandLimits, NothingStaysInTheTemporaryFolder) {
  const TemporaryFolder temporary;
  setenv("TMPDIR", temporary.path().c_str(), 1);
  {
    CommandsPlace place;
    place.command("mkdir -p deep/er; touch deep/er/file; exit 1");
    place.failure();
    place.command("cp $input $output");
    place.run();
  }
  unsetenv("TMPDIR");
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

}  // namespace
}  // namespace stoker
