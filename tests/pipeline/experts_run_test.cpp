#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "model/model.h"
#include "pipeline/watchers.h"
#include "report/plot/epoch_values.h"
#include "report/plot/gnuplot.h"
#include "report/run/report.h"

// What a run keeps of a mixture of experts.
namespace stoker {
namespace {

using nlohmann::json;

Document mixture(const std::filesystem::path& folder, const std::string& target,
                 const std::string& training = "epochs: 6", const std::string& more_of_card = "") {
  std::string rows = "x,y,kind,height\n";
  for (int i = 0; i < 240; ++i)
    rows +=
        fmt::format("{:.4f},{:.4f},{},{:.4f}\n", std::sin(i * 1.7) + i % 3, std::cos(i * 0.9) - i % 3,
                    std::array{"ant", "bee", "cat"}[static_cast<std::size_t>(i % 3)], std::sin(i * 1.7) * 3);
  write_file(folder / "rows.csv", rows);
  const std::string text = fmt::format(
      "version: 1\nname: mixture\ncards:\n"
      "  load: {{ type: data_load, config: {{ source: csv, path: {}/rows.csv }} }}\n"
      "  model: {{ type: model_define_gpu, config: {{ model_type: mixture_of_experts, experts: 3, "
      "max_experts: "
      "6, "
      "hidden_layers: [8], {}, batch_size: 24, sleep_shortest: 15, sleep_longest: 20, "
      "growth_interval: 10, "
      "expert_creation_uncertainty: 0.01, newborn_steps: 5 }} }}\n"
      "  train: {{ type: train_gpu, inputs: {{ train_dataset: load.dataset, model_spec: model.model_spec }}, "
      "config: {{ target_column: {}, device: cpu, feature_columns: [x, y]{} }} }}\n",
      folder.string(), training, target, more_of_card);
  return read_document(config::parse_document(text, "mixture.yaml"), "mixture.yaml", ".");
}

json experts_in(const Watched& run) {
  return json::parse(read_file(run.watcher.run_folder / "experts" / "train.json", 1U << 20));
}

bool has_plot(const Watched& run, const std::string& name) {
  return std::filesystem::exists(run.watcher.run_folder / "plots" / name);
}

TEST(ExpertsRun, KeepsHowTheExpertsLivedAndDrawsThem) {
  const TemporaryFolder folder;
  const Document document = mixture(folder.path(), "kind");
  const Watched run = run_watched(document, options_in(folder.path() / "runs"));
  const json experts = experts_in(run);
  EXPECT_EQ(experts.at("classes"), json({"ant", "bee", "cat"}));
  EXPECT_EQ(experts.at("steps"), 60);
  EXPECT_EQ(experts.at("steps_per_epoch"), 10);
  EXPECT_EQ(experts.at("device"), "cpu");
  // By hand: an expert has 2 × 8 + 8 + 8 × 3 + 3 numbers, the router 2 × 1 + 1 and two for each expert.
  const auto living = experts.at("last").at("nodes").size();
  EXPECT_EQ(experts.at("parameters"), 3 + 2 * living + 51 * living);
  EXPECT_EQ(experts.at("active_parameters"), 3 + 2 * living + 51 * 2);
  std::vector<std::int64_t> ends;
  for (const json& epoch : experts.at("epochs")) ends.push_back(epoch.at("step").get<std::int64_t>());
  EXPECT_THAT(ends, testing::ElementsAre(10, 20, 30, 40, 50, 60));
  const json record = json::parse(read_file(run.watcher.run_folder / "run.json", 1U << 20));
  EXPECT_EQ(record.at("trainings").at(0).at("parameters"), experts.at("parameters"))
      << "room that no expert lives in is no parameter";
  const EpochValues values = read_epoch_values(run.watcher.run_folder / "values").at(0);
  const std::vector<double>* accuracy = values.column("train_accuracy");
  ASSERT_NE(accuracy, nullptr);
  EXPECT_EQ(accuracy->size(), 6U);
  for (const double each : *accuracy) EXPECT_NEAR(each * 240, std::round(each * 240), 1e-9);
  const json& moments = experts.at("moments");
  ASSERT_GE(moments.size(), 3U);
  EXPECT_EQ(moments.at(0).at("step"), 15);
  EXPECT_EQ(moments.at(0).at("epoch"), 2);
  // Whoever answers, somebody answers for each class, unless this sleep took one away that did.
  std::size_t checked = 0;
  for (const json& moment : moments) {
    const bool has_lost_one = std::ranges::any_of(experts.at("events"), [&](const json& event) {
      return event.at("step") == moment.at("step") &&
             (event.at("kind") == "merged" || event.at("kind") == "removed");
    });
    if (has_lost_one) continue;
    ++checked;
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (const json& node : moment.at("nodes"))
        if (!node.at("classes").empty()) sum += node.at("classes").at(c).get<double>();
      EXPECT_NEAR(sum, 1, 0.01);
    }
  }
  EXPECT_GE(checked, 1U);
  EXPECT_THAT(read_file(run.watcher.run_folder / "report.html", 16U << 20),
              testing::HasSubstr("data-experts=\"0\""));
  EXPECT_TRUE(has_plot(run, "performance_summary.txt"));
  if (!find_gnuplot().empty()) {
    for (const char* name :
         {"training_metrics.png", "expert_activations.png", "expert_device_distribution.png",
          "knowledge_graph_epoch_1.png", "knowledge_graph_epoch_6.png"})
      EXPECT_TRUE(has_plot(run, name)) << name;
  }
  // From the cache, another run folder has the same.
  const Watched again = run_watched(document, options_in(folder.path() / "runs"));
  EXPECT_THAT(again.watcher.reused, testing::Contains("train"));
  EXPECT_EQ(experts_in(again), experts);
}

TEST(ExpertsRun, OfATargetOfNumbersHasNoClasses) {
  const TemporaryFolder folder;
  const Watched run = run_watched(mixture(folder.path(), "height"), options_in(folder.path() / "runs"));
  const json experts = experts_in(run);
  EXPECT_TRUE(experts.at("classes").empty());
  double rows = 0;
  for (const json& node : experts.at("moments").at(0).at("nodes")) rows += node.at("rows").get<double>();
  EXPECT_EQ(rows, 15 * 24 * 2);  // each row of 15 steps by two experts
}

// The rate rises from epoch to epoch, until weight_decay makes weights grow: in every stage.
TEST(ExpertsRun, ThatDivergesInStagesEndsWithTheExpertsOfTheBestEpoch) {
  const TemporaryFolder folder;
  const Document document =
      mixture(folder.path(), "kind",
              "epochs: 50, optimizer: sgd, learning_rate: 4, weight_decay: 1, warmup_epochs: 40, "
              "validation_ratio: 0.25",
              ", stages: [[ant, bee], [cat]], stage_replay: 50");
  const Watched run = run_watched(document, options_in(folder.path() / "runs"));
  for (const char* stage : {"stage 1 of 2: training diverged", "stage 2 of 2: training diverged"})
    EXPECT_THAT(run.watcher.warnings, testing::Contains(testing::StartsWith(stage)));
  const json record = json::parse(read_file(run.watcher.run_folder / "run.json", 1U << 20));
  EXPECT_EQ(record.at("trainings").at(0).at("end"), "stopped_early");
  const Model model = load_model(run.watcher.run_folder / "model");
  const auto alive = find_array(model.parameters, "alive").as<float>();
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(alive, 1.0F)),
            experts_in(run).at("last").at("nodes").size());
  // Losses of such a training are many decades apart.
  if (!find_gnuplot().empty()) {
    EXPECT_TRUE(has_plot(run, "training_metrics.png"));
  }
}

}  // namespace
}  // namespace stoker
