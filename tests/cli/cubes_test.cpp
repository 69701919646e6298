// Hyperspectral cubes by the command line: what is shown of them, what becomes of them between cards and in
// the cache, and where they are refused.
#include <cstdint>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// An ENVI file of 2 x 3 pixels and two bands, with a mask beside it.
void write_cube(const Workplace& place, const std::string& name, const std::string& numbers,
                const char* mask) {
  place.write(name + ".hdr",
              "ENVI\nsamples = 3\nlines = 2\nbands = 2\ndata type = 1\ninterleave = bip\nwavelength units = "
              "Micrometers\nwavelength = {0.5, 0.9}\n");
  place.write(name + ".img", numbers);
  place.write(name + "_mask.hdr",
              "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 1\ninterleave = bip\n");
  place.write(name + "_mask.img", std::string(mask, 6));
}

void write_cubes(const Workplace& place) {
  write_cube(place, "a", "abcdefghijkl", "\0\1\0\0\2\0");
  write_cube(place, "b", "mnopqrstuvwx", "\0\0\0\0\0\0");
  write_cube(place, "c", "ABCDEFGHIJKL", "\1\1\1\1\1\1");
}

TEST(CubesShown, HaveTheirSizeWavelengthsRangeAndMasks) {
  const Workplace place;
  write_cubes(place);
  const Finished text = place.stoker({"preview", "cubes:."});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_THAT(text.output, AllOf(HasSubstr("3 of 2 x 3 pixels with 2 channels"), HasSubstr("500 to 900 nm"),
                                 HasSubstr("65 to 120"), HasSubstr("class 1 38.89 %, class 2 5.56 %")));
  const json shown = json::parse(place.stoker({"preview", "a.hdr", "--json"}).output);
  const json cubes = shown["cubes"];
  EXPECT_EQ(cubes["count"], 1);
  EXPECT_EQ(cubes["height"], 2);
  EXPECT_EQ(cubes["width"], 3);
  EXPECT_EQ(cubes["channels"], 2);
  EXPECT_EQ(cubes["wavelengths"], json({500, 900}));
  EXPECT_EQ(cubes["lowest"], 'a');
  EXPECT_EQ(cubes["highest"], 'l');
  EXPECT_EQ(cubes["classes"],
            json({{{"class", 1}, {"name", ""}, {"pixels", 1}}, {{"class", 2}, {"name", ""}, {"pixels", 1}}}));
}

// Through a filter and a split, once as they are made and once from the cache.
TEST(CubesOfADocument, AreDividedWithTheRowsAndKept) {
  const Workplace place;
  write_cubes(place);
  place.write(
      "cubes.yaml",
      "version: 1\nname: cubes\ncards:\n"
      "  load: { type: data_load, config: { source: cubes, path: . } }\n"
      "  some: { type: data_filter, inputs: { dataset: load.dataset }, config: { where: [masked_pixels > "
      "0] } }\n"
      "  split: { type: data_split, inputs: { dataset: some.dataset }, config: { train_ratio: 0.5, "
      "test_ratio: 0.5 } }\n");
  for (int run = 0; run < 2; ++run) {
    const Finished finished = place.stoker({"run", "cubes.yaml"});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    EXPECT_EQ(finished.output.find("reused") != std::string::npos, run == 1) << finished.output;
  }
  std::vector<json> seen;
  for (const std::string& file : files_below(place.folder() / "runs"))
    if (file.ends_with("previews/split.train_dataset.json"))
      seen.push_back(json::parse(place.read(std::filesystem::path("runs") / file)));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0]["rows"], 1);
  EXPECT_EQ(seen[0]["cubes"]["count"], 1);
  const std::string name = seen[0]["first_rows"][0][0];
  EXPECT_EQ(seen[0]["cubes"]["lowest"], name == "a" ? 'a' : 'A');
}

TEST(CubesOfADocument, AreRefusedWhereATableIsNeeded) {
  const Workplace place;
  write_cubes(place);
  const Finished trained =
      place.stoker({"train", "cubes:.", "--target", "masked_pixels", "--model", "ridge"});
  EXPECT_EQ(trained.code, 2);
  EXPECT_THAT(trained.errors, AllOf(HasSubstr("cubes of 2 x 3 pixels"), HasSubstr("needs a table")));
  const Finished network = place.stoker({"train", "cubes:.", "--target", "masked_pixels"});
  EXPECT_EQ(network.code, 2) << network.errors;
  EXPECT_THAT(network.errors, HasSubstr("needs a table"));
  const Finished made = place.stoker(
      {"datasets", "generate", "s", "--sample", "spectral_stress", "--rows", "1", "--to", "s.sqlite"});
  EXPECT_EQ(made.code, 2);
  EXPECT_THAT(made.errors, HasSubstr("stoker datasets add ID sample:NAME"));
}

TEST(CubesOfADocument, ArePutOnRecordAndComeBackAsCubes) {
  const Workplace place;
  write_cubes(place);
  ASSERT_EQ(place.stoker({"datasets", "add", "flights", "cubes:."}).code, 0);
  const Finished seen = place.stoker({"preview", "dataset:flights", "--json"});
  ASSERT_EQ(seen.code, 0) << seen.errors;
  const json cubes = json::parse(seen.output)["cubes"];
  EXPECT_EQ(cubes["count"], 3);
  EXPECT_EQ(cubes["sight"]["width"], 3);
  EXPECT_EQ(cubes["sight"]["mask"], json({0, 1, 0, 0, 2, 0}));
  EXPECT_THAT(place.stoker({"datasets", "show", "flights"}).output,
              HasSubstr("3 of 2 x 3 pixels with 2 channels"));
  EXPECT_EQ(json::parse(place.stoker({"datasets", "show", "flights", "--json"}).output)["cubes"],
            json({{"count", 3}, {"height", 2}, {"width", 3}, {"channels", 2}}));
  // What would leave the cubes behind is refused.
  ASSERT_EQ(place.stoker({"datasets", "add", "again", "cubes:."}).code, 0);
  place.write(
      "both.yaml",
      "version: 1\ncards: { load: { type: data_load, config: { source: datasets, dataset_ids: [flights, "
      "again] } } }");
  const Finished both = place.stoker({"run", "both.yaml"});
  EXPECT_EQ(both.code, 2) << both.output;
  EXPECT_THAT(both.errors, HasSubstr("dataset flights is read together with others"));
  const Finished repaired = place.stoker({"datasets", "repair", "flights"});
  EXPECT_EQ(repaired.code, 2) << repaired.output;
  EXPECT_THAT(repaired.errors, HasSubstr("this needs a table with columns"));
}

TEST(CubesOnRecord, AreValidatedByTheirValues) {
  const Workplace place;
  write_cubes(place);
  ASSERT_EQ(place.stoker({"datasets", "add", "sound", "cubes:."}).code, 0);
  const Finished sound = place.stoker({"datasets", "validate", "sound"});
  EXPECT_EQ(sound.code, 0) << sound.errors;
  EXPECT_THAT(sound.output, Not(AnyOf(HasSubstr("finite"), HasSubstr("channel"))));

  // Two pixels of b are gone, and its second channel has one value.
  write_cube(place, "b", "mxnxoxpxqxqx", "\0\0\0\0\0\0");
  place.write("b.hdr", place.read("b.hdr") + "data ignore value = 113\n");  // 'q'
  ASSERT_EQ(place.stoker({"datasets", "add", "flights", "cubes:."}).code, 0);
  const Finished text = place.stoker({"datasets", "validate", "flights"});
  EXPECT_EQ(text.code, 2) << text.errors;
  EXPECT_THAT(
      text.output,
      AllOf(HasSubstr("1 of 3 cubes has pixels with values that are not finite numbers: b (2 pixels NaN)"),
            HasSubstr("note: a channel has one and the same value in all pixels of 1 of 3 cubes: 2 (900 "
                      "nm)"),
            HasSubstr("1 of 3 rows has faults")));
  const json found = json::parse(place.stoker({"datasets", "validate", "flights", "--json"}).output);
  EXPECT_EQ(found["faults"],
            json({{{"column", "(pixels)"}, {"kind", "nan"}, {"rows", 1}, {"first_row", 2}}}));
  EXPECT_EQ(found["cubes"]["not_finite"], json({{{"cube", "b"}, {"nan_pixels", 2}, {"infinite_pixels", 0}}}));
  EXPECT_EQ(found["cubes"]["dead_channels"], json({{{"channel", 2}, {"wavelength", 900}, {"cubes", 1}}}));
}

constexpr const char* graph_of_record = R"(version: 1
cards:
  load: { type: data_load, config: { source: datasets, dataset_ids: [flights] } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes: [{ name: data, type: CubeDataNode }, { name: rx, type: RXGlobal }]
      connections: [{ source: data.cube, target: rx.data }]
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: TARGET }
)";

TEST(CubesOfADocument, HaveTheirMasksAsTheTargetAndNoColumn) {
  const Workplace place;
  write_cubes(place);
  ASSERT_EQ(place.stoker({"datasets", "add", "flights", "cubes:."}).code, 0);
  const auto validated = [&](const std::string& target) {
    std::string text = graph_of_record;
    place.write("graph.yaml", text.replace(text.find("TARGET"), 6, target));
    return place.stoker({"validate", "graph.yaml"});
  };
  const Finished sound = validated("mask");
  EXPECT_EQ(sound.code, 0) << sound.errors;
  for (const char* target : {"masks", "masked_pixels", "cube"}) {
    const Finished refused = validated(target);
    EXPECT_EQ(refused.code, 2) << target;
    EXPECT_THAT(refused.errors, HasSubstr("learns from their masks: set 'mask'")) << target;
  }
}

// Four of 2 x 3 pixels with two bands, and no masks.
void write_unmarked_cubes(const Workplace& place) {
  const std::string numbers = "acbgdfeahbic";
  std::filesystem::create_directory(place.folder() / "fields");
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string name = fmt::format("field_{}", i);
    place.write("fields/" + name + ".hdr",
                "ENVI\nsamples = 3\nlines = 2\nbands = 2\ndata type = 1\ninterleave = bip\n");
    place.write("fields/" + name + ".img", numbers.substr(i) + numbers.substr(0, i));
  }
}

constexpr const char* unmarked_graph = R"(version: 1
name: unmarked
cards:
  load: { type: data_load, config: { source: cubes, path: fields } }
  split: { type: data_split, inputs: { dataset: load.dataset }, config: { train_ratio: 0.5, test_ratio: 0.5 } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes: [{ name: data, type: CubeDataNode }, { name: rx, type: RXGlobal }NODES]
      connections: [{ source: data.cube, target: rx.data }CONNECTIONS]
  train:
    type: train
    inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }
    config: { target_column: mask }
  evaluate:
    type: evaluate
    inputs: { trained_model: train.trained_model, test_dataset: split.test_dataset }
)";

std::string with_nodes(std::string text, const std::string& nodes, const std::string& connections) {
  text.replace(text.find("NODES"), 5, nodes);
  return text.replace(text.find("CONNECTIONS"), 11, connections);
}

TEST(CubesWithoutMasks, AreScoredAndDrawnWhereNothingCanBeMeasured) {
  const Workplace place;
  write_unmarked_cubes(place);
  place.write("graph.yaml", with_nodes(unmarked_graph, "", ""));
  const Finished valid = place.stoker({"validate", "graph.yaml"});
  EXPECT_EQ(valid.code, 0) << valid.errors;
  EXPECT_THAT(valid.output, AllOf(HasSubstr("cards.evaluate.config: the cubes that come here have no masks"),
                                  HasSubstr("set mask_path")));
  const Finished run = place.stoker({"run", "graph.yaml", "--out", "out"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("the cubes to evaluate on come without masks"));
  EXPECT_THAT(run.output, HasSubstr("nothing was measured"));
  json found;
  for (const std::string& file : files_below(place.folder() / "out"))
    if (file.ends_with("cubes/evaluate.json"))
      found = json::parse(place.read(std::filesystem::path("out") / file));
  ASSERT_FALSE(found.is_null());
  EXPECT_EQ(found["cubes"], 2);
  const json shown = found["shown"];
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown[0]["reason"], "the highest score");
  EXPECT_EQ(shown[0]["mask"], "");
  EXPECT_EQ(found["spectra"]["means"].size(), 1U);
  EXPECT_EQ(found["spectra"]["means"][0]["of"], "all");
  EXPECT_TRUE(found["precision_recall"]["recall"].empty());
}

TEST(CubesWithoutMasks, AreRefusedBeforeTheTrainingWhereAGraphReadsMasks) {
  const Workplace place;
  write_unmarked_cubes(place);
  place.write("graph.yaml",
              with_nodes(unmarked_graph,
                         ", { name: logit, type: ScoreToLogit }, { name: bce, type: AnomalyBCEWithLogits }",
                         ", { source: rx.scores, target: logit.scores }, { source: logit.logits, target: "
                         "bce.predictions }, { source: data.mask, target: bce.targets }"));
  for (const char* command : {"validate", "run"}) {
    const Finished refused = place.stoker({command, "graph.yaml"});
    EXPECT_EQ(refused.code, 2) << command;
    EXPECT_THAT(refused.errors, AllOf(HasSubstr("bce.targets reads masks, but the cubes come without"),
                                      HasSubstr("set mask_path"), Not(HasSubstr("epoch"))))
        << command;
  }
}

TEST(GraphsOfCubes, ThatScoreNothingAreRefusedBeforeTheTrainingWhereTheyAreEvaluated) {
  const Workplace place;
  write_unmarked_cubes(place);
  std::string document = with_nodes(unmarked_graph, "", "");
  document.replace(document.find("RXGlobal"), 8, "MinMaxNormalizer");
  place.write("graph.yaml", document);
  for (const char* command : {"validate", "run"}) {
    const Finished refused = place.stoker({command, "graph.yaml"});
    EXPECT_EQ(refused.code, 2) << command;
    EXPECT_THAT(refused.errors, AllOf(HasSubstr("evaluate"), HasSubstr("no node that scores pixels"),
                                      Not(HasSubstr("epoch"))))
        << command;
  }
  place.write("graph.yaml", document.substr(0, document.find("  evaluate:")));
  EXPECT_EQ(place.stoker({"validate", "graph.yaml"}).code, 0);
}

// Which headers tell before a number is read.
TEST(GraphsOfCubes, AreCheckedWithTheChannelsAndWavelengthsOfTheirCubes) {
  const Workplace place;
  write_unmarked_cubes(place);
  const std::string pca = ", { name: pca, type: TrainablePCA, settings: { n_components: COUNT } }";
  const auto with_components = [&](const std::string& count) {
    std::string nodes = pca;
    nodes.replace(nodes.find("COUNT"), 5, count);
    place.write("graph.yaml", with_nodes(unmarked_graph, nodes, ", { source: data.cube, target: pca.data }"));
    return place.stoker({"validate", "graph.yaml"});
  };
  EXPECT_EQ(with_components("2").code, 0);
  const Finished more = with_components("3");
  EXPECT_EQ(more.code, 2);
  EXPECT_THAT(more.errors, AllOf(HasSubstr("graph.yaml:"), HasSubstr("cards.model.config.nodes"),
                                 HasSubstr("n_components is 3, but only 2 channels come in")));
  place.write("graph.yaml", with_nodes(unmarked_graph, ", { name: logit, type: ScoreToLogit }",
                                       ", { source: data.cube, target: logit.scores }"));
  const Finished unfit = place.stoker({"validate", "graph.yaml"});
  EXPECT_EQ(unfit.code, 2);
  EXPECT_THAT(unfit.errors, HasSubstr("any, any, any, 2]"));
}

TEST(CubesThatAreNone, EndWithExitCode2AndTheReason) {
  const Workplace place;
  write_cubes(place);
  const auto refused = [&](const std::string& data, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> words{"preview", data};
    words.insert(words.end(), flags.begin(), flags.end());
    const Finished finished = place.stoker(words);
    EXPECT_EQ(finished.code, 2) << data;
    EXPECT_EQ(finished.output, "") << data;
    return finished.errors;
  };
  place.write("session.cu3s", "x");
  EXPECT_THAT(refused("session.cu3s"), HasSubstr("export it with the cuvis SDK"));
  place.write("d.dat", "abcdefghijkl");
  place.write("d.hdr", place.read("a.hdr"));
  EXPECT_THAT(refused("d.dat"), AllOf(HasSubstr("a cube in ENVI form"), HasSubstr("'d.hdr'")));
  place.write("a.img", "abc");
  EXPECT_THAT(refused("a.hdr"), HasSubstr("cut off"));
  place.write("b_mask.hdr", "ENVI\nsamples = 2\nlines = 2\nbands = 1\ndata type = 1\ninterleave = bip\n");
  EXPECT_THAT(refused("b.hdr"), HasSubstr("the shape 2 x 2 x 1"));
  place.write("c.hdr", "ENVI\nsamples = 3\n");
  EXPECT_THAT(refused("c.hdr"), HasSubstr("'lines' is missing"));
  EXPECT_THAT(refused("cubes:nowhere"), HasSubstr("does not exist"));
  EXPECT_THAT(refused("sample:friedman", {"--cube-key", "x"}), HasSubstr("not a setting of source sample"));
  EXPECT_THAT(refused("sample:spectral_stress", {"--sample-rows", "100000000"}),
              HasSubstr("neither memory nor the disk"));
}

}  // namespace
}  // namespace stoker::test
