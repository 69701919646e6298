// What a person, a shell or a scheduler does around the program: descriptors that are closed, limits, a
// missing TMPDIR, Ctrl-C before there is anything to keep.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/program.h"
#include "patience.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Takes connections on a free port of the loopback interface and never says a word.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, plain, size) != 0 || ::listen(socket_, 8) != 0) return;
    ::getsockname(socket_, plain, &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/houses.csv";
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  ~SilentServer() { ::close(socket_); }
  const std::string& url() const { return url_; }

 private:
  int socket_;
  std::string url_;
};

class Surroundings : public testing::Test {
 protected:
  Surroundings() {
    place_.write("houses.csv", small_table(120));
    place_.write("pipeline.yaml", network_document(3));
    fs::create_directory(temporaries());
  }

  fs::path temporaries() const { return place_.folder() / "tmp"; }
  std::vector<std::string> in_shell(const std::string& command) const {
    return {"/bin/sh", "-c", command, STOKER_PROGRAM};
  }
  std::vector<std::string> with_temporaries(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"/usr/bin/env", "TMPDIR=" + temporaries().string(), STOKER_PROGRAM};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  fs::path only_run() const {
    for (const auto& each : fs::directory_iterator(place_.folder() / "runs"))
      if (!each.path().filename().string().starts_with('.')) return each.path();
    return {};
  }

  Workplace place_;
};

TEST_F(Surroundings, WithClosedDescriptorsPutNothingIntoTheRunsFiles) {
  const std::vector<std::string> closed =
      in_shell("exec \"$0\" run pipeline.yaml --set cards.train.config.device=cpu <&- >&- 2>&-");
  EXPECT_EQ(Program(closed, place_.folder()).wait().code, 0);
  const std::string metrics = place_.read(only_run() / "metrics.csv");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 4) << metrics;
  EXPECT_EQ(metrics.find_first_not_of("abcdefghijklmnopqrstuvwxyz_,0123456789.e+-\n"), std::string::npos)
      << metrics;
  EXPECT_THAT(place_.read(only_run() / "events.jsonl"), testing::StartsWith("{"));
}

TEST_F(Surroundings, WithALimitOnTheSizeOfFilesAreToldAndLeaveNoRunThatSeemsToGoOn) {
  const Finished finished =
      Program(in_shell("ulimit -f 4; exec \"$0\" run pipeline.yaml"), place_.folder()).wait();
  EXPECT_THAT(finished.code, testing::AnyOf(1, 2));
  EXPECT_THAT(finished.errors, HasSubstr("File too large"));
  const std::string listed = place_.stoker({"runs", "list"}).output;
  EXPECT_THAT(listed, Not(HasSubstr("running")));
  EXPECT_THAT(listed, Not(HasSubstr("died")));
}

TEST_F(Surroundings, ThatTakeNoOutputAreAPlaceThatCannotBeWritten) {
  const Finished finished = Program(in_shell("exec \"$0\" cards > /dev/full"), place_.folder()).wait();
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("cannot write to standard output: No space left"));
}

TEST_F(Surroundings, WithoutAFolderForTemporaryFilesDoNotCostATraining) {
  const Finished finished =
      Program({"/usr/bin/env", "TMPDIR=/nowhere/at/all", STOKER_PROGRAM, "run", "pipeline.yaml"},
              place_.folder())
          .wait();
  EXPECT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(place_.read(only_run() / "run.json"), HasSubstr("\"finished\""));
  const Finished predicted =
      Program({"/usr/bin/env", "TMPDIR=/nowhere/at/all", STOKER_PROGRAM, "predict", "latest", "houses.csv"},
              place_.folder())
          .wait();
  EXPECT_EQ(predicted.code, 2);
  EXPECT_THAT(predicted.errors, HasSubstr("set TMPDIR"));
}

TEST_F(Surroundings, EndADownloadOfPredictWithoutATrace) {
  ASSERT_EQ(place_.stoker({"run", "pipeline.yaml", "--quiet"}).code, 0);
  const SilentServer server;
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program(with_temporaries({"predict", "latest", server.url(), "--url-timeout", "3600"}),
                    place_.folder());
    ASSERT_TRUE(comes_true([&] { return !fs::is_empty(temporaries()); }));
    program.send(signal);
    EXPECT_EQ(program.wait().code, 128 + signal);
    EXPECT_THAT(files_below(temporaries()), IsEmpty());
  }
}

TEST_F(Surroundings, EndADownloadOfARunBeforeItsTimeOut) {
  const SilentServer server;
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program(with_temporaries({"train", server.url(), "--target", "y", "--url-timeout", "3600"}),
                    place_.folder());
    ASSERT_TRUE(comes_true([&] { return !fs::is_empty(temporaries()); }));
    program.send(signal);
    const Finished finished = program.wait();
    EXPECT_EQ(finished.code, 130) << finished.errors;
    EXPECT_THAT(files_below(temporaries()), IsEmpty());
  }
}

TEST_F(Surroundings, EndPredictionsThatAreBeingWrittenWithoutATrace) {
  ASSERT_EQ(place_.stoker({"run", "pipeline.yaml", "--quiet"}).code, 0);
  place_.write("many.csv", small_table(300'000));
  const fs::path results = place_.folder() / "results";
  fs::create_directory(results);
  Program program(
      {STOKER_PROGRAM, "predict", "latest", "many.csv", "--output", "results/p.csv", "--include-features"},
      place_.folder());
  ASSERT_TRUE(comes_true([&] { return !fs::is_empty(results); }));
  program.send(SIGINT);
  const int code = program.wait().code;
  const std::vector<std::string> left = files_below(results);
  if (code == 128 + SIGINT) {
    EXPECT_THAT(left, testing::AnyOf(IsEmpty(), testing::ElementsAre("p.csv")));
  } else {
    EXPECT_THAT(left, testing::ElementsAre("p.csv"));  // it was done before the signal came
  }
}

TEST_F(Surroundings, ThatKillPredictionsLeaveWhatTheNextOnesClear) {
  ASSERT_EQ(place_.stoker({"run", "pipeline.yaml", "--quiet"}).code, 0);
  place_.write("many.csv", small_table(300'000));
  const fs::path results = place_.folder() / "results";
  fs::create_directory(results);
  {
    Program program({STOKER_PROGRAM, "predict", "latest", "many.csv", "--output", "results/p.csv"},
                    place_.folder());
    ASSERT_TRUE(comes_true([&] { return !fs::is_empty(results); }));
    program.send(SIGKILL);
    program.wait();
  }
  ASSERT_EQ(place_.stoker({"predict", "latest", "houses.csv", "--output", "results/p.csv"}).code, 0);
  EXPECT_THAT(files_below(results), testing::ElementsAre("p.csv"));
}

}  // namespace
}  // namespace stoker::test
