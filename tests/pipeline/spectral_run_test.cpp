#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "pipeline/document/seed_form.h"
#include "pipeline/document/sweep_document.h"
#include "pipeline/document/trainrun_form.h"
#include "pipeline/watchers.h"
#include "report/plot/gnuplot.h"

// Graphs of nodes over cubes, from a document to its run folder.
namespace stoker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path examples_folder = std::filesystem::path(STOKER_SOURCE_DIR) / "examples";

constexpr const char* trainrun = R"(
name: lentils
pipeline:
  metadata: { name: RX }
  nodes:
  - { name: data, class_name: cuvis_ai.node.data.CubeDataNode }
  - { name: MinMax, class_name: cuvis_ai.node.normalization.MinMaxNormalizer, hparams: { eps: 1.0e-6 } }
  - { name: pca, class_name: cuvis_ai.node.pca.TrainablePCA, hparams: { n_components: 3 } }
  - { name: RXGlobal, class_name: cuvis_ai.anomaly.rx_detector.RXGlobal }
  - { name: logit, class_name: cuvis_ai.anomaly.rx_logit_head.ScoreToLogit }
  - { name: bce, class_name: cuvis_ai.training.losses.AnomalyBCEWithLogits }
  - { name: straight, class_name: cuvis_ai.training.losses.OrthogonalityLoss }
  - { name: monitor, class_name: cuvis_ai.node.monitor.TensorBoardMonitorNode }
  connections:
  - { source: data.outputs.cube, target: MinMax.inputs.data }
  - { source: MinMax.outputs.normalized, target: pca.inputs.data }
  - { source: pca.outputs.projected, target: RXGlobal.inputs.data }
  - { source: pca.outputs.components, target: straight.inputs.components }
  - { source: RXGlobal.outputs.scores, target: logit.inputs.scores }
  - { source: logit.outputs.logits, target: bce.inputs.predictions }
  - { source: data.outputs.mask, target: bce.inputs.targets }
data:
  path: cubes
  annotation_json_path: marks.json
  train_ids: [0, 1, 2, 3, 4, 5]
  val_ids: [6, 7]
  test_ids: [8, 9]
  batch_size: 2
  processing_mode: Reflectance
training:
  seed: 7
  trainer:
    max_epochs: 3
    accelerator: gpu
    devices: 1
    precision: 16-mixed
    gradient_clip_val: 1.0
    callbacks:
      early_stopping: [{ monitor: val/bce, patience: 4, min_delta: 1.0e-6, mode: min }]
      checkpoint: { monitor: metrics_anomaly/iou, save_top_k: 2 }
  optimizer: { name: adamw, lr: 0.002, weight_decay: 0.01, betas: [0.9, 0.999] }
  scheduler: { name: reduce_on_plateau, monitor: bce, factor: 0.5, patience: 5, min_lr: 1.0e-6 }
unfreeze_nodes: [pca, logit]
freeze_nodes: []
loss_nodes: [bce]
metric_nodes: []
output_dir: outputs/lentils
)";

const config::Value& at(const config::Value& value, std::initializer_list<const char*> path) {
  const config::Value* found = &value;
  for (const char* key : path) {
    found = found->find(key);
    if (found == nullptr) throw std::runtime_error(fmt::format("there is no {}", key));
  }
  return *found;
}

// The seed's benchmark with few cubes.
TEST(SpectralRun, TrainsAndMeasuresTheExample) {
  const TemporaryFolder folder;
  const Document document = load_pipeline(
      examples_folder / "spectral_stress.yaml",
      {"cards.load.config.sample_rows=10", "cards.model.config.epochs=2", "cards.model.config.batch_size=4"});
  const Watched run = run_watched(document, options_in(folder.path()));
  const Evaluation& evaluation = run.summary.evaluations.at(0).second;
  EXPECT_EQ(evaluation.rows, 2);
  for (const char* name : {"average_precision", "precision", "recall", "f1_score", "iou"})
    EXPECT_TRUE(std::isfinite(evaluation.metric(name).value_or(NAN))) << name;
  EXPECT_GT(evaluation.metric("average_precision").value(), 0.1);  // marked pixels are one in 200
  EXPECT_TRUE(std::filesystem::exists(run.watcher.run_folder / "report.html"));
  EXPECT_TRUE(std::filesystem::exists(run.watcher.run_folder / "model" / "model.safetensors"));
}

nlohmann::json cubes_of(const std::filesystem::path& run) {
  return nlohmann::json::parse(read_file(run / "cubes" / "evaluate.json", 1U << 26));
}

// Pictures under names that stay, and what the report shows; the second time from the cache.
TEST(SpectralRun, ShowsWhatWasFoundInItsCubes) {
  const TemporaryFolder folder;
  const Document document = load_pipeline(
      examples_folder / "spectral_stress.yaml",
      {"cards.load.config.sample_rows=10", "cards.model.config.epochs=1", "cards.model.config.batch_size=4"});
  nlohmann::json first;
  for (const bool is_again : {false, true}) {
    const std::filesystem::path run = run_watched(document, options_in(folder.path())).watcher.run_folder;
    const nlohmann::json cubes = cubes_of(run);
    EXPECT_TRUE(!is_again || cubes == first);
    first = cubes;
    for (const char* name : {"cube_1", "cube_2", "spectra", "components", "precision_recall", "confusion"})
      EXPECT_TRUE(find_gnuplot().empty() ||
                  std::filesystem::exists(run / "plots" / (std::string(name) + ".png")))
          << name;
    const std::string page = read_file(run / "report.html", 1U << 26);
    EXPECT_LT(page.size(), 10'000'000U);
    EXPECT_THAT(page, AllOf(HasSubstr("2 of the 2 cubes"), HasSubstr("the most marked pixels"),
                            HasSubstr("Principal components of second_pca"), HasSubstr("spectral_stress_")));
  }
  EXPECT_EQ(first["cubes"], 2);
  const nlohmann::json components = first["components"];
  ASSERT_EQ(components.size(), 2U);
  // The second PCA as well, by the channels of the cubes: its axes are made of those of the first.
  for (const nlohmann::json& each : components) {
    EXPECT_EQ(each["wavelengths"].size(), 50U) << each["node"];
    EXPECT_EQ(each["weights"].size(), 8U) << each["node"];
    for (const nlohmann::json& axis : each["weights"]) EXPECT_EQ(axis.size(), 50U);
  }
  EXPECT_EQ(first["spectra"]["means"].size(), 2U);
}

TEST(SpectralRun, ShowsTheBandsThatASelectorChose) {
  const TemporaryFolder folder;
  const Document document = load_pipeline(examples_folder / "channel_selection.yaml",
                                          {"cards.load.config.sample_rows=10", "cards.model.config.epochs=2",
                                           "cards.model.config.validation_ratio=0.25"});
  const std::filesystem::path run = run_watched(document, options_in(folder.path())).watcher.run_folder;
  const nlohmann::json chosen = cubes_of(run)["spectra"]["chosen"];
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(chosen[0]["node"], "select");
  EXPECT_EQ(chosen[0]["channels"].size(), 10U);
  EXPECT_THAT(read_file(run / "report.html", 1U << 26), HasSubstr("dashed: chosen by select, "));
  // What is held back is measured after every epoch.
  EXPECT_THAT(read_file(run / "events.jsonl", 1U << 24), HasSubstr("\"validation_average_precision\":0."));
  EXPECT_THAT(read_file(run / "values" / "train.csv", 1U << 20),
              AllOf(HasSubstr("validation_bce"), HasSubstr("validation_average_precision")));
  EXPECT_THAT(read_file(run / "report.html", 1U << 26), HasSubstr("Validation metrics by epoch"));
}

TEST(SpectralRun, TellsWhatIsWrongWithAGraphBeforeAnythingRuns) {
  const auto refusal = [](const std::string& assignment) {
    try {
      load_pipeline(examples_folder / "spectral_stress.yaml", {assignment});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(refusal("cards.model.config.unfrozen=[rx_global]"), HasSubstr("there is no node 'rx_global'"));
  EXPECT_THAT(refusal("cards.model.config.nodes.2.type=TrainablePCB"),
              AllOf(HasSubstr("cards.model.config.nodes.2"), HasSubstr("did you mean TrainablePCA")));
  EXPECT_THAT(refusal("cards.model.config.connections.4.source=second_pca.projected"),
              AllOf(HasSubstr("cards.model.config.connections.4"), HasSubstr("[any, any, any, 10]"),
                    HasSubstr("[any, any, any, 1]")));
}

TEST(TrainrunForm, BecomesCardsWithTheSameSettings) {
  config::Diagnostics diagnostics("");
  const config::Value read = config::parse_document(trainrun, "trainrun.yaml");
  ASSERT_TRUE(is_trainrun_form(read));
  const config::Value document = from_trainrun_form(read, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.text();
  const config::Value& model = at(document, {"cards", "model", "config"});
  const auto number = [&](const char* key) { return *at(model, {key}).get_if<double>(); };
  EXPECT_EQ(*at(model, {"epochs"}).get_if<std::int64_t>(), 3);
  EXPECT_EQ(*at(model, {"batch_size"}).get_if<std::int64_t>(), 2);
  EXPECT_EQ(*at(model, {"optimizer"}).get_if<std::string>(), "adamw");
  EXPECT_EQ(number("learning_rate"), 0.002);
  EXPECT_EQ(number("max_grad_norm"), 1);
  EXPECT_EQ(*at(model, {"schedule"}).get_if<std::string>(), "plateau");
  EXPECT_EQ(number("step_factor"), 0.5);
  EXPECT_EQ(*at(model, {"early_stopping_patience"}).get_if<std::int64_t>(), 4);
  const auto ids = [&](const config::Value& list) {
    std::vector<std::int64_t> numbers;
    for (const config::Value& each : *list.get_if<config::Value::List>())
      numbers.push_back(*each.get_if<std::int64_t>());
    return numbers;
  };
  EXPECT_THAT(ids(at(model, {"validation_ids"})), ElementsAre(6, 7));
  EXPECT_EQ(at(model, {"nodes"}).get_if<config::Value::List>()->size(), 6U);  // straight is no loss of it
  EXPECT_EQ(*at(document, {"cards", "train", "config", "keep_best"}).get_if<std::int64_t>(), 2);
  EXPECT_THAT(ids(at(document, {"cards", "split", "config", "train_ids"})),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(ids(at(document, {"cards", "split", "config", "test_ids"})), ElementsAre(8, 9));
  EXPECT_EQ(*at(document, {"cards", "load", "config", "path"}).get_if<std::string>(), "cubes");
  std::string notes;
  for (const std::string& note : diagnostics.notes()) notes += note + "\n";
  EXPECT_THAT(notes, AllOf(HasSubstr("training.trainer.precision"), HasSubstr("training.trainer.devices"),
                           HasSubstr("straight is left out"), HasSubstr("output_dir"),
                           HasSubstr("monitor is left out: a run draws its own pictures"),
                           HasSubstr("training.trainer.callbacks.checkpoint.monitor")));
}

TEST(TrainrunForm, IsADocumentThatCanBeRead) {
  const Document document =
      read_document(config::parse_document(trainrun, "trainrun.yaml"), "trainrun.yaml", ".");
  EXPECT_EQ(document.name, "lentils");
  EXPECT_EQ(document.cards.size(), 5U);
}

// The graph in a file of its own, and data in one that `defaults` names.
TEST(TrainrunForm, FindsItsOtherFiles) {
  const TemporaryFolder folder;
  const std::string text = trainrun;
  const std::size_t graph = text.find("  metadata"), data = text.find("data:\n"),
                    rest = text.find("training:\n");
  const auto shifted = [](const std::string& block) {
    std::string lines;
    for (std::size_t place = 0; place < block.size();) {
      const std::size_t end = block.find('\n', place);
      lines += block.substr(place + 2, end - place - 1);
      place = end + 1;
    }
    return lines;
  };
  std::filesystem::create_directories(folder.path() / "trainrun");
  std::filesystem::create_directories(folder.path() / "data");
  write_file(folder.path() / "rx.yaml", shifted(text.substr(graph, data - graph)));
  write_file(folder.path() / "data" / "lentils.yaml", shifted(text.substr(data + 6, rest - data - 6)));
  write_file(
      folder.path() / "trainrun" / "rx.yaml",
      "defaults:\n- /data@data: lentils\nname: lentils\npipeline: ../rx.yaml\ndata: { batch_size: 3 }\n" +
          text.substr(rest));
  const Document document = load_pipeline(folder.path() / "trainrun" / "rx.yaml");
  for (const Card& card : document.cards) {
    if (card.id == "model") {
      EXPECT_EQ(*card.config.find("batch_size")->get_if<std::int64_t>(), 3);
    } else if (card.id == "load") {
      EXPECT_EQ(*card.config.find("path")->get_if<std::string>(), "cubes");
    }
  }
}

std::string replaced_in_trainrun(const std::string& part, const std::string& other) {
  std::string text = trainrun;
  const std::size_t place = text.find(part);
  EXPECT_NE(place, std::string::npos) << part;
  return text.replace(place, part.size(), other);
}

TEST(TrainrunForm, SaysWhatIsWrittenInAnotherForm) {
  const auto refusal = [](const std::string& text) {
    try {
      read_document(config::parse_document(text, "trainrun.yaml"), "trainrun.yaml", ".");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(refusal("pipeline: { nodes: 5 }"), HasSubstr("pipeline: must be a graph with a list of nodes"));
  EXPECT_THAT(refusal("pipeline: [1]"), HasSubstr("must be a graph"));
  EXPECT_THAT(refusal(replaced_in_trainrun("[pca, logit]", "pca")),
              HasSubstr("unfreeze_nodes: must be a list of names of nodes, found the text 'pca'"));
  EXPECT_THAT(refusal(replaced_in_trainrun("loss_nodes: [bce]", "loss_nodes: [3]")),
              HasSubstr("loss_nodes: must name nodes"));
  EXPECT_THAT(refusal(replaced_in_trainrun("optimizer: { name: adamw, lr: 0.002, weight_decay: 0.01, betas: "
                                           "[0.9, 0.999] }",
                                           "optimizer: adamw")),
              HasSubstr("training.optimizer: must be a map of settings"));
  EXPECT_THAT(refusal(replaced_in_trainrun("val_ids: [6, 7]", "val_ids: 6")),
              HasSubstr("data.val_ids: must be a list of ids, found the number 6"));
  EXPECT_THAT(refusal(replaced_in_trainrun("name: reduce_on_plateau", "nom: reduce_on_plateau")),
              HasSubstr("training.scheduler: which schedule it is must stand in its name"));
}

TEST(TrainrunForm, EvaluatesNothingWhereNoCubesAreHeldBack) {
  config::Diagnostics diagnostics("");
  const config::Value document = from_trainrun_form(
      config::parse_document(replaced_in_trainrun("test_ids: [8, 9]", "test_ids: []"), "trainrun.yaml"),
      diagnostics);
  EXPECT_EQ(at(document, {"cards"}).find("evaluate"), nullptr);
  EXPECT_THAT(diagnostics.notes(), Contains(HasSubstr("nothing is evaluated")));
}

TEST(TrainrunForm, SaysWhatBecomesOfIdsThatAreNamedInPart) {
  const auto converted = [](const std::string& text) {
    config::Diagnostics diagnostics("");
    const config::Value document =
        from_trainrun_form(config::parse_document(text, "trainrun.yaml"), diagnostics);
    return std::pair(document, diagnostics.notes());
  };
  std::string alone = replaced_in_trainrun("  val_ids: [6, 7]\n  test_ids: [8, 9]\n", "");
  const auto [all, notes] = converted(alone);
  EXPECT_EQ(at(all, {"cards"}).find("evaluate"), nullptr);
  EXPECT_EQ(at(all, {"cards", "split", "config", "train_ids"}).get_if<config::Value::List>()->size(), 6U);
  EXPECT_THAT(converted(replaced_in_trainrun("  train_ids: [0, 1, 2, 3, 4, 5]\n", "")).second,
              Contains(HasSubstr("train_ids are not named")));
}

TEST(TrainrunForm, TakesSettingsAndTellsItsNotesAllTheSame) {
  const TemporaryFolder folder;
  write_file(folder.path() / "run.yaml", trainrun);
  const Document document = load_pipeline(folder.path() / "run.yaml", {"cards.model.config.epochs=9"});
  EXPECT_EQ(*card_named(document, "model").config.find("epochs")->get_if<std::int64_t>(), 9);
  EXPECT_THAT(document.notes, Contains(HasSubstr("straight is left out")));
}

TEST(TrainrunForm, CanBeSearched) {
  const TemporaryFolder folder;
  write_file(folder.path() / "run.yaml",
             replaced_in_trainrun("max_epochs: 3", "max_epochs: { choice: [3, 5] }"));
  const SweepDocument sweep = load_sweep(folder.path() / "run.yaml", {});
  EXPECT_EQ(sweep.candidate_count(), 2);
}

TEST(TrainrunForm, SaysThatAGraphAloneHasNoData) {
  config::Diagnostics diagnostics("");
  from_trainrun_form(
      config::parse_document("nodes: [{ name: data, class_name: CubeDataNode }]\nconnections: []", ""),
      diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("which cubes are trained on is not said"));
}

}  // namespace
}  // namespace stoker
