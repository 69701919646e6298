// Secrets that somebody sends, though they should not.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string secret = "s3cr3tword";

json reading(const json& source) {
  json job = small_training(1);
  job["document"]["cards"]["load"]["config"] = source;
  return job;
}

// Of all files in it, however deep.
std::string text_below(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    if (!each.is_regular_file()) continue;
    std::ifstream file(each.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

TEST(ServiceSecrets, ThatAreSentAreRefusedWithAWayAndKeptNowhere) {
  const RunningService service({"--allow-urls", "--allow-databases"});
  const std::string all_jobs = "/api/training/jobs";
  const std::string address = "postgresql://anna:" + secret + "@127.0.0.1:1/houses";
  const json of_database{{"source", "postgres"}, {"uri", address}, {"table", "houses"}};
  const json of_keywords{
      {"source", "postgres"}, {"uri", "host=127.0.0.1 password=" + secret}, {"table", "houses"}};
  const json of_page{{"source", "url"}, {"url", "http://127.0.0.1:1/a.csv?token=" + secret}};
  const json of_person{{"source", "url"}, {"url", "http://" + secret + "@127.0.0.1:1/a.csv"}};
  const json as_text{{"document", reading(of_database)["document"].dump(1)}};
  json named = small_training(1);
  named["job_name"] = "reads " + address;
  json swept = reading(of_page);
  swept["document"]["cards"]["model"]["config"]["epochs"] = {{"grid", {1, 2}}};
  const std::string project = service.post("/api/projects", {{"name", "houses"}}).json()["id"];
  const std::vector<std::pair<std::string, json>> requests{
      {all_jobs, reading(of_database)},
      {all_jobs, reading(of_keywords)},
      {all_jobs, reading(of_page)},
      {all_jobs, reading(of_person)},
      {all_jobs, as_text},
      {all_jobs, named},
      {"/api/sweeps", swept},
      {"/api/datasets", {{"id", "houses"}, {"source", of_database}}},
      {"/api/datasets", {{"id", "houses"}, {"source", of_page}}},
      {"/api/projects/" + project + "/documents", {{"name", "one"}, {"content", as_text["document"]}}},
      {"/api/projects/" + project + "/documents", {{"name", "odd"}, {"content", "cards: [ " + address}}}};
  for (const auto& [path, body] : requests) {
    const HttpAnswer answer = service.post(path, body);
    EXPECT_EQ(answer.status, 422) << path << " " << body.dump(1);
    EXPECT_THAT(answer.body, HasSubstr("${NAME}"));
    EXPECT_THAT(answer.body, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(service.get(all_jobs).json()["total"], 0);
  EXPECT_THAT(text_below(service.data()), Not(HasSubstr(secret)));
  EXPECT_THAT(service.errors(), Not(HasSubstr(secret)));
}

TEST(ServiceSecrets, AreGivenAsVariables) {
  setenv("STOKER_HOUSES_PASSWORD", secret.c_str(), 1);
  const RunningService service({"--allow-databases", "--allow-variable", "STOKER_HOUSES_PASSWORD"});
  unsetenv("STOKER_HOUSES_PASSWORD");
  const json source{{"source", "postgres"},
                    {"uri", "postgresql://anna:${STOKER_HOUSES_PASSWORD}@127.0.0.1:1/houses"},
                    {"table", "houses"}};
  const HttpAnswer made = service.post("/api/training/jobs", reading(source));
  ASSERT_EQ(made.status, 201) << made.body;
  const json job = service.wait_for_job(made.json()["id"], {"failed", "completed"});
  EXPECT_EQ(job["state"], "failed");  // nobody listens there
  EXPECT_THAT(job.dump(), Not(HasSubstr(secret)));
  EXPECT_THAT(text_below(service.data()), Not(HasSubstr(secret)));
}

// Whoever names a server could have the service send it whatever its environment holds.
TEST(ServiceSecrets, OfItsEnvironmentAreNotSentToWhomARequestNames) {
  setenv("STOKER_OWN_SECRET", secret.c_str(), 1);
  const RunningService service({"--allow-urls", "--allow-databases"});
  unsetenv("STOKER_OWN_SECRET");
  const json of_page{{"source", "url"}, {"url", "http://127.0.0.1:1/${STOKER_OWN_SECRET}.csv"}};
  const json of_database{
      {"source", "postgres"}, {"uri", "postgresql://${STOKER_OWN_SECRET}@127.0.0.1:1/x"}, {"table", "x"}};
  for (const json& source : {of_page, of_database}) {
    const HttpAnswer job = service.post("/api/training/jobs", reading(source));
    EXPECT_EQ(job.status, 422);
    EXPECT_THAT(job.body, HasSubstr("--allow-variable STOKER_OWN_SECRET"));
    const HttpAnswer dataset = service.post("/api/datasets", {{"id", "x"}, {"source", source}});
    EXPECT_EQ(dataset.status, 422);
    EXPECT_THAT(dataset.body, HasSubstr("--allow-variable STOKER_OWN_SECRET"));
  }
}

// What is no address would be a file of the machine, a variable or an option to the command behind it.
TEST(ServiceSecrets, OfTheMachineAreNotReadAsAddresses) {
  const RunningService service({"--allow-urls", "--allow-databases"});
  const auto add = [&](const json& source) {
    return service.post("/api/datasets", {{"id", "x"}, {"source", source}});
  };
  std::ofstream(service.data() / "kept.csv") << "a,b\n1,2\n";
  for (const std::string& url : {(service.data() / "kept.csv").string(), std::string("kept.csv"),
                                 std::string("--help"), std::string("STOKER_STORE")}) {
    const HttpAnswer answer = add({{"source", "url"}, {"url", url}});
    EXPECT_EQ(answer.status, 422) << url;
    EXPECT_THAT(answer.body, HasSubstr("begins with http://"));
    EXPECT_EQ(add({{"source", "postgres"}, {"uri", url}, {"table", "a"}}).status, 422) << url;
  }
  EXPECT_EQ(service.get("/api/datasets/x").status, 404);
}

}  // namespace
}  // namespace stoker::test
