// Cubes that are sent: archives of their files put on record, and scores of their pixels.
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/zip_fixtures.h"
#include "serve/running_service.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const RunningService::Headers bytes_of_cubes{{"Content-Type", "application/octet-stream"}};

// As NumPy lays it out (NumPy Enhancement Proposal 1).
std::string npy_of(const std::string& shape, const std::vector<float>& values) {
  const std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}\n", shape);
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return file + header + bytes;
}

// The numbers behind a header whose shape is the expected one.
template <class Number>
std::vector<Number> numbers_of(const std::string& file, const std::string& shape) {
  EXPECT_EQ(file.substr(1, 5), "NUMPY") << file;
  const std::size_t begin = 10U + static_cast<unsigned char>(file.at(8));
  EXPECT_THAT(file.substr(0, begin), HasSubstr("(" + shape + ")"));
  std::vector<Number> numbers((file.size() - begin) / sizeof(Number));
  std::memcpy(numbers.data(), file.data() + begin, numbers.size() * sizeof(Number));
  return numbers;
}

// Some noise with four channels, of which pixel 5 stands out.
std::vector<float> pixels(std::size_t count, unsigned seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < 4 * count; ++i) {
    seed = seed * 1664525U + 1013904223U;  // Numerical Recipes, 7.1
    values.push_back(static_cast<float>(seed >> 8U) / 16777216.0F + (i / 4 == 5 ? 5.0F : 0.0F));
  }
  return values;
}

const std::string one_cube = npy_of("3, 4, 4", pixels(12, 1));
const std::string two_cubes = npy_of("2, 3, 4, 4", pixels(24, 2));

constexpr const char* envi_header =
    "ENVI\nsamples = 4\nlines = 3\nbands = 4\nheader offset = 0\ndata type = 4\ninterleave = bip\n"
    "byte order = 0\n";
std::string envi_numbers(unsigned seed) {
  return npy_of("", pixels(12, seed)).substr(npy_of("", {}).size());
}

class ServiceCubes : public ::testing::Test {
 protected:
  static RunningService& service() {
    static RunningService running;
    return running;
  }
  static HttpAnswer upload(const std::string& query, const std::string& body) {
    return service().ask("POST", "/api/datasets/upload?" + query, body, bytes_of_cubes);
  }
  static json trained(const std::string& end_of_graph, const std::string& connection) {
    EXPECT_EQ(upload("name=training.npy&id=training", npy_of("2, 6, 5, 4", pixels(60, 3))).status, 201);
    const std::string document = fmt::format(R"(version: 1
name: cubes
cards:
  load: {{ type: data_load, config: {{ source: datasets, dataset_ids: [training] }} }}
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes: [{{ name: data, type: CubeDataNode }}, {{ name: rx, type: RXGlobal }}{}]
      connections: [{{ source: data.cube, target: rx.data }}{}]
  train:
    type: train
    inputs: {{ train_dataset: load.dataset, model_spec: model.model_spec }}
    config: {{ target_column: mask }}
)",
                                             end_of_graph, connection);
    const std::string id = service().post("/api/training/jobs", {{"document", document}}).json()["id"];
    const json job = service().wait_for_job(id, {"completed", "failed"});
    EXPECT_EQ(job["state"], "completed") << job.dump(1);
    EXPECT_EQ(service().ask("DELETE", "/api/datasets/training").status, 200);
    return service().get("/api/models").json()["models"].at(0);
  }
  static void deploy(const std::string& name, const json& model) {
    const json body{{"model", model["id"]}};
    const HttpAnswer answer = service().ask("PUT", "/api/models/deployments/" + name, body.dump(),
                                            {{"Content-Type", "application/json"}});
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  // A graph that decides, deployed as "fields".
  static const json& model() {
    static const json deployed = [] {
      json made =
          trained(", { name: logit, type: ScoreToLogit }", ", { source: rx.scores, target: logit.scores }");
      deploy("fields", made);
      return made;
    }();
    return deployed;
  }
  void SetUp() override { model(); }

  static HttpAnswer predict(const std::string& query, const std::string& body, const std::string& accept = "",
                            const std::string& type = "application/octet-stream") {
    RunningService::Headers headers{{"Content-Type", type}};
    if (!accept.empty()) headers.emplace_back("Accept", accept);
    return service().ask("POST", "/api/models/fields/predict/cubes" + query, body, headers);
  }
  static std::vector<std::string> uploads() { return files_below(service().data() / "uploads"); }
  // What was sent as a file goes when the last of it is sent, which a client may see before.
  static bool uploads_go() {
    return comes_true([] { return uploads().empty(); });
  }
};

TEST_F(ServiceCubes, AreSummedUpAndTheirScoresAreThoseOfTheCommand) {
  EXPECT_EQ(model()["cubes"]["channels"], 4);
  const HttpAnswer answer = predict("?name=field.npy", one_cube);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json told = answer.json();
  EXPECT_EQ(told["model"], model()["id"]);
  EXPECT_EQ(told["deployment"], "fields");
  ASSERT_EQ(told["cubes"].size(), 1U);
  const json& cube = told["cubes"][0];
  const HttpAnswer array = predict("?name=field.npy", one_cube, "application/x-npy");
  ASSERT_EQ(array.status, 200) << array.body;
  EXPECT_EQ(array.header("content-type"), "application/x-npy");
  const auto scores = numbers_of<float>(array.body, "1, 3, 4, ");
  const auto marks = numbers_of<std::uint8_t>(
      predict("?name=field.npy&output=marks", one_cube, "application/x-npy").body, "1, 3, 4, ");
  ASSERT_EQ(scores.size(), 12U);
  ASSERT_EQ(marks.size(), 12U);
  EXPECT_EQ(std::ranges::max_element(scores) - scores.begin(), 5);
  EXPECT_EQ(cube["cube"], "field");
  EXPECT_EQ(cube["height"], 3);
  EXPECT_EQ(cube["width"], 4);
  EXPECT_EQ(cube["pixels"], 12);
  EXPECT_EQ(cube["unscored_pixels"], 0);
  EXPECT_FLOAT_EQ(cube["lowest_score"], *std::ranges::min_element(scores));
  EXPECT_FLOAT_EQ(cube["highest_score"], *std::ranges::max_element(scores));
  EXPECT_EQ(cube["marked_pixels"], 12 - std::ranges::count(marks, 0));
  EXPECT_FALSE(cube.contains("scores")) << "no file is there to be fetched";
  const auto file = service().place().write("field.npy", one_cube);
  const fs::path run = service().data() / "runs" / model()["run"].get<std::string>() / "model";
  const Finished written =
      service().place().stoker({"predict", run.string(), "cubes:" + file.string(), "--out", "scores"});
  ASSERT_EQ(written.code, 0) << written.errors;
  EXPECT_EQ(numbers_of<float>(service().place().read("scores/field_scores.npy"), "3, 4, "), scores);
  EXPECT_EQ(numbers_of<std::uint8_t>(service().place().read("scores/field_marks.npy"), "3, 4, "), marks);
}

TEST_F(ServiceCubes, SeveralAtOnceComeAsOneArrayOrOneArchive) {
  const auto scores = numbers_of<float>(predict("", two_cubes, "application/x-npy").body, "2, 3, 4, ");
  ASSERT_EQ(scores.size(), 24U);
  const HttpAnswer answer = predict("?name=two.npy", two_cubes, "application/zip");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "application/zip");
  EXPECT_THAT(answer.header("content-disposition"), HasSubstr("scores.zip"));
  EXPECT_THAT(answer.body, AllOf(HasSubstr("summary.json"), HasSubstr("two_0_scores.npy"),
                                 HasSubstr("two_0_marks.npy"), HasSubstr("two_1_marks.npy")));
  // Files are stored as they are: the numbers of the second cube stand in the archive.
  std::string second(12 * sizeof(float), '\0');
  std::memcpy(second.data(), scores.data() + 12, second.size());
  EXPECT_NE(answer.body.find(second), std::string::npos);
  EXPECT_TRUE(uploads_go());
}

TEST_F(ServiceCubes, OnRecordAreScoredByTheirId) {
  ASSERT_EQ(upload("name=two.npy&id=two", two_cubes).status, 201);
  const HttpAnswer answer = service().ask("POST", "/api/models/fields/predict/cubes?dataset=two");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json sent = predict("", two_cubes).json();
  const json told = answer.json();
  ASSERT_EQ(told["cubes"].size(), 2U);
  EXPECT_EQ(told["cubes"][1]["highest_score"], sent["cubes"][1]["highest_score"]);
  EXPECT_EQ(predict("?dataset=two", two_cubes).status, 400);
  EXPECT_EQ(service().ask("POST", "/api/models/fields/predict/cubes?dataset=nothing").status, 404);
  ASSERT_EQ(upload("name=rows.csv&id=rows", "a\n1\n").status, 201);
  const HttpAnswer rows = service().ask("POST", "/api/models/fields/predict/cubes?dataset=rows");
  EXPECT_EQ(rows.status, 422);
  EXPECT_THAT(rows.body, HasSubstr("dataset rows has rows"));
  for (const char* id : {"two", "rows"})
    EXPECT_EQ(service().ask("DELETE", std::string("/api/datasets/") + id).status, 200);
}

TEST_F(ServiceCubes, ThatAreNoneAreRefusedAndLeaveNothing) {
  const auto refused = [&](const std::string& query, const std::string& body) {
    const HttpAnswer answer = predict(query, body);
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_THAT(answer.body, AllOf(Not(HasSubstr(service().data().string())), Not(HasSubstr("receiving")),
                                   Not(HasSubstr("--"))));
    return answer.body;
  };
  EXPECT_THAT(refused("?name=a.npy", npy_of("3, 4, 3", std::vector<float>(36))), HasSubstr("channels"));
  EXPECT_THAT(refused("?name=a.npy", npy_of("12, 4", pixels(12, 1))), HasSubstr("three dimensions"));
  EXPECT_THAT(refused("?name=a.npy", one_cube.substr(0, one_cube.size() - 8)), HasSubstr("a.npy"));
  EXPECT_THAT(refused("?name=a.npy", npy_of("99999999999, 99999999, 4", pixels(12, 1))), HasSubstr("a.npy"));
  auto odd = pixels(12, 1);
  odd[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refused("?name=a.npy", npy_of("3, 4, 4", odd)), HasSubstr("not finite numbers"));
  EXPECT_THAT(refused("?name=a.npy", "a,b\n1,2\n"), HasSubstr("no file of cubes"));
  EXPECT_THAT(refused("", envi_header), HasSubstr("in one zip archive"));
  EXPECT_THAT(refused("?name=a.hdr", envi_header), HasSubstr("in one zip archive"));
  EXPECT_THAT(refused("?name=a.h5", std::string("\x89HDF\r\n\x1a\n", 8) + "no more"), HasSubstr("a.h5"));
  EXPECT_THAT(refused("?name=a.zip", zipped({{"../../x.npy", one_cube}})), HasSubstr("leads out of"));
  EXPECT_THAT(refused("?name=a.zip", zipped({{"a.hdr", envi_header}})), HasSubstr("no file of numbers"));
  EXPECT_THAT(refused("?name=a.npz", zipped({{"cube.npy", one_cube}}).substr(0, 90)), HasSubstr("damaged"));
  EXPECT_THAT(refused("?name=a.npz&cube_key=x", zipped({{"cube.npy", one_cube}})), HasSubstr("no array 'x'"));
  EXPECT_EQ(predict("", "").status, 400);
  EXPECT_EQ(predict("?output=nonsense", one_cube).status, 400);
  EXPECT_EQ(predict("", one_cube, "", "multipart/form-data; boundary=x").status, 415);
  EXPECT_EQ(predict("", one_cube, "", "application/json").status, 415);
  EXPECT_EQ(service().ask("POST", "/api/models/nothing/predict/cubes", one_cube, bytes_of_cubes).status, 404);
  EXPECT_TRUE(uploads_go());
}

TEST_F(ServiceCubes, AreForModelsThatReadThemAndRowsForOthers) {
  const HttpAnswer rows = service().post("/api/models/fields/predict", {{"rows", {{{"a", 1}}}}});
  EXPECT_EQ(rows.status, 422);
  EXPECT_THAT(rows.body, HasSubstr("POST /api/models/fields/predict/cubes"));
  const std::string id = service().post("/api/training/jobs", small_training(1)).json()["id"];
  ASSERT_EQ(service().wait_for_job(id, {"completed", "failed"})["state"], "completed");
  deploy("houses", service().get("/api/models").json()["models"].at(0));
  const HttpAnswer cubes =
      service().ask("POST", "/api/models/houses/predict/cubes", one_cube, bytes_of_cubes);
  EXPECT_EQ(cubes.status, 422);
  EXPECT_THAT(cubes.body, HasSubstr("POST /api/models/houses/predict"));
}

TEST_F(ServiceCubes, OfAGraphThatDecidesNothingHaveScoresAlone) {
  deploy("scores-only", trained("", ""));
  const auto ask = [&](const std::string& query, const std::string& accept) {
    return service().ask("POST", "/api/models/scores-only/predict/cubes" + query, one_cube,
                         {{"Content-Type", "application/octet-stream"}, {"Accept", accept}});
  };
  const json told = ask("", "application/json").json();
  EXPECT_FALSE(told["cubes"][0].contains("marked_pixels")) << told.dump(1);
  EXPECT_EQ(ask("", "application/x-npy").status, 200);
  const HttpAnswer marks = ask("?output=marks", "application/x-npy");
  EXPECT_EQ(marks.status, 422);
  EXPECT_THAT(marks.body, HasSubstr("there are no marks"));
  EXPECT_THAT(ask("", "application/zip").body, Not(HasSubstr("_marks.npy")));
}

TEST_F(ServiceCubes, AreScoredForViewersAndForNobodyWithoutAToken) {
  const std::string path = "/api/models/fields/predict/cubes";
  RunningService::Headers headers = bytes_of_cubes;
  headers.emplace_back("Authorization", "");
  EXPECT_EQ(service().ask("POST", path, one_cube, headers).status, 401);
  const json viewer = service().post("/api/tokens", {{"name", "looks"}, {"role", "viewer"}}).json();
  headers.back().second = "Bearer " + viewer["token"].get<std::string>();
  EXPECT_EQ(service().ask("POST", path, one_cube, headers).status, 200);
  EXPECT_EQ(service().ask("POST", "/api/datasets/upload?name=a.npy", one_cube, headers).status, 403);
}

TEST_F(ServiceCubes, InEnviFormComeOnRecordAsOneArchive) {
  const std::string archive = zipped({{"flights/field.hdr", envi_header},
                                      {"flights/field.img", envi_numbers(7)},
                                      {"flights/wood.hdr", envi_header},
                                      {"flights/wood.dat", envi_numbers(8)},
                                      {"flights/wood_mask.npy", npy_of("3, 4", std::vector<float>(12, 1))}});
  const HttpAnswer made = upload("name=flights.zip&id=flights", archive);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["cubes"], (json{{"count", 2}, {"height", 3}, {"width", 4}, {"channels", 4}}));
  EXPECT_EQ(made.json()["source"], "flights.zip");
  EXPECT_EQ(uploads().size(), 6U) << "a folder of five files";
  const json preview = service().get("/api/datasets/flights/preview").json();
  EXPECT_THAT(preview["first_rows"][1][0].get<std::string>(), HasSubstr("wood"));
  // The same archive is scored as it comes, and by its id.
  const json sent = predict("?name=flights.zip", archive).json();
  const json kept = service().ask("POST", "/api/models/fields/predict/cubes?dataset=flights").json();
  ASSERT_EQ(sent["cubes"].size(), 2U) << sent.dump(1);
  EXPECT_EQ(sent["cubes"], kept["cubes"]);
  EXPECT_EQ(sent["cubes"][0]["highest_score"],
            predict("", npy_of("3, 4, 4", pixels(12, 7))).json()["cubes"][0]["highest_score"]);
  const HttpAnswer removed = service().ask("DELETE", "/api/datasets/flights");
  EXPECT_GT(removed.json()["freed_bytes"], 500);
  EXPECT_TRUE(uploads_go());
}

TEST_F(ServiceCubes, InArchivesThatAreAmissAreRefusedWithoutLeavingAFolder) {
  const auto refused = [&](const std::vector<Member>& members, const std::string& name = "a.zip") {
    const HttpAnswer answer = upload("id=amiss&name=" + name, zipped(members));
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_THAT(answer.body, Not(HasSubstr(service().data().string())));
    return answer.body;
  };
  EXPECT_THAT(refused({{"a.hdr", envi_header}}), HasSubstr("no file of numbers beside this header"));
  EXPECT_THAT(refused({{"a.img", envi_numbers(1)}}), HasSubstr("no ENVI header for 'a.img'"));
  EXPECT_THAT(refused({{"a.hdr", envi_header}, {"a.img", "short"}}), HasSubstr("a.hdr"));
  EXPECT_THAT(refused({{"a.hdr", envi_header}, {"../a.img", envi_numbers(1)}}), HasSubstr("leads out of"));
  EXPECT_THAT(refused({{"a.hdr", envi_header}, {"a.img", "/etc/passwd", false, 0, 0120777}}),
              HasSubstr("is a link"));
  EXPECT_THAT(refused({{"a.npy", one_cube}, {"b.npy", npy_of("2, 4, 4", pixels(8, 1))}}), HasSubstr("b.npy"));
  EXPECT_THAT(refused({{"a.csv", "a\n1\n"}, {"b.csv", "a\n1\n"}}), HasSubstr("one table is needed"));
  EXPECT_TRUE(uploads_go());
  EXPECT_EQ(service().get("/api/datasets/amiss").status, 404);
}

}  // namespace
}  // namespace stoker::test
