#include "train/choose/choose_decision.h"

#include "expect_error.h"
#include "listeners.h"
#include "predict/decide/out_of_fold.h"
#include "predict/measure/evaluate.h"
#include "tables.h"
#include "train/fit/fit.h"

// What is chosen on rows that a model was not trained on.
namespace stoker {
namespace {

using test::RecordingListener;
using test::request_for;
using test::sample;
using test::table_from_csv;
using testing::AllOf;
using testing::HasSubstr;

// Two classes that x tells apart in part; `rare` is one row of six.
Table rare_and_common() {
  std::string csv = "x,z,kind\n";
  for (int i = 0; i < 360; ++i) {
    const bool is_rare = i % 6 == 0;
    csv += fmt::format("{},{},{}\n", (i * 37 % 100) * 0.02 + (is_rare ? 0.8 : 0), (i * 61 % 97) * 0.1,
                       is_rare ? "rare" : "common");
  }
  return table_from_csv(csv);
}

// Trained for too long, so that it is too sure of itself.
ModelSpec overfitted_network() {
  ModelSpec spec = test::small_network();
  spec.training.epochs = 150;
  spec.training.learning_rate = 0.01;
  return spec;
}

FitResult decided(const FitRequest& request) {
  RecordingListener listener;
  return fit(request, listener, StopSignal{});
}

std::string refusal_to_decide(const FitRequest& request) {
  return test::error_of(ExitCode::wrong_request, [&] { decided(request); });
}

TEST(ChooseDecision, CalibratesAnEnsembleOnOutOfFoldRows) {
  const Table table = rare_and_common();
  FitRequest request = request_for(table, overfitted_network());
  request.config.ensemble = {3, 1};
  const FitResult plain = decided(request);
  request.config.decision.calibration = CalibrationChoice::temperature;
  const FitResult result = decided(request);
  EXPECT_GT(result.model.decision.temperature, 1.05);
  ASSERT_EQ(result.chosen.size(), 1U);
  const ChosenNumber& chosen = result.chosen.front();
  EXPECT_EQ(chosen.name, "temperature");
  EXPECT_EQ(chosen.value, result.model.decision.temperature);
  EXPECT_EQ(chosen.metric, "log_loss");
  EXPECT_EQ(chosen.rows, 360);
  EXPECT_LT(chosen.after, chosen.before);
  EXPECT_DOUBLE_EQ(chosen.before, *evaluate_out_of_fold(plain.model).metric("log_loss"));
  EXPECT_DOUBLE_EQ(chosen.after, *evaluate_out_of_fold(result.model).metric("log_loss"));
  EXPECT_EQ(evaluate_out_of_fold(plain.model).metric("accuracy"),
            evaluate_out_of_fold(result.model).metric("accuracy"));
}

TEST(ChooseDecision, CalibratesASingleNetworkOnItsValidationRows) {
  const Table table = sample(SampleName::blobs, 300);
  ModelSpec spec = overfitted_network();
  spec.training.validation_ratio = 0.2;
  FitRequest request = request_for(table, spec);
  request.config.decision.calibration = CalibrationChoice::temperature;
  const FitResult result = decided(request);
  EXPECT_NE(result.model.decision.temperature, 1);
  ASSERT_EQ(result.chosen.size(), 1U);
  EXPECT_EQ(result.chosen.front().rows, 60);
  EXPECT_LE(result.chosen.front().after, result.chosen.front().before);
  request.config.decision = {};
  EXPECT_EQ(decided(request).model.decision, Decision{});
}

TEST(ChooseDecision, FindsAThresholdForAMetricAfterTheTemperature) {
  const Table table = rare_and_common();
  FitRequest request = request_for(table, test::spec_of("logistic_regression"));
  request.config.ensemble = {4, 1};
  request.config.decision.calibration = CalibrationChoice::temperature;
  request.config.decision.threshold_metric = "balanced_accuracy";
  const FitResult result = decided(request);
  ASSERT_EQ(result.chosen.size(), 2U);
  const ChosenNumber& chosen = result.chosen.back();
  EXPECT_EQ(chosen.name, "decision_threshold");
  EXPECT_EQ(chosen.metric, "balanced_accuracy");
  EXPECT_GT(chosen.after, chosen.before + 0.05)
      << "a sixth of the rows are rare: the middle finds few of them";
  EXPECT_LT(result.model.decision.threshold, 0.5);
  EXPECT_DOUBLE_EQ(*evaluate_out_of_fold(result.model).metric("balanced_accuracy"), chosen.after);
}

TEST(ChooseDecision, TakesAThresholdThatIsGiven) {
  const Table table = rare_and_common();
  for (const ModelSpec& spec : {test::small_network(), test::spec_of("logistic_regression")}) {
    FitRequest request = request_for(table, spec);
    request.config.decision.decision_threshold = 0.2;
    const FitResult result = decided(request);
    EXPECT_EQ(result.model.decision.threshold, 0.2);
    const Predictions predictions = predict(result.model, table);
    for (std::size_t row = 0; row < predictions.classes.size(); ++row)
      EXPECT_EQ(predictions.classes[row], predictions.probabilities[2 * row + 1] > 0.2 ? 1 : 0);
    ASSERT_EQ(result.chosen.size(), 1U);
    EXPECT_EQ(text_of(result.chosen.front()), "0.2");
  }
}

TEST(ChooseDecision, RefusesTrainingsThatHoldNoRowsBack) {
  const Table table = rare_and_common();
  FitRequest request = request_for(table, test::small_network());
  request.config.decision.calibration = CalibrationChoice::temperature;
  EXPECT_THAT(refusal_to_decide(request),
              AllOf(HasSubstr("calibration temperature"), HasSubstr("validation_ratio")));
  request.spec = test::spec_of("logistic_regression");
  EXPECT_THAT(refusal_to_decide(request),
              AllOf(HasSubstr("logistic_regression is trained on all rows"), HasSubstr("folds")));
  request.config.decision = {.threshold_metric = "macro_f1"};
  EXPECT_THAT(refusal_to_decide(request), HasSubstr("threshold_metric macro_f1"));
  request.config.decision.decision_threshold = 0.3;
  EXPECT_THAT(refusal_to_decide(request), HasSubstr("leave one of them out"));
}

TEST(ChooseDecision, RefusesWhatDoesNotFitTheTask) {
  const Table numbers = sample(SampleName::friedman, 100);
  const Table blobs = sample(SampleName::blobs, 100);
  for (const ModelSpec& spec : {test::small_network(), test::spec_of("logistic_regression")}) {
    FitRequest request = request_for(blobs, spec);
    request.config.ensemble = {2, 1};
    request.config.decision.threshold_metric = "accuracy";
    EXPECT_THAT(refusal_to_decide(request), HasSubstr("threshold_metric is for two classes"));
    request.config.decision = {.decision_threshold = 0.3};
    EXPECT_THAT(refusal_to_decide(request), HasSubstr("decision_threshold is for two classes"));
  }
  FitRequest request = request_for(numbers, test::small_network());
  request.spec.training.validation_ratio = 0.2;
  request.config.decision.calibration = CalibrationChoice::temperature;
  EXPECT_THAT(refusal_to_decide(request), HasSubstr("is for classes"));
  request.config.decision = {.decision_threshold = 0.3};
  EXPECT_THAT(refusal_to_decide(request), HasSubstr("contains quantities"));
}

}  // namespace
}  // namespace stoker
