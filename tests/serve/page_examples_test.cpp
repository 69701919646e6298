// The examples that the page offers, sent to the service as the page sends them.
#include <fstream>
#include <iterator>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string text_of_source(const fs::path& path) {
  std::ifstream file(fs::path(STOKER_SOURCE_DIR) / path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As the page imports them.
std::vector<std::string> examples_of_page() {
  const std::string list = text_of_source("web/src/canvas/examples.ts");
  const std::regex import(R"(examples/([\w.]+)\?raw)");
  std::vector<std::string> names;
  for (std::sregex_iterator each(list.begin(), list.end(), import), end; each != end; ++each)
    names.push_back((*each)[1]);
  return names;
}

// Until something was trained or the job has ended, which may take minutes.
std::string events_until_trained(const RunningService& service, const std::string& job) {
  Connection connection(service.port());
  connection.send(fmt::format(
      "GET /api/training/jobs/{}/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\r\n",
      job, service.port(), service.token()));
  return connection.read_until([](const std::string& told) {
    for (const char* each : {"event: epoch_finished", "event: trial_finished", "\"state\":\"completed\"",
                             "\"state\":\"failed\""})
      if (told.find(each) != std::string::npos) return true;
    return false;
  });
}

TEST(PageExamples, RunThroughTheServiceAsTheyStand) {
  const RunningService service;
  const std::vector<std::string> names = examples_of_page();
  ASSERT_GE(names.size(), 8U);
  const std::string project = service.post("/api/projects", {{"name", "examples"}}).json()["id"];
  for (const std::string& name : names) {
    const HttpAnswer saved =
        service.post("/api/projects/" + project + "/documents",
                     {{"name", name}, {"content", text_of_source(fs::path("examples") / name)}});
    ASSERT_EQ(saved.status, 201) << name << saved.body;
    const HttpAnswer made = service.post("/api/documents/" + saved.json()["id"].get<std::string>() + "/run",
                                         json{{"version", 1}});
    ASSERT_EQ(made.status, 201) << name << made.body;
    const std::string job = made.json()["id"];
    const std::string told = events_until_trained(service, job);
    EXPECT_THAT(told, testing::AnyOf(testing::HasSubstr("event: epoch_finished"),
                                     testing::HasSubstr("event: trial_finished"),
                                     testing::HasSubstr("\"state\":\"completed\"")))
        << name << service.get("/api/training/jobs/" + job + "/log?lines=20").body;
    EXPECT_THAT(told, testing::Not(testing::HasSubstr("\"state\":\"failed\""))) << name;
    service.post("/api/training/jobs/" + job + "/cancel", json::object());
  }
}

}  // namespace
}  // namespace stoker::test
