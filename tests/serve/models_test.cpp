// Models of jobs, as files, deployed and asked for predictions.
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const RunningService::Headers tar{{"Content-Type", "application/x-tar"}};
const RunningService::Headers csv{{"Content-Type", "text/csv"}};

json house() {  // of the sample, whose columns are scaled already
  return {{"CRIM", 0.65},     {"ZN", 0.86},   {"INDUS", -0.8}, {"CHAS", -1.87}, {"NOX", -0.5},
          {"RM", 0.94},       {"AGE", -0.87}, {"DIS", 1.78},   {"RAD", -1.6},   {"TAX", -0.72},
          {"PTRATIO", -0.56}, {"B", -0.12},   {"LSTAT", 1.09}};
}

// One service with a trained model for all tests, which leave it as it was.
class ServiceModels : public ::testing::Test {
 protected:
  static RunningService& service() {
    static RunningService running;
    return running;
  }
  static const json& model() {
    static const json trained = [] {
      const std::string id = service().post("/api/training/jobs", small_training(3)).json()["id"];
      const json job = service().wait_for_job(id, {"completed", "failed"});
      EXPECT_EQ(job["state"], "completed") << job.dump(1);
      return service().get("/api/models").json()["models"].at(0);
    }();
    return trained;
  }
  static std::string id() { return model()["id"]; }
  static HttpAnswer put(const std::string& path, const json& body) {
    return service().ask("PUT", path, body.dump(), {{"Content-Type", "application/json"}});
  }
  static HttpAnswer predict(const std::string& name, const json& body) {
    return service().post("/api/models/" + name + "/predict", body);
  }
};

TEST_F(ServiceModels, ComeOnRecordWhenTheirJobIsComplete) {
  EXPECT_EQ(model()["name"], "small");
  EXPECT_EQ(model()["family"], "neural_network");
  EXPECT_EQ(model()["target"], "MEDV");
  EXPECT_EQ(model()["columns"].size(), 13U);
  EXPECT_TRUE(model()["metrics"]["evaluate"].contains("r2")) << model().dump(1);
  EXPECT_EQ(service().get("/api/models/" + id()).json()["id"], id());
  EXPECT_EQ(service().get("/api/models/nothing").status, 404);
  // It was trained without rows held back.
  EXPECT_FALSE(model()["tells_intervals"]);
  EXPECT_THAT(model()["why_no_intervals"].get<std::string>(),
              testing::AllOf(HasSubstr("this one kept none"), testing::Not(HasSubstr("--"))));
}

// One training fits the data, the other has a penalty so large that it predicts the mean.
json two_trainings() {
  json job = small_training(1);
  json& cards = job["document"]["cards"];
  cards["model"] = {{"type", "model_define"},
                    {"config", {{"model_type", "ridge"}, {"hyperparameters", {{"alpha", 0.001}}}}}};
  cards["train"]["config"] = {{"target_column", "MEDV"}};
  cards["flat_model"] = cards["model"];
  cards["flat_model"]["config"]["hyperparameters"]["alpha"] = 1e12;
  cards["flat_train"] = cards["train"];
  cards["flat_train"]["inputs"]["model_spec"] = "flat_model.model_spec";
  cards["flat_evaluate"] = cards["evaluate"];
  cards["flat_evaluate"]["inputs"]["trained_model"] = "flat_train.trained_model";
  return job;
}

TEST_F(ServiceModels, OfOneDocumentShowTheEvaluationsOfTheirOwnTraining) {
  const std::string job = service().post("/api/training/jobs", two_trainings()).json()["id"];
  const json done = service().wait_for_job(job, {"completed", "failed"});
  ASSERT_EQ(done["state"], "completed") << done.dump(1);
  std::map<std::string, json> metrics;
  const json models = service().get("/api/models").json()["models"];
  for (const json& each : models)
    if (each.value("job", "") == job) metrics[each["name"].get<std::string>()] = each["metrics"];
  EXPECT_EQ(service().ask("DELETE", "/api/training/jobs/" + job).status, 200);
  ASSERT_EQ(metrics.size(), 2U);
  // Cards of a JSON document are in the order of their names: the model of flat_train is the first.
  const json& good = metrics.at("small (train)");
  const json& flat = metrics.at("small");
  ASSERT_TRUE(good.size() == 1 && good.contains("evaluate")) << good.dump();
  ASSERT_TRUE(flat.size() == 1 && flat.contains("flat_evaluate")) << flat.dump();
  EXPECT_GT(good["evaluate"]["r2"], 0.5);
  EXPECT_LT(flat["flat_evaluate"]["r2"], 0.01);
  for (const json& result : done["summary"]["results"])
    EXPECT_EQ(result["model"], result["card"] == "evaluate" ? "model-train" : "model");
}

// As an earlier version put them on record.
TEST(ModelsOnRecord, WithMetricsOfOtherModelsGetTheirOwnAtTheNextStart) {
  RunningService service;
  const std::string job = service.post("/api/training/jobs", two_trainings()).json()["id"];
  ASSERT_EQ(service.wait_for_job(job, {"completed", "failed"})["state"], "completed");
  const json before = service.get("/api/models").json()["models"];
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(service.stop().code, 0);
  const Finished changed =
      Program(
          {"/usr/bin/env", "python3", "-c",
           "import json, sqlite3\n"
           "store = sqlite3.connect('data/store.sqlite')\n"
           "rows = [(id, json.loads(facts)) for id, facts in store.execute('SELECT id, facts FROM "
           "stoker_models')]\n"
           "every = {card: metrics for _, facts in rows for card, metrics in facts['metrics'].items()}\n"
           "for id, facts in rows:\n"
           "    del facts['folder_in_run']\n"
           "    facts['metrics'] = every\n"
           "    store.execute('UPDATE stoker_models SET facts = ? WHERE id = ?', (json.dumps(facts), id))\n"
           "store.commit()"},
          service.place().folder())
          .wait();
  ASSERT_EQ(changed.code, 0) << changed.errors;
  service.start();
  EXPECT_EQ(service.get("/api/models").json()["models"], before);
}

TEST_F(ServiceModels, PredictInRealUnitsUnderANameAndWarnOfWhatIsAmiss) {
  EXPECT_THAT(predict("nothing", {{"rows", {house()}}}).body, HasSubstr("none has this id"));
  const json by_id = predict(id(), {{"rows", {house()}}}).json();
  EXPECT_EQ(by_id["model"], id());
  EXPECT_FALSE(by_id.contains("deployment"));
  ASSERT_EQ(put("/api/models/deployments/houses", {{"model", id()}}).status, 200);
  const json by_name = predict("houses", {{"rows", {house()}}}).json();
  EXPECT_EQ(by_name["predictions"], by_id["predictions"]);
  EXPECT_EQ(by_name["deployment"], "houses");
  const HttpAnswer answer = predict("houses", {{"rows", {house(), house()}}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json told = answer.json();
  EXPECT_EQ(told["rows"], 2);
  EXPECT_EQ(told["predictions"][0], told["predictions"][1]);
  EXPECT_GT(told["predictions"][0], -500);
  EXPECT_LT(told["predictions"][0], 500);
  EXPECT_GT(std::abs(told["predictions"][0].get<double>()), 3)
      << "a number of the network, not of the target";

  json columns = json::array();
  json values = json::array();
  const json whole = house();
  for (const auto& [name, value] : whole.items()) {
    columns.push_back(name);
    values.push_back(value);
  }
  const json lists = predict("houses", {{"data", {values}}, {"columns", columns}}).json();
  // Sums of one row and of two are made in another order.
  EXPECT_NEAR(lists["predictions"][0], told["predictions"][0], 1e-4);

  json odd = house();
  odd["AGE"] = nullptr;
  odd["colour"] = "blue";
  const json with_gaps = predict("houses", {{"rows", {odd}}}).json();
  EXPECT_EQ(with_gaps["filled"]["AGE"], 1);
  EXPECT_THAT(with_gaps["notes"][0].get<std::string>(), HasSubstr("colour"));
  EXPECT_TRUE(with_gaps["outside"].empty());
  json far = house();
  far["AGE"] = 1e6;
  const json outside = predict("houses", {{"rows", {far, house()}}}).json()["outside"];
  ASSERT_EQ(outside.size(), 1U) << outside.dump();
  EXPECT_EQ(outside["AGE"]["rows"], 1);
  EXPECT_LT(outside["AGE"]["high"], 1000);
  odd["AGES"] = 3;
  odd.erase("AGE");
  EXPECT_THAT(predict("houses", {{"rows", {odd}}}).body, HasSubstr("did you mean AGES?"));
}

TEST_F(ServiceModels, PredictCsvAsTheCommandDoes) {
  ASSERT_EQ(put("/api/models/deployments/csv", {{"model", id()}}).status, 200);
  std::string names;
  std::string values;
  const json whole = house();
  for (const auto& [name, value] : whole.items()) {
    names += (names.empty() ? "" : ",") + name;
    values += (values.empty() ? "" : ",") + value.dump();
  }
  const std::string body = names + "\n" + values + "\n";
  const HttpAnswer as_json = service().ask("POST", "/api/models/csv/predict", body, csv);
  ASSERT_EQ(as_json.status, 200) << as_json.body;
  EXPECT_EQ(as_json.json()["predictions"], predict("csv", {{"rows", {house()}}}).json()["predictions"]);
  const HttpAnswer as_csv = service().ask("POST", "/api/models/csv/predict", body,
                                          {{"Content-Type", "text/csv"}, {"Accept", "text/csv"}});
  EXPECT_EQ(as_csv.header("content-type"), "text/csv; charset=utf-8");
  EXPECT_THAT(as_csv.body, testing::StartsWith("\"prediction\"\n"));
  EXPECT_FALSE(as_json.json().contains("notes")) << as_json.body;
  const HttpAnswer more =
      service().ask("POST", "/api/models/csv/predict", names + ",colour\n" + values + ",red\n", csv);
  json other = house();
  other["colour"] = "red";
  EXPECT_EQ(more.json()["notes"], predict("csv", {{"rows", {other}}}).json()["notes"]) << more.body;
  // The basis of the intervals is told too.
  json held_back = small_training(2, 7);
  held_back["document"]["cards"]["model"]["config"]["validation_ratio"] = 0.2;
  const std::string job = service().post("/api/training/jobs", held_back).json()["id"];
  ASSERT_EQ(service().wait_for_job(job, {"completed", "failed"})["state"], "completed");
  const json newest = service().get("/api/models").json()["models"].at(0);
  ASSERT_EQ(put("/api/models/deployments/sure", {{"model", newest["id"]}}).status, 200);
  const json sure = service().post("/api/models/sure/predict?interval=90", {{"rows", {other}}}).json();
  ASSERT_EQ(sure["notes"].size(), 2U) << sure.dump(1);
  EXPECT_THAT(sure["notes"][0].get<std::string>(), HasSubstr("colour"));
  EXPECT_THAT(sure["notes"][1].get<std::string>(), HasSubstr("intervals rest on"));
  EXPECT_EQ(service().ask("DELETE", "/api/models/deployments/sure").status, 200);
  EXPECT_EQ(service().ask("DELETE", "/api/training/jobs/" + job).status, 200);
  const HttpAnswer odd = service().ask("POST", "/api/models/csv/predict", "a,b\n1\n", csv);
  EXPECT_EQ(odd.status, 422);
  EXPECT_THAT(odd.body, HasSubstr("the rows"));
  EXPECT_THAT(odd.body, testing::Not(HasSubstr("/tmp")));
  const HttpAnswer unable = service().ask("POST", "/api/models/csv/predict?every_window=true", body, csv);
  EXPECT_THAT(unable.body, HasSubstr("every_window: the model predicts rows"));
}

TEST_F(ServiceModels, RefuseRowsThatAreNone) {
  ASSERT_EQ(put("/api/models/deployments/strict", {{"model", id()}}).status, 200);
  const auto status = [&](const std::string& body) {
    return service()
        .ask("POST", "/api/models/strict/predict", body, {{"Content-Type", "application/json"}})
        .status;
  };
  EXPECT_EQ(status(""), 400);
  EXPECT_EQ(status("{"), 400);
  EXPECT_EQ(status("[1, 2]"), 422);
  EXPECT_EQ(status(R"({"rows": []})"), 422);
  EXPECT_EQ(status(R"({"rows": [1]})"), 422);
  EXPECT_EQ(status(R"({"rows": [{}]})"), 422);
  EXPECT_EQ(status(R"({"row": [{}]})"), 422);
  EXPECT_EQ(status(R"({"columns": ["AGE"], "data": [[1, 2]]})"), 422);
  EXPECT_EQ(status(R"({"rows": [{"AGE": {"deep": 1}}]})"), 422);
  EXPECT_EQ(status(R"({"rows": [{"AGE": 1e999}]})"), 400);
  EXPECT_EQ(status(R"({"rows": [)" + std::string(100'000, '[')), 422);
  for (const char* query : {"", "?interval=90"})
    EXPECT_THAT(
        service()
            .post(std::string("/api/models/strict/predict") + query, {{"rows", {house()}}, {"interval", 90}})
            .body,
        HasSubstr("predict?interval=90"));
  EXPECT_EQ(predict("nobody", {{"rows", {house()}}}).status, 404);
}

TEST_F(ServiceModels, GoFromServiceToServiceAsOneFile) {
  const HttpAnswer file = service().get("/api/models/" + id() + "/file");
  ASSERT_EQ(file.status, 200);
  const HttpAnswer uploaded = service().ask("POST", "/api/models/upload?name=copy", file.body, tar);
  ASSERT_EQ(uploaded.status, 201) << uploaded.body;
  const std::string copy = uploaded.json()["id"];
  ASSERT_EQ(put("/api/models/deployments/first", {{"model", id()}}).status, 200);
  const json before = predict("first", {{"rows", {house()}}}).json();
  ASSERT_EQ(put("/api/models/deployments/first", {{"model", copy}}).status, 200);
  const json after = predict("first", {{"rows", {house()}}}).json();
  EXPECT_EQ(after["model"], copy);
  EXPECT_EQ(after["predictions"], before["predictions"]);

  EXPECT_EQ(service().ask("DELETE", "/api/models/" + copy).status, 409);
  EXPECT_EQ(service().ask("DELETE", "/api/models/deployments/first").status, 200);
  EXPECT_EQ(service().ask("DELETE", "/api/models/deployments/first").status, 404);
  const HttpAnswer removed = service().ask("DELETE", "/api/models/" + copy);
  EXPECT_EQ(removed.status, 200);
  EXPECT_GT(removed.json()["freed_bytes"], 1000);
  EXPECT_FALSE(std::filesystem::exists(service().data() / "models" / copy));
}

TEST_F(ServiceModels, AreRefusedAsFilesThatHoldAnythingElse) {
  const auto upload = [&](const std::string& bytes) {
    const HttpAnswer answer = service().ask("POST", "/api/models/upload", bytes, tar);
    EXPECT_THAT(answer.body, testing::Not(HasSubstr("partial"))) << "the folder that it was unpacked into";
    return answer.status;
  };
  const std::string good = service().get("/api/models/" + id() + "/file").body;
  EXPECT_EQ(upload("not a tar at all"), 422);
  EXPECT_EQ(upload(good.substr(0, good.size() / 2)), 422);
  std::string damaged = good;
  damaged[good.find("\"network\"") + 3] = '!';  // within model.json
  EXPECT_EQ(upload(damaged), 422);
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(service().data() / "uploads", none))
    ADD_FAILURE() << each.path() << " was left";
  EXPECT_TRUE(std::filesystem::is_empty(service().data() / "models"));
}

TEST_F(ServiceModels, StayWhileTheyAreDeployedAndGoWithTheirJob) {
  const std::string job = service().post("/api/training/jobs", small_training(2, 5)).json()["id"];
  service().wait_for_job(job, {"completed"});
  json mine;
  const json models = service().get("/api/models").json()["models"];
  for (const json& each : models)
    if (each.value("job", "") == job) mine = each;
  ASSERT_FALSE(mine.empty());
  const std::string own = mine["id"];
  EXPECT_EQ(
      service()
          .ask("PATCH", "/api/models/" + own, R"({"name": "winner"})", {{"Content-Type", "application/json"}})
          .json()["name"],
      "winner");
  EXPECT_EQ(service().ask("DELETE", "/api/models/" + own).status, 409);  // its job's run holds it
  ASSERT_EQ(put("/api/models/deployments/held", {{"model", own}}).status, 200);
  EXPECT_EQ(service().ask("DELETE", "/api/training/jobs/" + job).status, 409);
  EXPECT_EQ(service().ask("DELETE", "/api/models/deployments/held").status, 200);
  EXPECT_EQ(service().ask("DELETE", "/api/training/jobs/" + job).status, 200);
  EXPECT_EQ(service().get("/api/models/" + own).status, 404);
  EXPECT_EQ(put("/api/models/deployments/held", {{"model", own}}).status, 404);
  EXPECT_EQ(put("/api/models/deployments/a%2Fb", {{"model", id()}}).status, 404);
  EXPECT_EQ(put("/api/models/deployments/-x", {{"model", id()}}).status, 422);
}

}  // namespace
}  // namespace stoker::test
