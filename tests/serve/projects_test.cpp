// Projects as people use them: made at a terminal, given to tokens, named by requests.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class ServiceProjects : public testing::Test {
 protected:
  Finished at_terminal(std::vector<std::string> words) const {
    words.insert(words.end(), {"--data", service_.data().string()});
    return service_.place().stoker(words);
  }
  std::string first_line(const std::vector<std::string>& words) const {
    const Finished made = at_terminal(words);
    EXPECT_EQ(made.code, 0) << made.errors;
    return made.output.substr(0, made.output.find('\n'));
  }
  json asked_with(const std::string& token, const std::string& path) const {
    return service_.ask("GET", path, "", {{"Authorization", "Bearer " + token}}).json();
  }

  RunningService service_;
};

TEST_F(ServiceProjects, AreMadeAndGivenToTokensAtTheTerminal) {
  const std::string id = first_line({"projects", "create", "houses"});
  const std::string anna = first_line({"tokens", "create", "anna", "--role", "user", "--project", "houses"});
  json projects = asked_with(anna, "/api/projects")["projects"];
  ASSERT_EQ(projects.size(), 1U);
  EXPECT_EQ(projects[0]["id"], id);
  EXPECT_EQ(projects[0]["role"], "user");
  const json made = service_
                        .ask("POST", "/api/training/jobs", small_training(1).dump(),
                             {{"Authorization", "Bearer " + anna}, {"Content-Type", "application/json"}})
                        .json();
  EXPECT_EQ(made["project"], id);
  EXPECT_EQ(service_.get("/api/training/jobs").json()["total"], 0);
  EXPECT_EQ(service_.get("/api/training/jobs?project=" + id).json()["total"], 1);
  EXPECT_EQ(service_.wait_for_job(made["id"], {"completed", "failed"})["state"], "completed");
  const std::string run = made["run"];
  EXPECT_TRUE(std::filesystem::exists(service_.data() / "projects" / id / "runs" / run / "run.json"));
  EXPECT_FALSE(std::filesystem::exists(service_.data() / "runs" / run));

  EXPECT_EQ(at_terminal({"tokens", "grant", "anna", "--project", "default", "--role", "viewer"}).code, 0);
  EXPECT_THAT(at_terminal({"tokens", "list"}).output,
              AllOf(HasSubstr("default: viewer"), HasSubstr("houses: user")));
  EXPECT_EQ(at_terminal({"tokens", "withdraw", "anna", "--project", id}).code, 0);
  // What a service knows of a token counts for a second.
  do projects = asked_with(anna, "/api/projects")["projects"];
  while (projects.size() != 1 || projects[0]["id"] == id);
  EXPECT_EQ(projects[0]["id"], "default");
  EXPECT_EQ(projects[0]["role"], "viewer");
}

TEST_F(ServiceProjects, ThatAreNotThereAreRejectedAtTheTerminal) {
  first_line({"projects", "create", "houses"});
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"tokens", "create", "anna", "--project", "house"},
           {"tokens", "create", "anna", "--role", "admin", "--project", "houses"},
           {"tokens", "grant", "nobody", "--project", "houses"},
           {"tokens", "withdraw", "first", "--project", "houses"},
           {"projects", "create", ""}})
    EXPECT_EQ(at_terminal(words).code, 2) << words[1];
  EXPECT_THAT(at_terminal({"tokens", "create", "anna", "--project", "house"}).errors, HasSubstr("houses"));
  EXPECT_EQ(service_.get("/api/tokens").json()["tokens"].size(), 1U);
}

TEST_F(ServiceProjects, HaveDatasetsOfTheirOwnAtTheTerminal) {
  first_line({"projects", "create", "houses"});
  ::setenv("STOKER_STORE", (service_.data() / "store.sqlite").c_str(), 1);
  const auto stoker = [&](const std::vector<std::string>& words) { return service_.place().stoker(words); };
  EXPECT_EQ(stoker({"datasets", "add", "rows", "sample:boston_housing", "--project", "houses"}).code, 0);
  EXPECT_EQ(stoker({"datasets", "show", "rows", "--project", "houses"}).code, 0);
  EXPECT_EQ(stoker({"preview", "dataset:rows", "--project", "houses"}).code, 0);
  EXPECT_EQ(stoker({"datasets", "show", "rows"}).code, 2);
  EXPECT_EQ(stoker({"preview", "dataset:rows"}).code, 2);
  const Finished unknown = stoker({"datasets", "list", "--project", "house"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("houses"));
  ::unsetenv("STOKER_STORE");
}

TEST_F(ServiceProjects, WithThingsInThemAreNotDeleted) {
  const std::string id = first_line({"projects", "create", "houses"});
  const std::string path = "/api/projects/" + id;
  service_.post("/api/datasets/generate?project=" + id,
                {{"id", "rows"}, {"sample", "boston_housing"}, {"rows", 20}});
  const HttpAnswer kept = service_.ask("DELETE", path + "?for_good=true");
  EXPECT_EQ(kept.status, 409);
  EXPECT_THAT(kept.body, HasSubstr("1 dataset"));
  EXPECT_EQ(service_.ask("DELETE", "/api/datasets/rows?project=" + id).status, 200);
  EXPECT_EQ(service_.ask("DELETE", path).status, 200);
  EXPECT_FALSE(std::filesystem::exists(service_.data() / "projects" / id));
  EXPECT_EQ(service_.get(path).status, 404);
  EXPECT_EQ(service_.get("/api/datasets?project=" + id).status, 404);
  EXPECT_EQ(service_.ask("DELETE", "/api/projects/default?for_good=true").status, 409);
}

TEST_F(ServiceProjects, AreNamedOnceByARequest) {
  const std::string id = first_line({"projects", "create", "houses"});
  EXPECT_EQ(service_.get("/api/projects/" + id + "/documents?project=" + id).status, 200);
  EXPECT_EQ(service_.get("/api/projects/" + id + "/documents?project=default").status, 400);
  EXPECT_EQ(service_.get("/api/training/jobs?project=").status, 200);
  for (const char* wrong : {"nowhere", "..", "a%27b", "DEFAULT", "a%2Fb"})
    EXPECT_EQ(service_.get(std::string("/api/training/jobs?project=") + wrong).status, 404) << wrong;
}

}  // namespace
}  // namespace stoker::test
