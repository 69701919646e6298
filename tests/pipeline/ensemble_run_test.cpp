#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "pipeline/watchers.h"
#include "predict/measure/real_coefficients.h"
#include "store/runs.h"

// An ensemble as a card of a document: to whatever follows it is a model like any other.
namespace stoker {
namespace {

using testing::HasSubstr;

SmallPipeline ensemble_pipeline() {
  SmallPipeline pipeline;
  pipeline.model_card = tiny_network;
  pipeline.train = "target_column: MEDV, device: cpu, checkpoint_seconds: 0, ensemble: { folds: 4 }";
  pipeline.more_cards =
      "  predict: { type: inference, inputs: { trained_model: train.trained_model, dataset: "
      "split.test_dataset } }\n";
  return pipeline;
}

void expect_ensemble(const RunSummary& summary) {
  const RunRecord record = read_record({summary.folder});
  ASSERT_EQ(record.trainings.size(), 1U);
  const RunRecord::Training& training = record.trainings.front();
  EXPECT_EQ(training.members, 4);
  EXPECT_EQ(training.parameters, 4 * (13 * 8 + 8 + 8 + 1));
  EXPECT_EQ(training.out_of_fold.rows, 400);
  ASSERT_FALSE(training.out_of_fold.metrics.empty());
  EXPECT_EQ(training.out_of_fold.metrics.front().first, "r2");
  ASSERT_EQ(record.results.size(), 1U);
  const auto& metrics = record.results.front().metrics;
  ASSERT_EQ(metrics.back().first, "coverage_of_90");
  EXPECT_GT(metrics.back().second, 0.7);
  EXPECT_EQ(load_model(summary.folder / "model").members.size(), 4U);
  EXPECT_TRUE(std::filesystem::exists(summary.folder / "predictions-predict.csv"));
  const std::string report = read_file(summary.report, 1U << 24);
  EXPECT_THAT(report, HasSubstr("<th scope=\"row\">Members</th><td>4</td>"));
  EXPECT_THAT(report, HasSubstr("Out-of-fold (400 rows)"));
  EXPECT_THAT(report, HasSubstr("Early stopping has seen these rows"));
}

TEST(EnsembleRun, TellsOfItsMembersWhetherItRunsOrIsReused) {
  const TemporaryFolder folder;
  const Document document = ensemble_pipeline().document();
  expect_ensemble(run_watched(document, options_in(folder.path())).summary);
  const Watched second = run_watched(document, options_in(folder.path()));
  EXPECT_EQ(second.watcher.reused.size(), 6U);
  expect_ensemble(second.summary);
}

TEST(EnsembleRun, WithoutFoldsIsTheModelThatItAlwaysWas) {
  const TemporaryFolder folder;
  SmallPipeline pipeline = ensemble_pipeline();
  const auto weights = [&] {
    RunOptions options = options_in(folder.path());
    options.use_cache = false;
    const Watched run = run_watched(pipeline.document(), options);
    EXPECT_EQ(run.summary.trainings.front().members, 0);
    EXPECT_FALSE(std::filesystem::exists(run.summary.folder / "model" / "out_of_fold.safetensors"));
    return read_file(run.summary.folder / "model" / "model.safetensors", 1U << 24);
  };
  pipeline.train = "target_column: MEDV, device: cpu, ensemble: { folds: 0 }";
  const std::string with_none = weights();
  pipeline.train = "target_column: MEDV, device: cpu";
  EXPECT_EQ(weights(), with_none);
}

class InterruptingWatcher : public Watcher {
 public:
  explicit InterruptingWatcher(StopSignal& stop) : stop_(stop) {}
  void ensemble_advanced(const EnsembleStanding& standing) override {
    if (standing.finished >= 1) stop_.interrupt();
  }

 private:
  StopSignal& stop_;
};

TEST(EnsembleRun, InterruptedAfterSomeMembersIsResumedToTheSameBits) {
  const TemporaryFolder folder;
  SmallPipeline pipeline = ensemble_pipeline();
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 30, batch_size: 4, dropout: 0.1 } }";
  const Document document = pipeline.document();
  RunOptions options = options_in(folder.path());
  options.use_cache = false;
  const auto weights_in = [](const std::filesystem::path& run) {
    return read_file(run / "model" / "model.safetensors", 1U << 24);
  };
  const std::string whole = weights_in(run_watched(document, options).summary.folder);
  StopSignal stop;
  InterruptingWatcher watcher(stop);
  try {
    run_pipeline(document, options, watcher, stop);
    FAIL() << "it was not interrupted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted);
    EXPECT_THAT(error.what(), HasSubstr("stoker run --resume"));
  }
  EXPECT_EQ(read_record({watcher.run_folder}).status, RunStatus::interrupted);
  options.resume = watcher.run_folder;
  EXPECT_EQ(weights_in(run_watched(document, options).summary.folder), whole);
}

TEST(EnsembleRun, MayStopEarlyWithoutAValidationRatioUnlikeOneNetwork) {
  SmallPipeline pipeline = ensemble_pipeline();
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 3, early_stopping_patience: 2 } }";
  EXPECT_EQ(refusal_of(pipeline.text()), "");
  pipeline.train = "target_column: MEDV, ensemble: { folds: 0 }";
  EXPECT_THAT(refusal_of(pipeline.text()),
              HasSubstr("cards.model.config.early_stopping_patience: early stopping watches"));
}

TEST(EnsembleRun, OfLinearModelsHasTheMeanOfTheirCoefficients) {
  const TemporaryFolder folder;
  SmallPipeline pipeline = ensemble_pipeline();
  pipeline.model_card = "{ type: model_define, config: { model_type: ridge_cv } }";
  const RunSummary summary = run_watched(pipeline.document(), options_in(folder.path())).summary;
  const RunRecord::Training training = read_record({summary.folder}).trainings.front();
  ASSERT_EQ(training.coefficients.size(), 14U);
  const Model model = load_model(summary.folder / "model");
  std::vector<double> intercepts;
  std::vector<double> alphas;
  for (const Model& member : model.members) {
    intercepts.push_back(coefficients_in_real_units(member).front().value);
    alphas.push_back(member.alpha.value());
  }
  const double mean = std::accumulate(intercepts.begin(), intercepts.end(), 0.0) / 4;
  double squares = 0;
  for (const double each : intercepts) squares += (each - mean) * (each - mean);
  EXPECT_NEAR(training.coefficients.front().value, mean, 1e-9 * std::abs(mean));
  EXPECT_NEAR(training.coefficients.front().deviation.value(), std::sqrt(squares / 3), 1e-9 * std::abs(mean));
  EXPECT_EQ(training.alphas, alphas);
  EXPECT_THAT(read_file(summary.folder / "coefficients.csv", 1U << 20),
              testing::StartsWith("feature,coefficient,deviation\n(intercept),"));
  EXPECT_THAT(read_file(summary.report, 1U << 24), HasSubstr("Deviation between members"));
}

TEST(EnsembleRun, OfOneNetworkWithValidationRowsMeasuresItsIntervalsToo) {
  const TemporaryFolder folder;
  SmallPipeline pipeline = ensemble_pipeline();
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 3, validation_ratio: 0.2 } }";
  pipeline.train = "target_column: MEDV, device: cpu";
  const RunSummary summary = run_watched(pipeline.document(), options_in(folder.path())).summary;
  EXPECT_EQ(read_record({summary.folder}).results.front().metrics.back().first, "coverage_of_90");
  EXPECT_EQ(load_model(summary.folder / "model").held_back.rows.size(), 80U);
}

TEST(EnsembleRun, RefusesFoldsThatCannotBeWhenTheDocumentIsRead) {
  SmallPipeline pipeline;
  pipeline.train = "target_column: MEDV, ensemble: { folds: 1 }";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("cards.train.config.ensemble: folds is 1"));
  pipeline.train = "target_column: MEDV, ensemble: { folds: 100, repeats: 11 }";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("1100 members"));
  pipeline.train = "target_column: MEDV, ensemble: { fold: 5 }";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("did you mean"));
  pipeline.train = "target_column: MEDV, ensemble: 5";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("must be a map of settings"));
}

}  // namespace
}  // namespace stoker
