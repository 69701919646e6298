// One way to run a document, as settings: of every card that trains, and only what it is about.
#include "advise/way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker::advise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Document document_with(const std::string& model, const std::string& settings) {
  const std::string card = model == "neural_network" ? "model_define_gpu" : "model_define";
  const std::string text = R"(
version: 1
cards:
  load: { type: data_load, config: { source: sample, sample_name: boston_housing } }
  model: { type: )" + card +
                           ", config: { model_type: " + model + R"( } }
  train:
    type: train_gpu
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: MEDV)" +
                           settings + R"( }
)";
  return read_document(config::parse_yaml(text, "pipeline.yaml"), "pipeline.yaml", ".");
}

TEST(WayToRun, IsSetInEveryCardThatTrains) {
  EXPECT_THAT(assignments_of_way(document_with("neural_network", ""), {"cuda:0", "graph", "pinned"}),
              ElementsAre("cards.train.config.device=cuda:0", "cards.train.config.engine=graph",
                          "cards.train.config.placement=pinned"));
  EXPECT_THAT(assignments_of_way(document_with("neural_network", ""), {"cpu", "", ""}),
              ElementsAre("cards.train.config.device=cpu"));
}

// These would contradict what is set, and the document would be refused.
TEST(WayToRun, TakesTheOtherWordsForItOut) {
  const Document document = document_with("neural_network", ", gpu_mode: cpu, preload_to_gpu: true");
  EXPECT_THAT(assignments_of_way(document, {"cuda:0", "graph", "pinned"}),
              ElementsAre("cards.train.config.device=cuda:0", "cards.train.config.gpu_mode=auto",
                          "cards.train.config.engine=graph", "cards.train.config.placement=pinned",
                          "cards.train.config.preload_to_gpu=null"));
  EXPECT_THAT(assignments_of_way(document, {"cpu", "", ""}),
              ElementsAre("cards.train.config.device=cpu", "cards.train.config.gpu_mode=auto"));
}

TEST(WayToRun, OfASolvedModelHasADeviceAlone) {
  EXPECT_THAT(assignments_of_way(document_with("ridge", ""), {"cpu", "fused", "auto"}),
              ElementsAre("cards.train.config.device=cpu"));
}

TEST(CutToMeasure, LeavesAloneWhatTellsNothingInParts) {
  EXPECT_THAT(assignments_of_cut(document_with("neural_network", ""), 2),
              ElementsAre("cards.train.config.time_limit=2.000"));
  EXPECT_THAT(assignments_of_cut(document_with("neural_network", ", time_limit: 9"), 2),
              ElementsAre("cards.train.config.time_limit=2.000"));
  EXPECT_THAT(assignments_of_cut(document_with("neural_network", ", time_limit: 1"), 2), IsEmpty());
  EXPECT_THAT(assignments_of_cut(document_with("lasso_cv", ""), 2), IsEmpty());
  EXPECT_THAT(assignments_of_cut(document_with("neural_network", ", walk_forward: { folds: 3 }"), 2),
              IsEmpty());
}

}  // namespace
}  // namespace stoker::advise
