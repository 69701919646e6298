// Cards, projects and documents: saved, versioned, checked and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ServiceDocuments : public testing::Test {
 protected:
  static void SetUpTestSuite() { service_ = std::make_unique<RunningService>(); }
  static void TearDownTestSuite() { service_.reset(); }

  static HttpAnswer patch(const std::string& path, const json& body) {
    return service_->ask("PATCH", path, body.dump(), {{"Content-Type", "application/json"}});
  }
  static std::string new_project() {
    return service_->post("/api/projects", {{"name", "houses"}}).json()["id"];
  }
  // Of a project of its own, unless one is named.
  static std::string new_document(const std::string& content, std::string project = "") {
    if (project.empty()) project = new_project();
    const HttpAnswer made =
        service_->post("/api/projects/" + project + "/documents", {{"name", "prices"}, {"content", content}});
    EXPECT_EQ(made.status, 201) << made.body;
    return "/api/documents/" + made.json()["id"].get<std::string>();
  }
  static std::string pipeline(int epochs = 2) { return small_training(epochs)["document"].dump(2); }

  static std::unique_ptr<RunningService> service_;
};
std::unique_ptr<RunningService> ServiceDocuments::service_;

TEST_F(ServiceDocuments, ShowTheFirstTrainingStepOfACard) {
  const auto asked = [](json body) { return service_->post("/api/documents/step", body); };
  const HttpAnswer answer = asked({{"content", pipeline()}, {"card", "train"}, {"rows", 5}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json explained = answer.json();
  EXPECT_EQ(explained["card"], "train");
  ASSERT_EQ(explained["steps"].size(), 8U);
  EXPECT_EQ(explained["steps"][0]["row_numbers"].size(), 5U);
  EXPECT_EQ(explained["steps"][5]["of_rows"].size(), 5U);
  EXPECT_EQ(asked({{"content", pipeline()}, {"rows", 65}}).status, 422);
  EXPECT_THAT(asked({{"content", pipeline()}, {"card", "trian"}}).body, HasSubstr("did you mean train?"));
  const HttpAnswer wrong = asked({{"content", "version: 1\ncards: { load: { type: data_lode } }\n"}});
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.json()["problems"].size(), 1U) << wrong.body;
  json outside = json::parse(pipeline());
  outside["cards"]["load"]["config"] = {{"source", "csv"}, {"path", "/etc/passwd"}};
  EXPECT_EQ(asked({{"content", outside.dump()}}).status, 422);
}

TEST_F(ServiceDocuments, CardsHavePortsAndSchemasOfTheirSettings) {
  const json cards = service_->get("/api/cards").json()["cards"];
  const auto named = [&](const std::string& name) {
    for (const json& card : cards)
      if (card["name"] == name) return card;
    return json();
  };
  const json train = named("train_gpu");
  EXPECT_EQ(train["inputs"][0]["name"], "train_dataset");
  EXPECT_EQ(train["inputs"][0]["type"], "table");
  EXPECT_EQ(train["inputs"][0]["required"], true);
  EXPECT_EQ(train["trains"], true);
  EXPECT_TRUE(train["settings"]["properties"].contains("target_column"));
  EXPECT_FALSE(named("model_define_gpu")["more_settings"].empty());
  // Forms show them as they were declared, not by their letters.
  const json order = train["order"];
  for (const json& name : order) EXPECT_TRUE(train["settings"]["properties"].contains(name)) << name;
  EXPECT_EQ(order[0], "target_column");
  const json schema = service_->get("/api/documents/schema").json();
  EXPECT_EQ(schema["title"], "Stoker pipeline");
}

TEST_F(ServiceDocuments, AreKeptByteForByteWithEveryVersion) {
  const std::string first = "# \xE2\x82\xAC\r\nversion: 1\n\n\ncards:   {}\t\n";
  const std::string document = new_document(first);
  HttpAnswer shown = service_->get(document);
  EXPECT_EQ(shown.json()["content"], first);
  EXPECT_EQ(shown.json()["version"], 1);
  EXPECT_EQ(shown.header("etag"), "\"1\"");
  EXPECT_EQ(service_->get(document + "/content").body, first);

  const HttpAnswer second = patch(document, {{"content", pipeline()}, {"version", 1}, {"note", "works"}});
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(second.json()["version"], 2);
  EXPECT_EQ(second.json()["valid"], true) << second.body;
  const std::string yaml = "version: 1\n";
  const HttpAnswer third = service_->ask("PUT", document + "/content", yaml,
                                         {{"Content-Type", "application/yaml"}, {"If-Match", "\"2\""}});
  EXPECT_EQ(third.status, 200) << third.body;
  EXPECT_EQ(third.json()["version"], 3);

  const json versions = service_->get(document + "/versions").json();
  EXPECT_EQ(versions["total"], 3);
  EXPECT_EQ(versions["versions"][1]["note"], "works");
  EXPECT_EQ(versions["versions"][1]["author"], "first");
  EXPECT_EQ(service_->get(document + "/versions?limit=1&before=3").json()["versions"][0]["version"], 2);
  EXPECT_EQ(service_->get(document + "/versions/1").json()["content"], first);
  EXPECT_EQ(service_->get(document + "/content?version=2").body, pipeline());
  EXPECT_EQ(service_->get(document + "/content?version=2").header("content-type"), "application/json");
  EXPECT_EQ(service_->get(document + "/versions/9").status, 404);
  EXPECT_EQ(service_->get(document + "/versions/x").status, 404);

  const HttpAnswer restored = service_->ask("POST", document + "/versions/1/restore");
  EXPECT_EQ(restored.status, 200) << restored.body;
  EXPECT_EQ(restored.json()["version"], 4);
  EXPECT_EQ(service_->get(document).json()["content"], first);
  EXPECT_EQ(service_->get(document + "/versions/2").json()["content"], pipeline());
}

TEST_F(ServiceDocuments, AStaleSaveIsAConflictAndChangesNothing) {
  const std::string document = new_document("version: 1\n");
  EXPECT_EQ(patch(document, {{"content", "one"}}).status, 428);
  EXPECT_EQ(patch(document, {{"content", "one"}, {"version", 1}}).status, 200);
  const HttpAnswer stale = patch(document, {{"content", "other"}, {"version", 1}});
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.json()["newest"], 2);
  EXPECT_THAT(stale.json()["error"].get<std::string>(), HasSubstr("somebody else"));
  const auto put = [&](const std::string& match) {
    return service_
        ->ask("PUT", document + "/content", "x: 1", {{"Content-Type", "text/yaml"}, {"If-Match", match}})
        .status;
  };
  EXPECT_EQ(put("\"1\""), 409);
  EXPECT_EQ(put("*"), 400);
  EXPECT_EQ(put(""), 428);
  EXPECT_EQ(service_->get(document).json()["content"], "one");
  EXPECT_EQ(service_->get(document).json()["version"], 2);
}

TEST_F(ServiceDocuments, AreCheckedWithEveryProblemOnItsLine) {
  const std::string wrong =
      "version: 1\ncards:\n  load:\n    type: data_load\n    config: {sourc: sample}\n"
      "  split:\n    type: data_splt\n";
  const json answer = service_->post("/api/documents/validate", {{"content", wrong}}).json();
  EXPECT_EQ(answer["valid"], false);
  ASSERT_GE(answer["problems"].size(), 2U) << answer;
  EXPECT_EQ(answer["problems"][0]["line"], 5);
  EXPECT_EQ(answer["problems"][0]["path"], "cards.load.config.sourc");
  EXPECT_THAT(answer["problems"][0]["message"].get<std::string>(), HasSubstr("did you mean source"));
  const json syntax = service_->post("/api/documents/validate", {{"content", "a: [1\nb: }"}}).json();
  EXPECT_EQ(syntax["problems"][0]["line"], 2) << syntax;
  const json empty = service_->post("/api/documents/validate", {{"content", ""}}).json();
  EXPECT_THAT(empty["problems"][0]["message"].get<std::string>(), HasSubstr("empty"));
  const json outside = service_
                           ->post("/api/documents/validate",
                                  {{"content",
                                    "version: 1\ncards:\n  l: {type: data_load, config: {source: csv, path: "
                                    "/etc/passwd}}\n"}})
                           .json();
  EXPECT_THAT(outside["problems"][0]["message"].get<std::string>(), HasSubstr("not in the data folder"));
  json searched = small_training(2)["document"];
  searched["cards"]["model"]["config"]["learning_rate"] = {{"grid", {0.1, 0.01}}};
  searched["sweep"] = {{"folds", 2}};
  const json sweep = service_->post("/api/documents/validate", {{"content", searched.dump()}}).json();
  EXPECT_EQ(sweep["valid"], true) << sweep;
  EXPECT_EQ(sweep["candidates"], 2);
}

TEST_F(ServiceDocuments, AreToldOfNamesThatAreNotOnRecord) {
  service_->post("/api/datasets/generate", {{"id", "houses"}, {"sample", "boston_housing"}, {"rows", 50}});
  json document = small_training(1)["document"];
  const auto checked = [&](const std::string& dataset, const std::string& target) {
    document["cards"]["load"]["config"] = {{"source", "datasets"}, {"dataset_ids", {dataset}}};
    document["cards"]["train"]["config"]["target_column"] = target;
    return service_->post("/api/documents/validate", {{"content", document.dump(1)}}).json();
  };
  const json sound = checked("houses", "MEDV");
  EXPECT_EQ(sound["valid"], true) << sound;
  EXPECT_THAT(sound["columns"]["train"].get<std::vector<std::string>>(), testing::Contains("LSTAT"));
  const json dataset = checked("house", "MEDV");
  ASSERT_EQ(dataset["problems"].size(), 1U) << dataset;
  EXPECT_EQ(dataset["problems"][0]["path"], "cards.load.config.dataset_ids");
  EXPECT_GT(dataset["problems"][0]["line"], 0);
  EXPECT_EQ(dataset["problems"][0]["message"], "there is no dataset 'house' on record; did you mean houses?");
  const json target = checked("houses", "MEDW");
  ASSERT_EQ(target["problems"].size(), 1U) << target;
  EXPECT_EQ(target["problems"][0]["path"], "cards.train.config.target_column");
}

TEST_F(ServiceDocuments, AreWarnedOfTestsOnTrainingRows) {
  json document = small_training(1)["document"];
  document["cards"]["evaluate"]["inputs"]["test_dataset"] = "split.train_dataset";
  const json answer = service_->post("/api/documents/validate", {{"content", document.dump()}}).json();
  EXPECT_EQ(answer["valid"], true);
  ASSERT_EQ(answer["warnings"].size(), 1U) << answer;
  EXPECT_EQ(answer["warnings"][0]["path"], "cards.evaluate.inputs.test_dataset");
}

// What people need first, what means something only beside another setting, and what names something.
TEST_F(ServiceDocuments, CardsSayWhatAFormBeginsWith) {
  const json cards = service_->get("/api/cards").json()["cards"];
  std::map<std::string, json> named;
  for (const json& card : cards) {
    const json properties = card["settings"]["properties"];
    for (const json& name : card["first"]) EXPECT_TRUE(properties.contains(name)) << card["name"] << name;
    for (const auto& [name, kind] : card["names"].items())
      EXPECT_TRUE(properties.contains(name)) << card["name"] << name;
    for (const auto& [name, rule] : card["only_with"].items()) {
      EXPECT_TRUE(properties.contains(name)) << card["name"] << name;
      const json other = properties[rule["setting"].get<std::string>()];
      for (const json& value : rule["values"])
        EXPECT_THAT(other["enum"].get<std::vector<json>>(), testing::Contains(value)) << card["name"] << name;
    }
    named[card["name"]] = card;
  }
  EXPECT_EQ(named["train"]["names"]["target_column"], "column");
  EXPECT_EQ(named["data_load"]["names"]["dataset_ids"], "dataset");
  EXPECT_EQ(named["model_define_gpu"]["first"][1], "epochs");
}

TEST_F(ServiceDocuments, WithProblemsAreSavedButNotRun) {
  const std::string document = new_document("version: 1\ncards: {load: {type: data_lod}}\n");
  const HttpAnswer refused = service_->post(document + "/run", json::object());
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.json()["problems"][0]["line"], 2);
  patch(document, {{"content", pipeline()}, {"version", 1}});
  EXPECT_EQ(service_->post(document + "/run", {{"version", 1}}).status, 422);
  EXPECT_EQ(service_->post(document + "/run", {{"version", 7}}).status, 404);
  const HttpAnswer wrong = service_->post(document + "/run", {{"card", "splitt"}});
  EXPECT_EQ(wrong.status, 422) << wrong.body;
  EXPECT_THAT(wrong.body, HasSubstr("did you mean split"));
  EXPECT_EQ(service_->post(document + "/run", {{"cards", "split"}}).status, 422);
}

TEST_F(ServiceDocuments, RunAsJobsThatRememberThem) {
  const std::string document = new_document(pipeline());
  const std::string id = document.substr(document.rfind('/') + 1);
  const HttpAnswer made = service_->post(document + "/run", {{"card", "split"}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["time_limit"], 600);
  EXPECT_EQ(made.json()["kind"], "card");
  const json job = service_->wait_for_job(made.json()["id"], {"completed", "failed"});
  EXPECT_EQ(job["state"], "completed") << job.dump(1);
  EXPECT_EQ(job["document_id"], id);
  EXPECT_EQ(job["document_version"], 1);
  EXPECT_EQ(job["job_name"], "prices");
  EXPECT_EQ(job["request"]["card"], "split");
  patch(document, {{"content", pipeline(3)}, {"version", 1}});
  const std::string whole = service_->ask("POST", document + "/run").json()["id"];
  const json finished = service_->wait_for_job(whole, {"completed", "failed"});
  EXPECT_EQ(finished["document_version"], 2);
  EXPECT_EQ(finished["summary"]["trainings"][0]["epochs"], 3);
  const json listed =
      service_->get("/api/training/jobs?document=" + id + "&project=" + job["project"].get<std::string>())
          .json();
  EXPECT_EQ(listed["total"], 2);
  EXPECT_EQ(listed["jobs"][0]["document_id"], id);
  EXPECT_EQ(listed["jobs"][0]["document_version"], 2);
  EXPECT_EQ(listed["jobs"][1]["document_version"], 1);
}

TEST_F(ServiceDocuments, ThatWereRemovedCanBeBroughtBack) {
  const std::string project = new_project();
  const std::string in_project = "/api/projects/" + project;
  const std::string document = new_document("version: 1\n", project);
  const std::string other = new_document("version: 1\n", project);
  EXPECT_EQ(service_->get(in_project).json()["documents"], 2);
  EXPECT_EQ(service_->ask("DELETE", document).status, 200);
  EXPECT_EQ(service_->get(in_project + "/documents").json()["documents"].size(), 1U);
  EXPECT_EQ(service_->get(in_project + "/documents?removed=true").json()["documents"].size(), 2U);
  EXPECT_EQ(patch(document, {{"content", "x"}, {"version", 1}}).status, 404);
  EXPECT_EQ(service_->post(document + "/run", json::object()).status, 404);
  EXPECT_TRUE(service_->get(document).json().contains("removed"));
  EXPECT_EQ(service_->ask("POST", document + "/bring-back").status, 200);
  EXPECT_EQ(service_->get(in_project + "/documents").json()["documents"].size(), 2U);
  EXPECT_EQ(service_->ask("DELETE", document + "?for_good=yes").status, 400);
  EXPECT_EQ(service_->ask("DELETE", document + "?for_good=true").status, 200);
  EXPECT_EQ(service_->get(document).status, 404);
  EXPECT_EQ(service_->ask("POST", document + "/bring-back").status, 404);
  EXPECT_EQ(service_->ask("DELETE", in_project).status, 409);
  EXPECT_EQ(service_->ask("DELETE", in_project + "?for_good=true").status, 200);
  EXPECT_EQ(service_->get(other).status, 404);
  EXPECT_EQ(service_->get(in_project).status, 404);
}

TEST_F(ServiceDocuments, NamesAndSizesAreChecked) {
  const std::string project = "/api/projects/" + new_project();
  const auto status_of = [&](const json& body) {
    return service_->post(project + "/documents", body).status;
  };
  for (const std::string& name :
       {std::string(), std::string("  "), std::string("a\nb"), std::string(201, 'x')})
    EXPECT_EQ(status_of({{"name", name}, {"content", "x"}}), 422) << name;
  EXPECT_EQ(status_of({{"name", "x"}, {"content", std::string("a\0b", 3)}}), 400);
  EXPECT_EQ(status_of({{"name", "x"}, {"content", std::string((1U << 20) + 1, ' ')}}), 413);
  EXPECT_EQ(status_of({{"name", "x"}, {"content", {{"version", 1}}}}), 422);
  EXPECT_EQ(status_of({{"name", "x"}, {"contents", "x"}}), 422);
  EXPECT_EQ(status_of({{"content", "x"}}), 422);
  EXPECT_EQ(status_of({{"name", std::string(200, 'x')}, {"content", std::string(1U << 20, '#')}}), 201);
  const std::string document = new_document("x");
  const HttpAnswer bytes = service_->ask("PUT", document + "/content", "a: \xFF",
                                         {{"Content-Type", "text/yaml"}, {"If-Match", "1"}});
  EXPECT_EQ(bytes.status, 422) << bytes.body;
  EXPECT_EQ(patch(document, json::object()).status, 422);
  EXPECT_EQ(patch(document, {{"name", "renamed"}}).json()["name"], "renamed");
  EXPECT_EQ(service_->get(document).json()["version"], 1);
  EXPECT_EQ(patch(project, {{"name", ""}}).status, 422);
  EXPECT_EQ(patch(project, {{"name", "homes"}}).json()["name"], "homes");
  EXPECT_EQ(service_->get("/api/documents/%ff%27").status, 404);
  EXPECT_EQ(service_->get("/api/projects/none/documents").status, 404);
}

TEST_F(ServiceDocuments, AreNotChangedByOneWhoMayOnlyLook) {
  const Finished made = service_->place().stoker(
      {"tokens", "create", "looker", "--role", "viewer", "--data", service_->data().string()});
  ASSERT_EQ(made.code, 0) << made.errors;
  const std::size_t at = made.output.find("stk_");
  ASSERT_NE(at, std::string::npos) << made.output;
  const std::string token = made.output.substr(at, made.output.find_first_of(" \n", at) - at);
  const std::string document = new_document("x", "default");
  const RunningService::Headers headers{{"Authorization", "Bearer " + token},
                                        {"Content-Type", "application/json"}};
  EXPECT_EQ(service_->ask("GET", document, "", headers).status, 200);
  EXPECT_EQ(service_->ask("DELETE", document, "", headers).status, 403);
  EXPECT_EQ(service_->ask("PATCH", document, "{\"name\":\"y\"}", headers).status, 403);
  EXPECT_EQ(service_->ask("POST", document + "/run", "{}", headers).status, 403);
  EXPECT_EQ(service_->ask("POST", "/api/documents/validate", "{\"content\":\"x\"}", headers).status, 200);
}

}  // namespace
}  // namespace stoker::test
