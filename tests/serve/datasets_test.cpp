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

const RunningService::Headers octets{{"Content-Type", "application/octet-stream"}};

class ServiceDatasets : public ::testing::Test {
 protected:
  static RunningService& service() {
    static RunningService running;
    return running;
  }
  static std::size_t files_in(const std::string& folder) {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& each : std::filesystem::directory_iterator(service().data() / folder, none))
      count += each.is_regular_file() ? 1 : 0;
    return count;
  }
};

TEST_F(ServiceDatasets, AreUploadedLookedAtAndDeletedWithTheirFile) {
  const HttpAnswer made = service().ask("POST", "/api/datasets/upload?name=wells.csv&id=wells",
                                        "depth,kind\n1,a\n2,b\n,a\n4,a\n", octets);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["rows"], 4);
  EXPECT_EQ(made.json()["source"], "wells.csv");
  EXPECT_EQ(service().get("/api/datasets/wells").json()["columns"][0]["name"], "depth");
  const json preview = service().get("/api/datasets/wells/preview").json();
  EXPECT_EQ(preview["first_rows"].size(), 4U);
  EXPECT_EQ(preview["columns"][0]["nulls"], 1);
  EXPECT_EQ(preview["rows"], 4);
  const json& numbers = preview["columns"][0]["distribution"];
  EXPECT_EQ(numbers["highest"], 4);
  EXPECT_EQ(numbers["count"], 3);
  EXPECT_EQ(numbers["quartiles"].size(), 3U);
  EXPECT_EQ(preview["columns"][1]["distribution"]["frequent"][0], (json{{"value", "a"}, {"rows", 3}}));
  EXPECT_EQ(service().ask("POST", "/api/datasets/upload?name=wells.csv&id=wells", "a\n1\n", octets).status,
            409);
  EXPECT_EQ(files_in("uploads"), 1U);
  const HttpAnswer removed = service().ask("DELETE", "/api/datasets/wells");
  EXPECT_EQ(removed.json()["freed_bytes"], 26);
  EXPECT_EQ(files_in("uploads"), 0U);
  EXPECT_EQ(service().get("/api/datasets/wells").status, 404);
}

// numpy.savez_compressed(cube=numpy.arange(8, dtype="float32").reshape(2, 2, 2)), as Python's zipfile packs
// it.
constexpr std::string_view packed_cube =
    "504b0304140000000800000021001d6a7e1b5b000000a000000008000000637562652e6e70799bec17ea1b10c9c850c6"
    "50ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a46"
    "3a0a20a4a9a350ab401ee0620083067b20e1004440dc00c40b80f800103f700000504b01021403140000000800000021"
    "001d6a7e1b5b000000a0000000080000000000000000000000800100000000637562652e6e7079504b05060000000001"
    "00010036000000810000000000";

std::string bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST_F(ServiceDatasets, MayBeCubesInOneFile) {
  const auto upload = [&](const std::string& query) {
    return service().ask("POST", "/api/datasets/upload" + query, bytes_of(packed_cube), octets);
  };
  const HttpAnswer made = upload("?name=field.npz&id=field");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["cubes"], (json{{"count", 1}, {"height", 2}, {"width", 2}, {"channels", 2}}));
  EXPECT_EQ(service().get("/api/datasets/field/preview").json()["cubes"]["highest"], 7);
  EXPECT_EQ(service().ask("DELETE", "/api/datasets/field").status, 200);
  for (const char* name : {"field.hdr", "field.img"}) {
    const HttpAnswer refused = upload(std::string("?name=") + name);
    EXPECT_EQ(refused.status, 422) << name;
    EXPECT_THAT(refused.body, HasSubstr("one of the two files of a cube in ENVI form")) << name;
    EXPECT_THAT(refused.body, HasSubstr("together in one zip archive")) << name;
  }
  EXPECT_THAT(upload("?name=field.cu3s").body, HasSubstr("export the cubes as npy or npz"));
  EXPECT_EQ(files_in("uploads"), 0U);
  const json elsewhere = {{"source", {{"source", "cubes"}, {"path", "store.sqlite"}}}};
  EXPECT_THAT(service().post("/api/datasets", elsewhere).body,
              HasSubstr("they read what is below uploads/, datasets/, runs/ and models/"));
}

// `curl -F file=@rows.csv`, with a file and with an empty field.
TEST_F(ServiceDatasets, FormIsRejectedWithTheRequestToSend) {
  const RunningService::Headers form{{"Content-Type", "multipart/form-data; boundary=x"}};
  for (const char* part : {"; filename=\"rows.csv\"\r\n\r\na,b\n1,2\n", "\r\n\r\n"}) {
    const std::string body =
        std::string("--x\r\nContent-Disposition: form-data; name=\"file\"") + part + "\r\n--x--\r\n";
    for (const char* query : {"", "?name=rows.csv"}) {
      const HttpAnswer answer =
          service().ask("POST", std::string("/api/datasets/upload") + query, body, form);
      EXPECT_EQ(answer.status, 400);
      EXPECT_THAT(answer.body, HasSubstr("the body is a form"));
      EXPECT_THAT(answer.body, HasSubstr("POST /api/datasets/upload?name=wells.csv"));
    }
  }
  EXPECT_EQ(files_in("uploads"), 0U);
}

TEST_F(ServiceDatasets, AreRefusedWithoutLeavingAFile) {
  const auto upload = [&](const std::string& query, const std::string& body) {
    return service().ask("POST", "/api/datasets/upload" + query, body, octets);
  };
  for (const char* without_name : {"", "?name="}) {
    EXPECT_EQ(upload(without_name, "a\n1\n").status, 400);
    EXPECT_THAT(upload(without_name, "a\n1\n").body, HasSubstr("POST /api/datasets/upload?name=wells.csv"));
  }
  EXPECT_THAT(upload("?name=rows.csv", "").body, HasSubstr("'rows.csv' is empty"));
  EXPECT_THAT(upload("?name=evil.sh", "a\n1\n").body, HasSubstr("parquet"));
  EXPECT_EQ(upload("?name=..%2F..%2Fetc%2Fx.csv&id=..%2Fx", "a\n1\n").status, 422);
  EXPECT_EQ(upload("?name=rows.csv", "a,b\n1\n").status, 422);
  EXPECT_EQ(upload("?name=rows.parquet", "PAR1 not really").status, 422);
  EXPECT_EQ(files_in("uploads"), 0U);
}

TEST_F(ServiceDatasets, WithRowsThatCannotBeReadComeOnRecordToBeRepaired) {
  const std::string rows = "a,b\n1,2\n3\n5,6\n7,8\n";
  const HttpAnswer refused = service().ask("POST", "/api/datasets/upload?name=odd.csv&id=odd", rows, octets);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("faulty puts it on record"));
  EXPECT_THAT(refused.body, Not(HasSubstr("--")));
  EXPECT_EQ(service().ask("POST", "/api/datasets/upload?name=odd.csv&id=odd&faulty=yes", rows, octets).status,
            400);
  const HttpAnswer made =
      service().ask("POST", "/api/datasets/upload?name=odd.csv&id=odd&faulty=true", rows, octets);
  ASSERT_EQ(made.status, 201) << made.body;
  const json found = service().post("/api/datasets/odd/validate", json::object()).json();
  EXPECT_EQ(found["unread_rows"]["first"][0]["line"], 3) << found.dump(1);
  const HttpAnswer repaired = service().post("/api/datasets/odd/repair", {{"as", "even"}});
  ASSERT_EQ(repaired.status, 201) << repaired.body;
  EXPECT_EQ(repaired.json()["rows"], 3);
  // The same of a file that is there already.
  std::ofstream(service().data() / "uploads" / "there.csv") << rows;
  json there{{"id", "there"}, {"source", {{"source", "csv"}, {"path", "uploads/there.csv"}}}};
  EXPECT_EQ(service().post("/api/datasets", there).status, 422);
  there["faulty"] = true;
  EXPECT_EQ(service().post("/api/datasets", there).status, 201);
  for (const char* id : {"odd", "even", "there"})
    EXPECT_EQ(service().ask("DELETE", std::string("/api/datasets/") + id).status, 200);
}

TEST_F(ServiceDatasets, UnknownParametersAreRejectedWithSuggestion) {
  const auto upload = [&](const std::string& query) {
    return service().ask("POST", "/api/datasets/upload?name=rows.csv" + query, "a,b\n1,2\n", octets);
  };
  const HttpAnswer misspelt = upload("&falty=true");
  EXPECT_EQ(misspelt.status, 400);
  EXPECT_THAT(misspelt.body, HasSubstr("did you mean faulty?"));
  const HttpAnswer unknown = upload("&zzzzzz=1");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("cube_key, mask_key, table, query, project"));
  EXPECT_EQ(service().get("/api/datasets?limt=3").status, 400);
  EXPECT_EQ(files_in("uploads"), 0U);
}

TEST_F(ServiceDatasets, OfAnSqliteFileAreOneOfItsTablesOrAQuery) {
  const std::filesystem::path file = service().place().folder() / "both.sqlite";
  for (const char* table : {"houses", "towns"})
    ASSERT_EQ(service()
                  .place()
                  .stoker({"datasets", "generate", table, "--sample", "boston_housing", "--rows", "50",
                           "--to", file.string(), "--table", table})
                  .code,
              0);
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto upload = [&](const std::string& query, const std::string& body) {
    return service().ask("POST", "/api/datasets/upload?name=both.sqlite" + query, body, octets);
  };
  EXPECT_THAT(upload("", bytes).body, HasSubstr("set table to one of houses, towns"));
  const HttpAnswer table = upload("&id=towns&table=towns", bytes);
  ASSERT_EQ(table.status, 201) << table.body;
  EXPECT_EQ(table.json()["rows"], 50);
  // The versions in the header say that the file is in WAL mode; its log is gone, as after closing it.
  std::string in_wal_mode = bytes;
  in_wal_mode[18] = in_wal_mode[19] = 2;
  const HttpAnswer query = upload("&id=few&query=SELECT%20*%20FROM%20houses%20LIMIT%207", in_wal_mode);
  ASSERT_EQ(query.status, 201) << query.body;
  EXPECT_EQ(query.json()["rows"], 7);
  EXPECT_EQ(upload("&table=towns", "a,b\n1,2\n").status, 422);
  for (const char* id : {"towns", "few"})
    EXPECT_EQ(service().ask("DELETE", std::string("/api/datasets/") + id).status, 200);
}

TEST_F(ServiceDatasets, AreToldOfWithoutTheFoldersOfTheServer) {
  const std::string folder = service().data().parent_path().string();
  const auto tells_no_folder = [&](const HttpAnswer& answer) {
    EXPECT_THAT(answer.body, Not(HasSubstr(folder)));
    EXPECT_THAT(answer.body, Not(HasSubstr("/tmp")));
  };
  const auto upload = [&](const std::string& query, const std::string& body) {
    return service().ask("POST", "/api/datasets/upload" + query, body, octets);
  };
  const HttpAnswer odd = upload("?name=odd.csv", "a,b\n1\n");
  EXPECT_THAT(odd.body, HasSubstr("odd.csv"));
  tells_no_folder(odd);
  tells_no_folder(upload("?name=rows.parquet", "PAR1 not really"));
  const HttpAnswer made = upload("?name=kept.csv&id=kept&faulty=true", "a,b\n1,2\n3\n");
  ASSERT_EQ(made.status, 201) << made.body;
  tells_no_folder(made);
  tells_no_folder(service().get("/api/datasets/kept"));
  tells_no_folder(service().get("/api/datasets/kept/preview"));
  tells_no_folder(service().post("/api/datasets/kept/validate", json::object()));
  tells_no_folder(service().post("/api/datasets/kept/validate", {{"ranges", {{"c", {0, 1}}}}}));
  // A job fails over the row, with its reason.
  json job = small_training(1);
  job["document"]["cards"]["load"]["config"] = {{"source", "datasets"}, {"dataset_ids", {"kept"}}};
  job["document"]["cards"]["train"]["config"]["target_column"] = "b";
  const std::string id = service().post("/api/training/jobs", job).json()["id"];
  const json failed = service().wait_for_job(id, {"failed", "completed"});
  EXPECT_THAT(failed["reason"].get<std::string>(), HasSubstr("uploads/"));
  for (const char* part : {"", "/log", "/events"})
    tells_no_folder(service().get("/api/training/jobs/" + id + part));
  EXPECT_EQ(service().ask("DELETE", "/api/training/jobs/" + id).status, 200);
  EXPECT_EQ(service().ask("DELETE", "/api/datasets/kept").status, 200);
}

TEST_F(ServiceDatasets, ThatAreNotThereAreToldToTheJobThatNamesThem) {
  json job = small_training(1);
  job["document"]["cards"]["load"]["config"] = {{"source", "datasets"}, {"dataset_ids", {"nowhere"}}};
  const HttpAnswer document = service().post("/api/training/jobs", job);
  EXPECT_EQ(document.status, 422);
  EXPECT_THAT(document.body, HasSubstr("there is no dataset 'nowhere'"));
  const HttpAnswer settings = service().post(
      "/api/training/jobs", {{"config", {{"dataset_ids", {"nothing"}}, {"target_column", "y"}}}});
  EXPECT_EQ(settings.status, 422);
  EXPECT_THAT(settings.body, HasSubstr("there is no dataset 'nothing'"));
  for (const HttpAnswer* answer : {&document, &settings}) {
    EXPECT_THAT(answer->body, Not(HasSubstr("store.sqlite")));
    EXPECT_THAT(answer->body, Not(HasSubstr("--")));
  }
}

TEST_F(ServiceDatasets, AreReadFromWhereTheOperatorAllows) {
  const auto add = [&](const json& source) {
    return service().post("/api/datasets", {{"id", "mine"}, {"source", source}});
  };
  EXPECT_THAT(add({{"source", "csv"}, {"path", "/etc/passwd"}}).body, HasSubstr("not in the data folder"));
  EXPECT_EQ(add({{"source", "csv"}, {"path", "store.sqlite"}}).status, 422);
  EXPECT_THAT(add({{"source", "url"}, {"url", "http://127.0.0.1:1/a.csv"}}).body, HasSubstr("--allow-urls"));
  EXPECT_THAT(add({{"source", "postgres"}, {"uri", "${HOME}"}, {"table", "a"}}).body,
              HasSubstr("--allow-databases"));
  EXPECT_THAT(add({{"source", "csv"}, {"pth", "x"}}).body, HasSubstr("did you mean path"));
  const HttpAnswer sample = add({{"source", "sample"}, {"sample_name", "friedman"}, {"sample_rows", 50}});
  ASSERT_EQ(sample.status, 201) << sample.body;
  EXPECT_EQ(sample.json()["rows"], 50);
  EXPECT_EQ(service().ask("DELETE", "/api/datasets/mine").json()["freed_bytes"], 0);
}

TEST_F(ServiceDatasets, AreMadeValidatedAndRepaired) {
  const HttpAnswer made =
      service().post("/api/datasets/generate", {{"id", "made"}, {"sample", "boston_housing"}, {"rows", 60}});
  ASSERT_EQ(made.status, 201) << made.body;
  const json found =
      service().post("/api/datasets/made/validate", {{"ranges", {{"AGE", {0, nullptr}}}}}).json();
  EXPECT_EQ(found["is_sound"], false) << found.dump(1);
  EXPECT_GT(found["rows_with_faults"], 0);
  const HttpAnswer repaired =
      service().post("/api/datasets/made/repair", {{"as", "clean"}, {"ranges", {{"AGE", {0, nullptr}}}}});
  ASSERT_EQ(repaired.status, 201) << repaired.body;
  EXPECT_EQ(repaired.json()["cleaned_of"], "made");
  EXPECT_EQ(repaired.json()["rows"], 60 - found["rows_with_faults"].get<int>());
  EXPECT_EQ(service().post("/api/datasets/made/validate", {{"ranges", {{"AGE", "old"}}}}).status, 422);
  EXPECT_EQ(service().post("/api/datasets/none/validate", json::object()).status, 404);
  const json page = service().get("/api/datasets?limit=1&offset=1").json();
  EXPECT_EQ(page["datasets"].size(), 1U);
  EXPECT_GE(page["total"], 3);
  for (const char* id : {"made", "clean"})
    EXPECT_GT(service().ask("DELETE", std::string("/api/datasets/") + id).json()["freed_bytes"], 0);
}

TEST_F(ServiceDatasets, StayWhileAJobReadsThem) {
  std::string rows = "x,y\n";
  for (int i = 0; i < 200; ++i)
    rows += std::to_string(i % 37) + "." + std::to_string(i) + "," + std::to_string(i * 7 % 101) + ".5\n";
  ASSERT_EQ(service().ask("POST", "/api/datasets/upload?name=a.csv&id=busy", rows, octets).status, 201);
  json job = small_training(100'000);
  job["document"]["cards"]["load"]["config"] = {{"source", "datasets"}, {"dataset_ids", {"busy"}}};
  job["document"]["cards"]["train"]["config"]["target_column"] = "y";
  const HttpAnswer made = service().post("/api/training/jobs", job);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id = made.json()["id"];
  EXPECT_EQ(service().post("/api/training/jobs/" + id + "/pause", json::object()).status, 202);
  EXPECT_EQ(service().ask("DELETE", "/api/datasets/busy").status, 409);
  service().post("/api/training/jobs/" + id + "/cancel", json::object());
  service().wait_for_job(id, {"cancelled", "failed", "completed"});
  EXPECT_EQ(service().ask("DELETE", "/api/datasets/busy").status, 200);
}

}  // namespace
}  // namespace stoker::test
