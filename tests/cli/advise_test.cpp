// stoker advise and stoker bench DOC, as people use them. No test asserts a time, so measuring may take as
// long as a busy machine needs.
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "advise/own_cache.h"
#include "cli/program.h"
#include "patience.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

// The processes that measure for whoever works in the folder.
std::vector<pid_t> measuring_in(const std::filesystem::path& folder) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    if (std::filesystem::read_symlink(entry.path() / "cwd", ignored) != std::filesystem::canonical(folder))
      continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    if (words.find("--measure") != std::string::npos)
      found.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
  }
  return found;
}

// As an engineer would write it, with a comment.
std::string commented(const std::string& document) {
  return "# The houses of the north.\n" + document;
}

void expect_finite_predictions(const json& way) {
  for (const char* key : {"predicted_seconds", "predicted_training_seconds", "predicted_peak_bytes"}) {
    ASSERT_TRUE(way.contains(key)) << key;
    EXPECT_TRUE(std::isfinite(way.at(key).get<double>())) << key;
    EXPECT_GE(way.at(key).get<double>(), 0) << key;
  }
  EXPECT_GT(way.at("predicted_seconds").get<double>(), 0);
  EXPECT_GT(way.at("predicted_peak_bytes").get<double>(), 0);
}

TEST(Advise, PredictsEveryWayAndLeavesTheDocumentAsItIs) {
  const Workplace place;
  const OwnCache cache(place.folder() / "cache");
  place.write("houses.csv", small_table(400));
  const std::string document = commented(network_document(1'000'000));
  place.write("pipeline.yaml", document);
  const Finished finished =
      place.stoker({"advise", "pipeline.yaml", "--seconds", "600", "--json", "--apply", "faster.yaml"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const json told = json::parse(finished.output);
  EXPECT_EQ(place.read("pipeline.yaml"), document);
  expect_finite_predictions(told.at("recommended"));
  expect_finite_predictions(told.at("as_written"));
  ASSERT_FALSE(told.at("ways").empty());
  const json& ways = told.at("ways");
  for (const json& way : ways) expect_finite_predictions(way);
  // A million epochs are not over in a few seconds: it was predicted, not waited for.
  EXPECT_EQ(told.at("as_written").at("basis"), "short run");
  EXPECT_GE(told.at("machine_load").get<double>(), 0);
  EXPECT_TRUE(told.at("rule_of_thumb").is_object());
  EXPECT_FALSE(told.at("sentences").empty());

  const Finished valid = place.stoker({"validate", "faster.yaml"});
  EXPECT_EQ(valid.code, 0) << valid.errors;
  const std::string applied = place.read("faster.yaml");
  EXPECT_THAT(applied, HasSubstr("engine: " + told.at("recommended").at("engine").get<std::string>()));
  const auto device = told.at("recommended").at("device").get<std::string>();
  EXPECT_THAT(applied, AnyOf(HasSubstr("device: " + device), HasSubstr("device: \"" + device + "\"")));
  EXPECT_THAT(applied, HasSubstr("batch_size: 16"));
  EXPECT_FALSE(std::filesystem::exists(place.folder() / "runs"));
}

// Engine auto takes what is on record for the very network as the faster one, and says so.
TEST(Advise, LeavesFiguresThatAutoHeeds) {
  const Workplace place;
  const OwnCache cache(place.folder() / "cache");
  place.write("houses.csv", small_table(400));
  place.write("pipeline.yaml", network_document(3));
  const Finished advised = place.stoker({"advise", "pipeline.yaml", "--seconds", "600", "--json", "--quiet"});
  ASSERT_EQ(advised.code, 0) << advised.errors;
  const std::vector<std::string> kept = files_below(place.folder() / "cache" / "stoker" / "figures");
  ASSERT_EQ(kept.size(), 1U);
  const std::filesystem::path file = place.folder() / "cache" / "stoker" / "figures" / kept.front();
  json figures = json::parse(place.read(file));
  // Opening LibTorch is part of getting ready for all engines that need it: a device's process opens it once,
  // and what that took is added to each of them.
  const json opening = json::parse(advised.output).at("libtorch_seconds_by_device");
  int with_libtorch = 0;
  for (const json& each : figures.at("figures"))
    if (each.at("engine") == "eager") {
      ++with_libtorch;
      EXPECT_GE(each.at("ready_seconds"), opening.at(each.at("device").get<std::string>())) << each;
      EXPECT_GT(opening.at(each.at("device").get<std::string>()), 0) << each;
    }
  EXPECT_GE(with_libtorch, 1);
  for (json& each : figures.at("figures"))
    if (each.at("device") == "cpu") {
      each["step_seconds"] = each.at("engine") == "eager" ? 1e-6 : 1.0;
      each["ready_seconds"] = 0.0;
    }
  place.write(file.string(), figures.dump());
  const std::vector<std::string> words{"run", "pipeline.yaml", "--json", "--no-cache", "--device", "cpu"};
  const json eager = json::parse(place.stoker(words).output);
  EXPECT_EQ(eager.at("trainings").at(0).at("engine"), "eager");
  EXPECT_THAT(eager.at("notes").dump(), HasSubstr("engine eager: as measured on this machine"));
  place.write(file.string(), "damaged");
  EXPECT_EQ(json::parse(place.stoker(words).output).at("trainings").at(0).at("engine"), "fused");
}

TEST(Advise, MeasuresATrainingWholeThatIsTooShortToCut) {
  const Workplace place;
  const OwnCache cache(place.folder() / "cache");
  place.write("houses.csv", small_table(60));
  place.write("pipeline.yaml", network_document(2));
  const Finished finished =
      place.stoker({"advise", "pipeline.yaml", "--seconds", "600", "--json", "--quiet"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_EQ(finished.errors, "");
  const json told = json::parse(finished.output);
  EXPECT_EQ(told.at("as_written").at("basis"), "whole run");
  expect_finite_predictions(told.at("recommended"));
}

// Both say the same as device and placement, and contradict what is tried and recommended.
TEST(Advise, TakesDocumentsThatSayItInOtherWords) {
  const Workplace place;
  const OwnCache cache(place.folder() / "cache");
  place.write("houses.csv", small_table(60));
  place.write("pipeline.yaml", network_document(2));
  const std::vector<std::string> words{"--set", "cards.train.config.gpu_mode=cpu", "--set",
                                       "cards.train.config.preload_to_gpu=true"};
  std::vector<std::string> advise{"advise", "pipeline.yaml", "--seconds", "600",
                                  "--json", "--apply",       "o.yaml"};
  advise.insert(advise.end(), words.begin(), words.end());
  const Finished finished = place.stoker(advise);
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_EQ(json::parse(finished.output).at("as_written").at("device"), "cpu");
  EXPECT_EQ(place.stoker({"validate", "o.yaml"}).code, 0);
  std::vector<std::string> bench{"bench", "pipeline.yaml", "--device", "cpu", "--runs", "1"};
  bench.insert(bench.end(), words.begin(), words.end());
  const Finished benched = place.stoker(bench);
  EXPECT_EQ(benched.code, 0) << benched.errors;
}

TEST(Advise, RefusesACopyThatCouldNotNameItsFiles) {
  const Workplace place;
  const std::string folder = "hous\xff";
  std::filesystem::create_directory(place.folder() / folder);
  place.write(folder + "/houses.csv", small_table(60));
  place.write(folder + "/pipeline.yaml", ridge_document());
  const Finished refused = place.stoker({"advise", folder + "/pipeline.yaml", "--apply", "elsewhere.yaml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("in the same folder"));
  EXPECT_THAT(refused.errors, testing::Not(HasSubstr("measuring")));
  const OwnCache cache(place.folder() / "cache");
  const Finished beside = place.stoker({"advise", folder + "/pipeline.yaml", "--seconds", "600", "--json",
                                        "--apply", folder + "/faster.yaml"});
  EXPECT_EQ(beside.code, 0) << beside.errors;
  EXPECT_EQ(place.stoker({"validate", folder + "/faster.yaml"}).code, 0);
}

TEST(Advise, SaysThatALinearModelLeavesNothingToChoose) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("pipeline.yaml", ridge_document());
  const Finished finished = place.stoker({"advise", "pipeline.yaml", "--seconds", "600"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.output, HasSubstr("solved, without steps"));
}

TEST(Advise, RefusesBadDocumentsBeforeItMeasures) {
  const Workplace place;
  EXPECT_EQ(place.stoker({"advise"}).code, 2);
  const Finished missing = place.stoker({"advise", "nowhere.yaml"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.errors, HasSubstr("nowhere.yaml"));
  place.write("bad.yaml", "version: 1\ncards:\n  load: { type: data_lod }\n");
  const Finished bad = place.stoker({"advise", "bad.yaml"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.errors, HasSubstr("did you mean data_load?"));
  EXPECT_THAT(bad.errors, testing::Not(HasSubstr("measuring")));
  place.write("loading.yaml",
              "version: 1\ncards:\n  load: { type: data_load, config: { source: sample } }\n");
  const Finished nothing = place.stoker({"advise", "loading.yaml"});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.errors, HasSubstr("nothing is trained"));
}

TEST(Advise, RefusesASweepAndSaysWhatToGiveIt) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  std::string document = network_document(2);
  const std::size_t place_of_batch = document.find("batch_size: 16");
  ASSERT_NE(place_of_batch, std::string::npos);
  document.replace(place_of_batch, 14, "batch_size: { choice: [8, 16] }");
  place.write("sweep.yaml", document);
  const Finished finished = place.stoker({"advise", "sweep.yaml"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("--set cards.model.config.batch_size=VALUE"));
  EXPECT_THAT(finished.errors, testing::Not(HasSubstr("measuring")));
}

TEST(Advise, RefusesDataThatIsNotThere) {
  const Workplace place;
  place.write("pipeline.yaml", network_document(2));
  const Finished finished = place.stoker({"advise", "pipeline.yaml", "--quiet"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("houses.csv"));
}

TEST(Advise, NeverWritesOverAFile) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  const std::string document = network_document(2);
  place.write("pipeline.yaml", document);
  place.write("kept.yaml", "kept\n");
  for (const char* target : {"pipeline.yaml", "./pipeline.yaml", "kept.yaml", "no_folder/out.yaml"}) {
    const Finished finished = place.stoker({"advise", "pipeline.yaml", "--apply", target});
    EXPECT_EQ(finished.code, 2) << target;
    EXPECT_THAT(finished.errors, HasSubstr("--apply")) << target;
  }
  EXPECT_EQ(place.read("pipeline.yaml"), document);
  EXPECT_EQ(place.read("kept.yaml"), "kept\n");
}

TEST(BenchOfADocument, SplitsItsTimeIntoParts) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("pipeline.yaml", network_document(2));
  const Finished finished =
      place.stoker({"bench", "pipeline.yaml", "--device", "cpu", "--runs", "1", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const json line = json::parse(finished.output);
  EXPECT_EQ(line.at("device"), "cpu");
  EXPECT_EQ(line.at("times"), 1);
  double sum = 0;
  const json& parts = line.at("parts");
  for (const char* part : {"start", "load", "statistics", "training", "evaluation"}) {
    const double seconds = parts.at(std::string(part) + "_seconds").get<double>();
    EXPECT_GE(seconds, 0) << part;
    sum += seconds;
  }
  // Of one run, the parts are all of it: nothing is counted twice or left out but reading the document.
  EXPECT_NEAR(sum / line.at("seconds").get<double>(), 1, 1e-6);
  EXPECT_FALSE(std::filesystem::exists(place.folder() / "runs"));
}

// The run that is measured would go on for minutes.
TEST(BenchOfADocument, ComparesItsCpuTimeWithThatNextToBusyLoops) {
  const Workplace place;
  place.write("houses.csv", small_table(100));
  place.write("pipeline.yaml", network_document(5));
  const Finished finished = place.stoker(
      {"bench", "pipeline.yaml", "--device", "cpu", "--runs", "1", "--busy-loops", "3", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const std::size_t end = finished.output.find('\n');
  const json alone = json::parse(finished.output.substr(0, end));
  const json next_to_others = json::parse(finished.output.substr(end));
  EXPECT_EQ(alone.at("busy_loops"), 0);
  EXPECT_EQ(alone.at("times_cpu"), 1);
  EXPECT_EQ(next_to_others.at("busy_loops"), 3);
  for (const json& line : {alone, next_to_others}) EXPECT_GT(line.at("processor_seconds").get<double>(), 0);
  EXPECT_NEAR(
      next_to_others.at("times_cpu").get<double>(),
      next_to_others.at("processor_seconds").get<double>() / alone.at("processor_seconds").get<double>(),
      1e-9);
}

TEST(BenchOfADocument, EndsWhatMeasuresForItWhenItIsKilled) {
  const Workplace place;
  place.write("houses.csv", small_table(400));
  place.write("pipeline.yaml", network_document(1'000'000));
  Program bench({STOKER_PROGRAM, "bench", "pipeline.yaml", "--device", "cpu", "--runs", "1"}, place.folder());
  EXPECT_TRUE(comes_true([&] { return !measuring_in(place.folder()).empty(); }));
  bench.send(SIGKILL);
  bench.wait();
  EXPECT_TRUE(comes_true([&] { return measuring_in(place.folder()).empty(); }));
  for (const pid_t each : measuring_in(place.folder())) kill(each, SIGKILL);
}

TEST(BenchOfADocument, RefusesWhatIsNotThere) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("pipeline.yaml", network_document(2));
  const Finished device = place.stoker({"bench", "pipeline.yaml", "--device", "cpu", "--device", "cuda:99"});
  EXPECT_EQ(device.code, 2);
  EXPECT_THAT(device.errors, HasSubstr("cuda:99"));
  const Finished workload = place.stoker({"bench", "w11"});
  EXPECT_EQ(workload.code, 2);
  EXPECT_THAT(workload.errors, HasSubstr("did you mean w1?"));
  EXPECT_EQ(place.stoker({"bench"}).code, 2);
}

}  // namespace
}  // namespace stoker::test
