#include <csignal>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bytes_read.h"
#include "serve/event_text.h"
#include "serve/running_service.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

const std::string jobs = "/api/training/jobs";

// Takes minutes; writes a checkpoint often.
json long_training(int seed = 1) {
  json job = small_training(200'000, seed);
  job["document"]["cards"]["train"]["config"]["checkpoint_seconds"] = 0.2;
  return job;
}

std::string started(const RunningService& service, const json& job) {
  const HttpAnswer made = service.post(jobs, job);
  EXPECT_EQ(made.status, 201) << made.body;
  return made.json()["id"];
}

pid_t process_of_job(const RunningService& service, const std::string& id) {
  long process = 0;
  const bool has_one = comes_true([&] {
    std::ifstream file(service.data() / "jobs" / id / "lock");
    return file >> process && process > 1;
  });
  if (!has_one) throw std::runtime_error("the job has no process");
  return static_cast<pid_t>(process);
}

void wait_for_file(const fs::path& file, std::uintmax_t more_than = 0) {
  const bool has_come = comes_true([&] {
    std::error_code none;
    const auto size = fs::file_size(file, none);
    return !none && size > more_than;
  });
  if (!has_come) throw std::runtime_error(file.string() + " does not come");
}

// Until its first epochs are told.
std::string trained_a_while(const RunningService& service, const std::string& id) {
  service.wait_for_job(id, {"running"});
  const std::string run = service.get(jobs + "/" + id).json()["run"];
  constexpr std::uintmax_t some_epochs = 3000;
  wait_for_file(service.data() / "runs" / run / "events.jsonl", some_epochs);
  return run;
}

bool is_gone(pid_t process) {
  return comes_true([&] {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    return !std::getline(file, line) || line.find(") Z ") != std::string::npos;
  });
}

json ended(const RunningService& service, const std::string& id) {
  return service.wait_for_job(id, {"completed", "failed", "cancelled"});
}

bool blocks(const fs::path& thread, int signal) {
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:"))
      return (std::stoull(line.substr(line.find('\t') + 1), nullptr, 16) >> (signal - 1)) % 2 == 1;
  return true;  // the thread has ended
}

// The thread that waits for the end takes the signal; in any other one it would end the service with its
// jobs.
TEST(EndureProcess, TakesARequestToEndInItsMainThreadAlone) {
  const RunningService service;
  const std::string process = std::to_string(service.process());
  for (const auto& thread : fs::directory_iterator("/proc/" + process + "/task")) {
    if (thread.path().filename() == process) continue;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      EXPECT_TRUE(blocks(thread.path(), signal)) << thread.path() << " takes signal " << signal;
  }
}

TEST(EndureProcess, ThatIsKilledFailsItsJobAlone) {
  const RunningService service({"--workers", "2"});
  const std::string killed = started(service, long_training(1));
  const std::string crashed = started(service, long_training(2));
  trained_a_while(service, killed);
  trained_a_while(service, crashed);
  kill(process_of_job(service, killed), SIGKILL);
  kill(process_of_job(service, crashed), SIGSEGV);
  const json first = ended(service, killed);
  EXPECT_EQ(first["state"], "failed");
  EXPECT_THAT(first["reason"].get<std::string>(), HasSubstr("was killed (SIGKILL)"));
  EXPECT_THAT(first["reason"].get<std::string>(), HasSubstr("its last words"));
  const json second = ended(service, crashed);
  EXPECT_EQ(second["state"], "failed");
  EXPECT_THAT(second["reason"].get<std::string>(), HasSubstr("crashed: Segmentation fault"));
  EXPECT_EQ(service.get("/healthz").status, 200);
}

TEST(EndureProcess, ThatIsHaltedIsEndedAsHung) {
  const RunningService service({"--hang-after", "2"});
  const std::string id = started(service, long_training());
  trained_a_while(service, id);
  const pid_t process = process_of_job(service, id);
  kill(-process, SIGSTOP);
  const json job = ended(service, id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_THAT(job["reason"].get<std::string>(), HasSubstr("it hung: it did nothing for 2 seconds"));
  EXPECT_TRUE(is_gone(process));
}

TEST(EndureProcess, ThatNobodyWatchedGoesOnFromItsCheckpoint) {
  RunningService service;
  const std::string id = started(service, small_training(3000));
  trained_a_while(service, id);
  service.kill();
  kill(-process_of_job(service, id), SIGKILL);
  service.start();
  EXPECT_EQ(ended(service, id)["state"], "completed");
  EXPECT_EQ(epochs_in(service.get(jobs + "/" + id + "/events").body), numbers_to(3000));
}

TEST(EndureProcess, ComesFurtherEachTimeAndMayBeKilledAnyNumberOfTimes) {
  RunningService service;
  const std::string id = started(service, long_training());
  constexpr int more_than_may_fail_in_a_row = 7;
  std::uintmax_t told = 0;
  for (int i = 0; i < more_than_may_fail_in_a_row; ++i) {
    const std::string run = trained_a_while(service, id);
    const fs::path events = service.data() / "runs" / run / "events.jsonl";
    wait_for_file(events, told + 20'000);
    service.kill();
    const pid_t process = process_of_job(service, id);
    kill(-process, SIGKILL);
    ASSERT_TRUE(is_gone(process));
    told = fs::file_size(events);
    service.start();
  }
  EXPECT_THAT(service.get(jobs + "/" + id).json()["state"].get<std::string>(), AnyOf("queued", "running"));
}

TEST(EndurePause, EndsTheProcessAndLosesNothing) {
  const RunningService service;
  const std::string id = started(service, small_training(4000));
  const std::string run = trained_a_while(service, id);
  const pid_t process = process_of_job(service, id);
  EXPECT_EQ(service.post(jobs + "/" + id + "/pause", {}).status, 202);
  service.wait_for_job(id, {"paused"});
  EXPECT_TRUE(is_gone(process));
  const std::string first = service.get(jobs + "/" + id + "/events").body;
  EXPECT_THAT(first, HasSubstr("\"state\":\"paused\""));
  const std::size_t at = first.rfind("id: ");
  const std::string place = first.substr(at + 4, first.find('\n', at) - at - 4);
  EXPECT_EQ(service.post(jobs + "/" + id + "/resume", {}).status, 202);
  EXPECT_EQ(ended(service, id)["state"], "completed");
  const std::string rest =
      service.ask("GET", jobs + "/" + id + "/events", "", {{"Last-Event-ID", place}}).body;
  EXPECT_EQ(epochs_in(first + rest), numbers_to(4000));
}

TEST(EndurePause, RightAfterTheStartAndCancelledLater) {
  const RunningService service;
  for (int i = 0; i < 5; ++i) {
    const std::string id = started(service, long_training(i));
    EXPECT_EQ(service.post(jobs + "/" + id + "/pause", {}).status, 202);
    service.wait_for_job(id, {"paused"});
    EXPECT_EQ(service.post(jobs + "/" + id + "/cancel", {}).json()["state"], "cancelled");
  }
  EXPECT_EQ(service.get(jobs + "?state=cancelled").json()["total"], 5);
}

pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  return 0;
}

// What the service reads of a job does not grow with the job's events. The kernel counts what the process of
// the job has read as well, once that process has ended.
TEST(EndureEvents, AreNotReadFromTheBeginningWhenTheirJobIsResumedAndCancelled) {
  const RunningService service;
  const std::string id = started(service, long_training());
  const std::string run = trained_a_while(service, id);
  const pid_t of_service = parent_of(process_of_job(service, id));
  EXPECT_EQ(service.post(jobs + "/" + id + "/pause", {}).status, 202);
  service.wait_for_job(id, {"paused"});
  const fs::path events = service.data() / "runs" / run / "events.jsonl";
  constexpr std::uint64_t many_bytes = std::uint64_t{64} << 20U;
  {
    std::ofstream file(events, std::ios::app);
    const std::string line =
        R"({"time":"2026-11-17T02:25:05Z","event":"epoch_finished","card":"train","epoch":1})";
    for (std::uint64_t bytes = 0; bytes < many_bytes; bytes += line.size() + 1) file << line << '\n';
  }
  const std::uint64_t before = bytes_read(std::to_string(of_service));
  EXPECT_EQ(service.post(jobs + "/" + id + "/resume", {}).status, 202);
  wait_for_file(events, fs::file_size(events) + 3000);
  EXPECT_EQ(service.post(jobs + "/" + id + "/cancel", {}).status, 202);
  EXPECT_EQ(ended(service, id)["state"], "cancelled");
  EXPECT_LT(bytes_read(std::to_string(of_service)) - before, many_bytes / 2);
}

TEST(EndureRemoval, OfARunningJobEndsItFirst) {
  const RunningService service;
  const std::string id = started(service, long_training());
  const std::string run = trained_a_while(service, id);
  const pid_t process = process_of_job(service, id);
  EXPECT_EQ(service.ask("DELETE", jobs + "/" + id).status, 202);
  EXPECT_TRUE(is_gone(process));
  EXPECT_TRUE(comes_true([&] { return service.get(jobs + "/" + id).status == 404; }));
  EXPECT_FALSE(fs::exists(service.data() / "runs" / run));
  EXPECT_FALSE(fs::exists(service.data() / "jobs" / id));
}

TEST(EndureRemoval, ThatWasCutShortIsFinishedAtTheNextStart) {
  RunningService service;
  const std::string id = started(service, small_training(3));
  const std::string run = ended(service, id)["run"];
  // A file in place of the folder cannot be removed as one, so that the deletion stops in between.
  const fs::path folder = service.data() / "runs" / run;
  const fs::path aside = service.data() / "aside";
  fs::rename(folder, aside);
  std::ofstream(folder) << "in the way";
  EXPECT_EQ(service.ask("DELETE", jobs + "/" + id).status, 503);
  EXPECT_EQ(service.post(jobs + "/" + id + "/resume", {}).status, 409);
  EXPECT_EQ(service.get("/api/models").json()["total"], 1);
  service.kill();
  fs::remove(folder);
  fs::rename(aside, folder);
  service.start();
  EXPECT_EQ(service.get(jobs + "/" + id).status, 404);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_FALSE(fs::exists(service.data() / "jobs" / id));
  EXPECT_TRUE(fs::is_empty(service.data() / "removing"));
  EXPECT_EQ(service.get("/api/models").json()["total"], 0) << "a model whose files are gone";
}

TEST(EndureTime, OfAJobCountsOverPausesAndServices) {
  RunningService service;
  json job = long_training();
  job["time_limit"] = 20;
  const std::string id = started(service, job);
  trained_a_while(service, id);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  service.kill();
  service.start();
  EXPECT_GE(service.get(jobs + "/" + id).json()["seconds_used"], 2);
  service.post(jobs + "/" + id + "/pause", {});
  const json paused = service.wait_for_job(id, {"paused", "failed"});
  if (paused["state"] == "failed")
    GTEST_SKIP() << "the machine is too busy: its time was over before the pause";
  const double used = paused["seconds_used"];
  EXPECT_GE(used, 2);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(service.get(jobs + "/" + id).json()["seconds_used"], used);
  service.post(jobs + "/" + id + "/resume", {});
  const json over = ended(service, id);
  EXPECT_EQ(over["state"], "failed");
  EXPECT_THAT(over["reason"].get<std::string>(), HasSubstr("time limit of 20 seconds"));
}

TEST(EndureFolder, RemovedByHandFailsTheJobAndLeavesNoProcess) {
  const RunningService service;
  const std::string id = started(service, long_training());
  const std::string run = trained_a_while(service, id);
  const pid_t process = process_of_job(service, id);
  fs::remove_all(service.data() / "runs" / run);
  const json job = ended(service, id);
  EXPECT_EQ(job["state"], "failed");
  EXPECT_THAT(job["reason"].get<std::string>(), HasSubstr("was deleted or moved during the run"));
  EXPECT_TRUE(is_gone(process));
}

TEST(EndureQueue, TellsWhatAJobWaitsForAndTakesOwnersInTurn) {
  const RunningService service({"--workers", "1"});
  const std::string first = started(service, long_training(1));
  const std::string second = started(service, long_training(2));
  const std::string third = started(service, long_training(3));
  service.wait_for_job(first, {"running"});
  EXPECT_EQ(service.get(jobs + "/" + third).json()["waits_for"],
            "a free slot on the processor; running: " + first + "; 1 job came before it");
  json urgent = long_training(4);
  urgent["priority"] = 5;
  const std::string fourth = started(service, urgent);
  service.post(jobs + "/" + first + "/cancel", {});
  service.wait_for_job(fourth, {"running"});
  EXPECT_EQ(service.get(jobs + "/" + second).json()["state"], "queued");
}

TEST(EndureQueue, RefusesAJobThatAsksForAGpuWhereThereIsNone) {
  const RunningService service;
  json job = small_training(3);
  job["document"]["cards"]["train"]["config"]["device"] = "cuda";
  const HttpAnswer answer = service.post(jobs, job);
  if (answer.status == 201) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("this service has no GPU"));
}

}  // namespace
}  // namespace stoker::test
