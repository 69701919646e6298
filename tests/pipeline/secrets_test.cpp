#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "data/loopback_server.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/watchers.h"

// What an address alone may know does not get about.
namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* token = "OpenSesame1001";

std::string houses_csv() {
  std::string csv = "rooms,MEDV\n";
  for (int i = 0; i < 50; ++i) csv += fmt::format("{},{}\n", i % 7, 2 * (i % 7) + i % 3);
  return csv;
}

std::string files_that_hold(const std::string& text, const fs::path& folder) {
  std::string found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const bool holds =
        entry.is_regular_file() && read_file(entry.path(), 1U << 26).find(text) != std::string::npos;
    if (holds || entry.path().string().find(text) != std::string::npos) found += entry.path().string() + "\n";
  }
  return found;
}

class Secrets : public testing::Test {
 protected:
  Document document() const {
    SmallPipeline pipeline;
    pipeline.load = fmt::format("source: url, url: '{}'", server_.url("/houses.csv?token=") + token);
    return pipeline.document();
  }
  RunOptions resuming(const fs::path& run) const {
    RunOptions options = options_in(folder_.path());
    options.resume = run;
    return options;
  }
  void TearDown() override { unsetenv("STOKER_LOAD_TOKEN"); }

  TemporaryFolder folder_;
  LoopbackServer server_{[](const auto& target, const auto& write) {
    const bool may = target == std::string("/houses.csv?token=") + token;
    write(may ? answer("200 OK", "", houses_csv()) : answer("403 Forbidden", "", "no"));
  }};
};

TEST_F(Secrets, OfAnAddressAreInNoFileThatARunLeaves) {
  const Watched run = run_watched(document(), options_in(folder_.path()));
  EXPECT_EQ(files_that_hold(token, folder_.path()), "");
  const std::string kept = read_file(run.summary.folder / "pipeline.yaml", 1U << 20);
  EXPECT_THAT(kept, HasSubstr("/houses.csv?token=${STOKER_LOAD_TOKEN}"));
}

TEST_F(Secrets, AreNeededAgainToResumeARun) {
  const Document first = document();
  const fs::path run = run_watched(first, options_in(folder_.path())).summary.folder;
  Watcher watcher;
  const Error error = failure_of(document_of_run(run), resuming(run), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("STOKER_LOAD_TOKEN, which is not set"), Not(HasSubstr(token))));
  EXPECT_EQ(run_watched(first, resuming(run)).watcher.reused.size(), 5U);
  setenv("STOKER_LOAD_TOKEN", token, 1);
  EXPECT_EQ(run_watched(document_of_run(run), resuming(run)).watcher.reused.size(), 5U);
  EXPECT_EQ(files_that_hold(token, folder_.path()), "");
}

TEST_F(Secrets, ThatAreWrongAreNotRepeated) {
  setenv("STOKER_LOAD_TOKEN", "TryThisOne", 1);
  const fs::path run = run_watched(document(), options_in(folder_.path())).summary.folder;
  Watcher watcher;
  const Error error = failure_of(document_of_run(run), resuming(run), watcher);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("403"), Not(HasSubstr("TryThisOne"))));
  EXPECT_EQ(files_that_hold("TryThisOne", folder_.path()), "");
}

TEST_F(Secrets, InFrontOfTheHostAreRefused) {
  SmallPipeline pipeline;
  pipeline.load = "source: url, url: 'http://me:OpenSesame1001@localhost/houses.csv'";
  EXPECT_THAT(
      refusal_of(pipeline.text()),
      AllOf(HasSubstr("cards.load.config.url: contains a user name or password"), Not(HasSubstr(token))));
}

}  // namespace
}  // namespace stoker
