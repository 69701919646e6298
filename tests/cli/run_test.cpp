// A run as a person starts it: results, run folders, cache, Ctrl-C and resume.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "patience.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Run : public testing::Test {
 protected:
  Run() {
    place_.write("houses.csv", small_table(120));
    place_.write("pipeline.yaml", ridge_document());
  }

  nlohmann::json run_json(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run", "pipeline.yaml", "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = place_.stoker(words);
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return nlohmann::json::parse(finished.output);
  }

  Workplace place_;
};

TEST_F(Run, PrintsMetricsAndWhereEverythingIs) {
  const Finished finished = place_.stoker({"run", "pipeline.yaml"});
  EXPECT_EQ(finished.code, 0) << finished.errors;
  for (const char* each : {"rmse", "r2", "/model", "report.html", "stoker predict"}) {
    EXPECT_THAT(finished.output, HasSubstr(each));
  }
  EXPECT_THAT(finished.output, testing::Not(HasSubstr("\033")));
}

TEST_F(Run, JsonTellsWhereTheRunIsAndHowGoodTheModel) {
  const auto json = run_json();
  EXPECT_TRUE(fs::exists(place_.folder() / json.at("folder").get<std::string>() / "run.json"));
  EXPECT_TRUE(fs::exists(place_.folder() / json.at("report").get<std::string>()));
  // The table is linear but for ridge's small pull towards 0.
  EXPECT_GT(json.at("evaluations").at("evaluate").at("metrics").at("r2").get<double>(), 0.99);
}

TEST_F(Run, ASecondRunReusesWhatDidNotChange) {
  run_json();
  const Finished second = place_.stoker({"run", "pipeline.yaml"});
  EXPECT_THAT(second.output, HasSubstr("reused"));
  const auto changed = run_json({"--set", "cards.split.config.random_seed=7"});
  for (const auto& card : changed.at("cards")) {
    EXPECT_EQ(card.at("reused").get<bool>(), card.at("id") == "load" || card.at("id") == "model")
        << card.dump();
  }
  const auto anew = run_json({"--no-cache"});
  for (const auto& card : anew.at("cards")) EXPECT_FALSE(card.at("reused").get<bool>());
}

TEST_F(Run, OnlyRunsACardAndWhatItNeeds) {
  const auto json = run_json({"--only", "split"});
  EXPECT_EQ(json.at("cards").size(), 2U);
}

TEST_F(Run, ItsProgressSaysHowManyEpochsThereAreToBe) {
  place_.write(
      "network.yaml",
      "version: 1\ncards:\n"
      "  load: { type: data_load, config: { source: sample, sample_rows: 200 } }\n"
      "  model: { type: model_define_gpu, config: { hidden_layers: [4], epochs: 7 } }\n"
      "  train: { type: train, inputs: { train_dataset: load.dataset, model_spec: model.model_spec }, "
      "config: { target_column: MEDV, device: cpu } }\n");
  const Finished finished =
      place_.stoker({"run", "network.yaml", "--quiet", "--progress-file", "progress.json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const auto progress = nlohmann::json::parse(place_.read("progress.json"));
  EXPECT_EQ(progress["card"], "train");
  EXPECT_EQ(progress["epochs"], 7) << progress;
}

TEST_F(Run, ARefusedOneKeepsItsFolderForWhoWatches) {
  place_.write("wrong.yaml",
               "version: 1\nname: wrong\ncards:\n"
               "  load: { type: data_load, config: { source: csv, path: houses.csv } }\n"
               "  split: { type: data_split, inputs: { dataset: load.dataset }, config: { stratify_column: "
               "nope } }\n");
  EXPECT_EQ(place_.stoker({"run", "wrong.yaml", "--as", "alone"}).code, 2);
  EXPECT_FALSE(fs::exists(place_.folder() / "runs" / "alone"));
  EXPECT_EQ(place_.stoker({"run", "wrong.yaml", "--as", "watched", "--progress-file", "progress.json"}).code,
            2);
  const auto record = nlohmann::json::parse(place_.read("runs/watched/run.json"));
  EXPECT_EQ(record["failed_card"], "split");
  EXPECT_EQ(record["failed_setting"], "stratify_column");
}

TEST_F(Run, TellsThePenaltyThatWasChosen) {
  const std::vector<std::string> words{"train",    "houses.csv", "--target", "y",      "--model",
                                       "ridge_cv", "--alphas",   "0.25",     "--quiet"};
  EXPECT_THAT(place_.stoker(words).output,
              testing::ContainsRegex("alpha +0.25, chosen by cross-validation \\(train ridge_cv\\)"));
  EXPECT_THAT(place_.stoker({"runs", "show", "latest"}).output, HasSubstr("alpha 0.25"));
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  const auto json = nlohmann::json::parse(place_.stoker(as_json).output);
  EXPECT_EQ(json.at("trainings").at(0).at("alpha"), 0.25);
}

TEST_F(Run, TrainRunsEveryCardAgainWithoutTheCache) {
  const std::vector<std::string> words{"train", "houses.csv", "--target", "y",         "--model",
                                       "ridge", "--json",     "--quiet",  "--no-cache"};
  place_.stoker(words);
  const auto json = nlohmann::json::parse(place_.stoker(words).output);
  for (const auto& card : json.at("cards")) EXPECT_FALSE(card.at("reused").get<bool>());
}

TEST_F(Run, TellsTheSameTimeAtItsEndAndInTheList) {
  const auto json = run_json();
  const auto listed = nlohmann::json::parse(place_.stoker({"runs", "--json"}).output);
  EXPECT_EQ(listed.at("runs").at(0).at("seconds"), json.at("seconds"));
}

TEST_F(Run, ALinearModelOfClassesSaysWhichFlagsHelp) {
  const Finished finished = place_.stoker({"train", "houses.csv", "--target", "kind", "--model", "ridge"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors,
              testing::AllOf(HasSubstr("--model logistic_regression"), HasSubstr("--task regression")));
}

TEST_F(Run, RefusesABoundOfTheCacheThatIsNoNumber) {
  ::setenv("STOKER_CACHE_GIB", "much", 1);
  const Finished finished = place_.stoker({"run", "pipeline.yaml"});
  ::unsetenv("STOKER_CACHE_GIB");
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("STOKER_CACHE_GIB is 'much'"));
}

TEST_F(Run, RunsCanBeListedShownComparedAndDeleted) {
  const std::string first = run_json().at("run");
  const std::string second = run_json({"--set", "cards.split.config.random_seed=7"}).at("run");
  EXPECT_THAT(place_.stoker({"runs"}).output, testing::AllOf(HasSubstr(first), HasSubstr(second)));
  EXPECT_EQ(nlohmann::json::parse(place_.stoker({"runs", "list", "--json"}).output).at("runs").size(), 2U);
  EXPECT_THAT(place_.stoker({"runs", "show", "latest"}).output, HasSubstr(second));
  EXPECT_THAT(place_.stoker({"runs", "show", "runs/" + first}).output, HasSubstr("ridge"));
  EXPECT_THAT(place_.stoker({"runs", "compare", first, second}).output,
              testing::AllOf(HasSubstr("evaluate.rmse"), HasSubstr("split.config.random_seed")));
  EXPECT_EQ(place_.stoker({"runs", "delete", first}).code, 0);
  EXPECT_FALSE(fs::exists(place_.folder() / "runs" / first));
  const Finished gone = place_.stoker({"runs", "show", first});
  EXPECT_EQ(gone.code, 2);
}

TEST_F(Run, DeviceIsASettingOfEveryTrainCard) {
  place_.write("pipeline.yaml", network_document(1));
  const Finished finished = place_.stoker({"run", "pipeline.yaml", "--device", "cuda:99"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("cuda:99"));
}

TEST_F(Run, TrainBuildsKeepsAndRunsTheSameDocument) {
  const Finished trained = place_.stoker({"train", "houses.csv", "--target", "y", "--model", "ridge",
                                          "--alpha", "0.5", "--test-ratio", "0.25", "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const auto json = nlohmann::json::parse(trained.output);
  const std::string document = json.at("folder").get<std::string>() + "/pipeline.yaml";
  const Finished again = place_.stoker({"run", document, "--json", "--quiet", "--no-cache"});
  ASSERT_EQ(again.code, 0) << again.errors;
  EXPECT_EQ(nlohmann::json::parse(again.output).at("evaluations"), json.at("evaluations"));
  EXPECT_EQ(json.at("evaluations").at("evaluate").at("rows"), 30);
}

TEST_F(Run, TrainTellsHowSureWhyAndWhatWasLearnt) {
  const Finished trained =
      place_.stoker({"train", "houses.csv", "--target", "y", "--model", "linear_regression"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  for (const char* each : {"95 % interval", "training", "the mean", "what it relies on", "coefficients.csv"})
    EXPECT_THAT(trained.output, HasSubstr(each));
  const auto json = run_json();
  const auto& evaluation = json.at("evaluations").at("evaluate");
  EXPECT_LE(evaluation.at("intervals").at("r2").at("low"), evaluation.at("metrics").at("r2"));
  // The mean of the training rows is never better on other rows than their own mean.
  EXPECT_LE(evaluation.at("baseline").at("metrics").at("r2").get<double>(), 0);
  EXPECT_GT(evaluation.at("baseline").at("metrics").at("r2").get<double>(), -0.5);
  EXPECT_EQ(evaluation.at("verdict").at("better"), true);
  EXPECT_THAT(trained.output, HasSubstr("better than always predicting the mean (mse "));
  EXPECT_TRUE(evaluation.contains("training_metrics"));
  EXPECT_TRUE(json.at("warnings").is_array());
  EXPECT_TRUE(json.at("notes").is_array());
  EXPECT_FALSE(evaluation.contains("importance"));  // which documents have to ask for
}

TEST_F(Run, CoefficientsAreInRealUnits) {
  const Finished trained =
      place_.stoker({"train", "houses.csv", "--target", "y", "--model", "linear_regression",
                     "--feature-columns", "a,b", "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const std::string folder = nlohmann::json::parse(trained.output).at("folder");
  const std::string document = place_.read(folder + "/pipeline.yaml");
  EXPECT_THAT(document, testing::AllOf(HasSubstr("scaling: standard"), HasSubstr("scale_target: false")));
  std::istringstream lines(place_.read(folder + "/coefficients.csv"));
  std::map<std::string, double> found;
  for (std::string line; std::getline(lines, line);)
    found[line.substr(0, line.find(','))] = std::atof(line.substr(line.find(',') + 1).c_str());
  EXPECT_NEAR(found.at("(intercept)"), 1, 1e-6);
  EXPECT_NEAR(found.at("a"), 2, 1e-6);
  EXPECT_NEAR(found.at("b"), -3, 1e-6);
  EXPECT_THAT(place_.stoker({"runs", "show", "latest"}).output, HasSubstr("Coefficients of train"));
}

TEST_F(Run, SaysWhenThePenaltyThatWasChosenIsAtAnEndOfThoseTried) {
  const Finished trained = place_.stoker(
      {"train", "houses.csv", "--target", "y", "--model", "ridge_cv", "--alphas", "0.001,0.01,1", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(trained.errors, HasSubstr("ridge_cv chose alpha 0.001, the smallest of the 3 that it tried"));
}

TEST_F(Run, TrainOnAllRowsTestsNothing) {
  using Flags = std::vector<std::string>;
  for (const Flags& flags : {Flags{"--train-ratio", "1"}, Flags{"--test-ratio", "0"},
                             Flags{"--train-ratio", "1", "--test-ratio", "0"}}) {
    Flags words{"train", "houses.csv", "--target", "y", "--model", "ridge"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Finished trained = place_.stoker(words);
    ASSERT_EQ(trained.code, 0) << trained.errors;
    EXPECT_THAT(trained.output, HasSubstr("y on 120 rows that it was trained on"));
  }
}

TEST_F(Run, TrainKeepsTheSharesOfClasses) {
  const Finished trained = place_.stoker(
      {"train", "houses.csv", "--target", "kind", "--model", "logistic_regression", "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const auto json = nlohmann::json::parse(trained.output);
  const std::string document = place_.read(json.at("folder").get<std::string>() + "/pipeline.yaml");
  EXPECT_THAT(document,
              testing::AllOf(HasSubstr("stratify_column: kind"), HasSubstr("small_strata: together")));
  EXPECT_TRUE(json.at("evaluations").at("evaluate").contains("class_scores"));
}

TEST_F(Run, CompareSaysWhetherADifferenceIsMoreThanNoise) {
  run_json();
  run_json({"--set", "cards.model.config.hyperparameters.alpha=1e6"});
  std::vector<std::string> ids;
  const auto listed = nlohmann::json::parse(place_.stoker({"runs", "--json"}).output);
  for (const auto& run : listed.at("runs")) ids.push_back(run.at("run"));
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_THAT(place_.stoker({"runs", "compare", ids[0], ids[1]}).output, HasSubstr("more than noise"));
  EXPECT_THAT(place_.stoker({"runs", "compare", ids[1], ids[1]}).output, HasSubstr("may be noise"));
}

TEST_F(Run, TrainWeighsClassesOfEitherKindOfModelAndDecides) {
  std::string csv = "x,kind\n";
  for (int i = 0; i < 160; ++i)
    csv += fmt::format("{},{}\n", (i * 37 % 100) * 0.02 + (i % 4 == 0 ? 0.7 : 0),
                       i % 4 == 0 ? "\"a, b=c\"" : "no");
  place_.write("kinds.csv", csv);
  const auto trained = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "kinds.csv", "--target", "kind", "--json", "--quiet", "--no-cache"});
    const Finished finished = place_.stoker(more);
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return nlohmann::json::parse(finished.output);
  };
  const auto document_of = [&](const nlohmann::json& run) {
    return place_.read(fs::path(run.at("folder").get<std::string>()) / "pipeline.yaml");
  };
  for (const std::string model : {"neural_network", "logistic_regression"}) {
    EXPECT_THAT(document_of(trained({"--model", model, "--class-weight", "balanced"})),
                HasSubstr("class_weight: balanced"));
    EXPECT_THAT(document_of(trained({"--model", model, "--class-weights", "no=0.5,a, b=c=3"})),
                testing::AllOf(HasSubstr("\"no\": 0.5"), HasSubstr("a, b=c")));
    const Finished wrong = place_.stoker(
        {"train", "kinds.csv", "--target", "kind", "--model", model, "--class-weights", "maybe=3"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.errors, HasSubstr("'maybe'"));
  }
  const auto run = trained({"--validation-ratio", "0.2", "--threshold-metric", "macro_f1"});
  EXPECT_EQ(run.at("trainings").at(0).at("chosen").at(0).at("name"), "decision_threshold");
  const Finished shown = place_.stoker({"runs", "show", "latest"});
  EXPECT_THAT(shown.output, HasSubstr("decision_threshold"));
  for (const char* given : {"no", "=3", "no=1,yes"}) {
    const Finished wrong =
        place_.stoker({"train", "kinds.csv", "--target", "kind", "--class-weights", given});
    EXPECT_EQ(wrong.code, 2) << given;
    EXPECT_THAT(wrong.errors, HasSubstr("CLASS=WEIGHT")) << given;
  }
}

TEST_F(Run, TrainPredictsAQuantileAndSaysWhatShareLiesBelow) {
  const Finished finished = place_.stoker({"train", "sample:friedman", "--sample-rows", "600", "--target",
                                           "y", "--loss", "quantile", "--quantile", "0.8", "--epochs", "30"});
  EXPECT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.output, testing::AllOf(HasSubstr("share_below_for_0.8"), HasSubstr("pinball_loss")));
  const Finished without = place_.stoker({"train", "houses.csv", "--target", "y", "--quantile", "0.8"});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.errors, HasSubstr("set loss to quantile"));
  for (const char* wrong : {"0", "1", "-0.5", "much"})
    EXPECT_EQ(place_.stoker({"train", "houses.csv", "--target", "y", "--quantile", wrong}).code, 2);
}

// Its network has one output for the target, and one for each loss of its own.
TEST_F(Run, TrainsAMixtureOfExpertsForOneNumberWithLossesOfItsOwn) {
  place_.write("houses.csv", small_table(60));
  for (const char* router_z : {"0", "0.01"}) {
    const Finished trained = place_.stoker(
        {"train", "houses.csv", "--target", "y", "--model", "mixture_of_experts", "--hidden-layers", "8",
         "--epochs", "2", "--load-balance", "0.01", "--router-z", router_z, "--device", "cpu", "--quiet"});
    EXPECT_EQ(trained.code, 0) << router_z << trained.errors;
  }
  const Finished by_default =
      place_.stoker({"train", "houses.csv", "--target", "y", "--model", "mixture_of_experts",
                     "--hidden-layers", "8", "--epochs", "2", "--device", "cpu", "--quiet", "--json"});
  ASSERT_EQ(by_default.code, 0) << by_default.errors;
  const auto folder = nlohmann::json::parse(by_default.output).at("folder").get<std::string>();
  EXPECT_THAT(place_.read(folder + "/pipeline.yaml"), HasSubstr("load_balance: 0.01"));
}

TEST_F(Run, TrainRefusesSettingsThatTheModelDoesNotHave) {
  const Finished finished = place_.stoker({"train", "houses.csv", "--target", "y", "--alpha", "1"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("--alpha"));
  const Finished model = place_.stoker({"train", "houses.csv", "--target", "y", "--model", "rigde"});
  EXPECT_EQ(model.code, 2);
  EXPECT_THAT(model.errors, HasSubstr("did you mean ridge?"));
  EXPECT_FALSE(fs::exists(place_.folder() / "runs"));
}

class Interrupted : public testing::Test {
 protected:
  // Starts the network, sends the signal once it trains, and returns how it ended. On a busy machine the
  // training may be over before this test gets a processor to send it; then it is tried with more epochs.
  Finished interrupt_training(int signal) {
    place_.write("houses.csv", small_table(400));
    Finished finished;
    finished.code = 0;
    for (int epochs = 3'000; epochs < 1'000'000 && finished.code == 0; epochs *= 4) {
      fs::remove_all(place_.folder() / "stopped");
      place_.write("pipeline.yaml", network_document(epochs));
      Program program({STOKER_PROGRAM, "run", "pipeline.yaml", "--device", "cpu", "--out", "stopped"},
                      place_.folder());
      comes_true([this] { return trains(); });
      program.send(signal);
      finished = program.wait();
    }
    return finished;
  }

  // metrics.csv has its first epochs. Only the run's folder is looked at: those below it come and go.
  bool trains() {
    if (!fs::exists(place_.folder() / "stopped")) return false;
    for (const auto& run : fs::directory_iterator(place_.folder() / "stopped")) {
      const std::string text = place_.read(run.path() / "metrics.csv");
      if (std::count(text.begin(), text.end(), '\n') > 2) return true;
    }
    return false;
  }

  std::string only_run_in(const std::string& out) {
    const auto json = nlohmann::json::parse(place_.stoker({"runs", "--out", out, "--json"}).output);
    EXPECT_EQ(json.at("runs").size(), 1U);
    return json.at("runs").at(0).at("run");
  }

  Workplace place_;
};

TEST_F(Interrupted, AKilledRunIsListedWithTheWayToGoOn) {
  interrupt_training(SIGKILL);
  const std::string command = "stoker run --resume stopped/" + only_run_in("stopped");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"runs", "--out", "stopped"},
                                                {"runs", "show", "latest", "--out", "stopped"}}) {
    EXPECT_THAT(place_.stoker(words).output, testing::AllOf(HasSubstr("failed"), HasSubstr(command)));
  }
}

TEST_F(Interrupted, ResumedGivesTheSameWeightsBitForBit) {
  const Finished stopped = interrupt_training(SIGINT);
  ASSERT_EQ(stopped.code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors, HasSubstr("--resume"));
  const std::string run = only_run_in("stopped");
  EXPECT_FALSE(fs::exists(place_.folder() / "stopped" / run / "model"));
  EXPECT_THAT(files_below(place_.folder() / "stopped" / run), testing::Contains(testing::EndsWith("DONE")));

  const Finished resumed = place_.stoker({"run", "--resume", "latest", "--out", "stopped", "--quiet"});
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  ASSERT_EQ(only_run_in("stopped"), run);
  const Finished whole =
      place_.stoker({"run", "pipeline.yaml", "--device", "cpu", "--out", "whole", "--quiet"});
  ASSERT_EQ(whole.code, 0) << whole.errors;
  const std::string weights = "model/model.safetensors";
  const std::string resumed_weights = place_.read(fs::path("stopped") / run / weights);
  ASSERT_FALSE(resumed_weights.empty());
  EXPECT_TRUE(resumed_weights == place_.read(fs::path("whole") / only_run_in("whole") / weights));
}

TEST_F(Interrupted, ResumedWithAnotherSeedOrOtherRowsSaysWhatDiffers) {
  ASSERT_EQ(interrupt_training(SIGINT).code, 130);
  const std::string folder = "stopped/" + only_run_in("stopped");
  const std::string document = place_.read(fs::path(folder) / "pipeline.yaml");
  const auto resume_with = [&](const std::string& from, const std::string& to) {
    std::string changed = document;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    place_.write(folder + "/pipeline.yaml", changed.replace(at, from.size(), to));
    const Finished resumed = place_.stoker({"run", "--resume", "latest", "--out", "stopped", "--quiet"});
    EXPECT_EQ(resumed.code, 2) << resumed.errors;
    return resumed.errors;
  };
  EXPECT_THAT(resume_with(" seed: 42", " seed: 43"), HasSubstr("seed"));
  EXPECT_THAT(resume_with(" random_seed: 42", " random_seed: 43"), HasSubstr("rows"));
  EXPECT_THAT(resume_with(" batch_size: 16", " batch_size: 8"), HasSubstr("batch_size"));
}

TEST_F(Interrupted, ARequestToEndLeavesACheckpointToo) {
  const Finished stopped = interrupt_training(SIGTERM);
  EXPECT_EQ(stopped.code, 130) << stopped.errors;
  const std::string run = only_run_in("stopped");
  EXPECT_THAT(files_below(place_.folder() / "stopped" / run), testing::Contains(testing::EndsWith("DONE")));
}

// With no tolerance and all the sweeps in the world, descent goes on until it is stopped.
TEST_F(Interrupted, ALinearSolverStopsToo) {
  place_.write("houses.csv", small_table(120));
  Program program({STOKER_PROGRAM, "train", "houses.csv", "--target", "y", "--model", "lasso_cv",
                   "--tolerance", "0", "--max-iterations", "1000000000"},
                  place_.folder());
  while (program.errors_so_far().find("model_define") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  program.send(SIGINT);
  const Finished stopped = program.wait();
  EXPECT_EQ(stopped.code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors, HasSubstr("--resume"));
}

}  // namespace
}  // namespace stoker::test
