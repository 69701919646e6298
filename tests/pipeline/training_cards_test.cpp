// The eight cards of one training step.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "pipeline/card/explain_card.h"
#include "pipeline/watchers.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json report_in(const std::filesystem::path& folder, const std::string& card, const std::string& output) {
  return json::parse(read_file(folder / "previews" / (card + "." + output + ".json"), 1U << 24));
}

// As people connect them who come from elsewhere; `build` may read the batch too.
std::string steps_document(const std::string& load, const std::string& model, const std::string& batch,
                           const std::string& optimizer, const std::string& loss,
                           const std::string& build = "") {
  return "version: 1\nname: steps\ncards:\n"
         "  load: { type: data_load, config: { " +
         load +
         " } }\n"
         "  model: { type: model_define_gpu, config: { " +
         model +
         " } }\n"
         "  batch: { type: training_prepare_batch, inputs: { train_dataset: load.dataset }, config: { " +
         batch +
         " } }\n"
         "  build: { type: training_build_model, inputs: { model_spec: model.model_spec" +
         build +
         " } }\n"
         "  optimizer: { type: training_init_optimizer, inputs: { model: build.model }, config: { " +
         optimizer +
         " } }\n"
         "  zero: { type: training_zero_grad, inputs: { optimizer: optimizer.optimizer } }\n"
         "  forward: { type: training_forward, inputs: { model: optimizer.model, batch_data: "
         "batch.batch_data } }\n"
         "  loss: { type: training_loss, inputs: { predictions: forward.predictions, batch_data: "
         "batch.batch_data }, "
         "config: { " +
         loss +
         " } }\n"
         "  backward: { type: training_backward, inputs: { loss: loss.loss, model: forward.model } }\n"
         "  step: { type: training_optimizer_step, inputs: { optimizer: zero.optimizer, model: "
         "backward.model } }\n";
}

const char* const few_houses = "source: sample, sample_name: boston_housing, sample_rows: 40";

void expect_same_numbers(const json& one, const json& other, const std::string& what) {
  ASSERT_EQ(one.size(), other.size()) << what;
  if (one.is_number()) {
    EXPECT_NEAR(one.get<double>(), other.get<double>(), 1e-7 + 1e-6 * std::fabs(other.get<double>())) << what;
    return;
  }
  for (std::size_t i = 0; i < one.size(); ++i) expect_same_numbers(one[i], other[i], what);
}

TEST(TrainingCards, OfASeedDocumentRunToNewWeights) {
  const TemporaryFolder folder;
  const Document document =
      load_pipeline(std::filesystem::path(STOKER_SOURCE_DIR) / "examples" / "seed_training_step.json");
  const Watched first = run_watched(document, options_in(folder.path()));
  const std::filesystem::path run = first.summary.folder;
  const json batch = report_in(run, "batch", "batch_info");
  EXPECT_EQ(batch["rows"], 32);
  EXPECT_EQ(batch["target"], "MEDV") << "the last column";
  EXPECT_EQ(batch["inputs"]["features"]["columns"].size(), 13U);
  EXPECT_EQ(report_in(run, "build", "model_info")["parameter_count"], 13 * 64 + 64 + 64 * 32 + 32 + 32 + 1);
  EXPECT_EQ(report_in(run, "optimizer", "optimizer_info")["optimizer"], "adam");
  EXPECT_EQ(report_in(run, "zero", "cleared_info")["parameters"].size(), 6U);
  EXPECT_EQ(report_in(run, "forward", "forward_info")["predictions"]["shape"], (json{32, 1}));
  EXPECT_GT(report_in(run, "loss", "loss_value")["mean"], 0);
  EXPECT_GT(report_in(run, "backward", "gradients_computed")["gradient_norm"], 0);
  const json step = report_in(run, "step", "step_info");
  EXPECT_EQ(step["steps"], 1);
  // The first step of Adam moves every weight that has a gradient by the learning rate.
  EXPECT_NEAR(step["parameters"][5]["change"]["norm"].get<double>(), 0.001, 1e-6);
  EXPECT_EQ(run_watched(document, options_in(folder.path())).watcher.ran.size(), 0U)
      << "all of it is in the cache";
}

// The same step as the one of a train card, which has all of these rows in its batch.
TEST(TrainingCards, HaveTheNumbersOfTheStepOfATrainCard) {
  const TemporaryFolder folder;
  const std::string model = "hidden_layers: [6, 4], dropout: 0, activation: tanh, batch_size: 40, seed: 9";
  for (const auto& [optimizer, trained] : std::vector<std::pair<std::string, std::string>>{
           {"adam", "optimizer: adam"},
           {"adamw", "optimizer: adamw"},
           {"lion", "optimizer: lion"},
           {"sgd, momentum: 0.5", "optimizer: sgd, momentum: 0.5"}})
    for (const char* loss : {"mse", "huber", "quantile"}) {
      SCOPED_TRACE(optimizer + " " + loss);
      const Watched run = run_watched(
          document_of(steps_document(few_houses, model, "batch_size: 40",
                                     "learning_rate: 0.01, weight_decay: 0.1, optimizer_type: " + optimizer,
                                     std::string("loss_type: ") + loss)),
          options_in(folder.path()));
      SmallPipeline training;
      training.load = few_houses;
      training.model_card = "{ type: model_define_gpu, config: { " + model +
                            ", learning_rate: 0.01, weight_decay: 0.1, " + trained + ", loss: " + loss +
                            " } }";
      std::string text = training.text();
      text.replace(text.find("split.train_dataset"), 19, "load.dataset");
      const json explained =
          explain_card(document_of(text), "train", 40, folder.path(), no_notes(), StopSignal{});
      const json& step = explained["steps"];
      EXPECT_NEAR(report_in(run.summary.folder, "loss", "loss_value")["mean"].get<double>(),
                  step[5]["mean"].get<double>(), 1e-6);
      const json gradients = report_in(run.summary.folder, "backward", "gradients_computed")["gradients"];
      const json changed = report_in(run.summary.folder, "step", "step_info")["parameters"];
      for (std::size_t i = 0; i < changed.size(); ++i) {
        expect_same_numbers(gradients[i]["values"], step[6]["gradients"][i]["values"], gradients[i]["name"]);
        expect_same_numbers(changed[i]["after"]["values"], step[7]["parameters"][i]["after"]["values"],
                            changed[i]["name"]);
      }
    }
}

TEST(TrainingCards, TakeASecondStepWithTheNextBatch) {
  const TemporaryFolder folder;
  std::string text = steps_document(few_houses, "hidden_layers: [6], dropout: 0.1", "batch_size: 20",
                                    "optimizer_type: rmsprop, learning_rate: 0.01", "loss_type: mae");
  text +=
      "  batch2: { type: training_prepare_batch, inputs: { train_dataset: load.dataset }, config: { "
      "batch_size: 20, "
      "batch_index: 1 } }\n"
      "  zero2: { type: training_zero_grad, inputs: { optimizer: step.optimizer } }\n"
      "  forward2: { type: training_forward, inputs: { model: step.model, batch_data: batch2.batch_data } }\n"
      "  loss2: { type: training_loss, inputs: { predictions: forward2.predictions, batch_data: "
      "batch2.batch_data } }\n"
      "  backward2: { type: training_backward, inputs: { loss: loss2.loss, model: forward2.model } }\n"
      "  step2: { type: training_optimizer_step, inputs: { optimizer: zero2.optimizer, model: "
      "backward2.model } }\n";
  const std::filesystem::path run = run_watched(document_of(text), options_in(folder.path())).summary.folder;
  const json first = report_in(run, "step", "step_info");
  const json second = report_in(run, "step2", "step_info");
  EXPECT_EQ(second["steps"], 2);
  EXPECT_EQ(second["parameters"][0]["before"], first["parameters"][0]["after"]);
  EXPECT_EQ(report_in(run, "batch2", "batch_info")["row_numbers"][0], 21);
  EXPECT_EQ(report_in(run, "loss", "loss_value")["loss"], "mae");
}

TEST(TrainingCards, BuildTheModelForTheClassesOfTheirBatch) {
  const TemporaryFolder folder;
  std::string csv = "a,b,kind\n";
  for (int i = 0; i < 30; ++i)
    csv += std::to_string(i % 7) + "," + std::to_string(i % 5) +
           (i % 3 == 0   ? ",x\n"
            : i % 3 == 1 ? ",y\n"
                         : ",z\n");
  write_file(folder.path() / "kinds.csv", csv);
  const Document document = read_document(
      config::parse_yaml(steps_document("source: csv, path: kinds.csv", "hidden_layers: [5]", "batch_size: 8",
                                        "optimizer_type: sgd", "", ", batch_data: batch.batch_data"),
                         "steps.yaml"),
      "steps.yaml", folder.path());
  const std::filesystem::path run = run_watched(document, options_in(folder.path() / "runs")).summary.folder;
  EXPECT_EQ(report_in(run, "forward", "forward_info")["predictions"]["shape"], (json{8, 3}));
  EXPECT_EQ(report_in(run, "loss", "loss_value")["loss"], "cross_entropy");
}

std::string failure_of(const std::string& text) {
  const TemporaryFolder folder;
  try {
    run_watched(document_of(text), options_in(folder.path()));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TrainingCards, SayWhatDoesNotFit) {
  const std::string model = "hidden_layers: [4]";
  EXPECT_THAT(
      failure_of(steps_document("source: sample, sample_name: friedman, sample_rows: 50", model, "", "", "")),
      HasSubstr("reads 13 features of a row, but the rows of the batch have 10; set input_size to 10"));
  EXPECT_THAT(failure_of(steps_document(few_houses, model, "batch_index: 2", "", "")),
              HasSubstr("batch_index 2 is behind the last batch: 40 rows make 2 of 32 rows"));
  EXPECT_THAT(failure_of(steps_document(few_houses, "model_type: residual_mlp", "", "", "")),
              HasSubstr("residual_mlp is built otherwise"));
  EXPECT_THAT(failure_of(steps_document(few_houses, model + ", number_embedding: periodic", "", "", "")),
              HasSubstr("number_embedding"));
}

TEST(TrainingCards, ConnectOnlyWhatFits) {
  std::string text = steps_document(few_houses, "hidden_layers: [4]", "", "", "");
  const std::string right = "model: optimizer.model, batch_data";
  text.replace(text.find(right), right.size(), "model: optimizer.optimizer, batch_data");
  EXPECT_THAT(refusal_of(text), HasSubstr("a network"));
}

TEST(ExplainedCard, IsTheOnlyOneThatTrainsOrTheOneThatIsNamed) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  const auto refused = [&](const Document& document, const std::string& card) -> std::string {
    try {
      explain_card(document, card, 4, folder.path(), no_notes(), StopSignal{});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused(pipeline.document(), ""), HasSubstr("ridge is solved in one go"));
  EXPECT_THAT(refused(pipeline.document(), "trian"), HasSubstr("did you mean train?"));
  pipeline.model_card = tiny_network;
  const json explained = explain_card(pipeline.document(), "", 4, folder.path(), no_notes(), StopSignal{});
  EXPECT_EQ(explained["card"], "train");
  EXPECT_EQ(explained["training_rows"], 400);
  pipeline.more_cards =
      "  again: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }, "
      "config: { "
      "target_column: MEDV } }\n";
  EXPECT_THAT(refused(pipeline.document(), ""), HasSubstr("say which one"));
  EXPECT_THAT(
      refused(document_of("version: 1\ncards:\n  load: { type: data_load, config: { source: sample } }\n"),
              ""),
      HasSubstr("no card of the document trains"));
}

}  // namespace
}  // namespace stoker
