#include "train/fit/fit.h"

#include <cmath>
#include <fstream>
#include <numeric>

#include <fmt/format.h>

#include "base/random.h"
#include "expect_error.h"
#include "listeners.h"
#include "predict/measure/evaluate.h"
#include "tables.h"
#include "train/rows/validation.h"

namespace stoker {
namespace {

using test::RecordingListener;
using test::request_for;
using test::sample;
using test::small_network;
using test::table_from_csv;
using testing::AllOf;
using testing::HasSubstr;

FitResult fitted(const Table& table, ModelSpec spec) {
  RecordingListener listener;
  return fit(request_for(table, std::move(spec)), listener, StopSignal{});
}

std::string refusal(const FitRequest& request) {
  RecordingListener listener;
  return test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, StopSignal{}); });
}

bool libtorch_is_loaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libtorch") != std::string::npos) return true;
  return false;
}

TEST(FitNetwork, LearnsANonLinearRegression) {
  ModelSpec spec = small_network();
  spec.settings.set("hidden_layers", test::whole_numbers({64, 32}));
  spec.training.epochs = 40;
  spec.training.schedule = Schedule::cosine;
  const FitResult result = fitted(sample(SampleName::friedman, 3000, 1), spec);
  EXPECT_EQ(result.end, TrainingEnd::finished);
  EXPECT_EQ(result.engine, "fused");
  EXPECT_EQ(result.device, "cpu");
  EXPECT_EQ(result.placement, "host");
  EXPECT_EQ(result.steps, 40 * 94);
  EXPECT_EQ(result.epochs.size(), 40U);
  EXPECT_EQ(result.best_epoch, -1);
  EXPECT_GT(result.seconds, 0);
  const Evaluation evaluation = evaluate(result.model, sample(SampleName::friedman, 1000, 2));
  EXPECT_GT(evaluation.metric("r2").value(), 0.9);
}

TEST(FitNetwork, TakesTheFusedEngineAndTheDevicesMemoryOnAGpu) {
  if (!test::has_gpu()) GTEST_SKIP() << "there is no GPU here";
  const Table table = sample(SampleName::friedman, 3000, 1);
  ModelSpec spec = small_network();
  spec.training.epochs = 40;
  spec.training.validation_ratio = 0.1;
  FitRequest request = request_for(table, spec);
  request.config.device = "auto";
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.engine, "fused");
  EXPECT_EQ(result.device, "cuda:0");
  EXPECT_EQ(result.placement, "vram");
  EXPECT_GT(evaluate(result.model, sample(SampleName::friedman, 1000, 2)).metric("r2").value(), 0.9);
}

TEST(FitNetwork, LearnsFromTheRowsThatWeigh) {
  std::string csv = "x,w,y\n", heavy = "x,y\n";
  for (int i = 0; i < 600; ++i) {
    const double x = (i % 61) / 30.0 - 1;
    csv += fmt::format("{},{},{}\n", x, i % 2, i % 2 == 1 ? x : -x);
    heavy += fmt::format("{},{}\n", x, x);
  }
  const Table table = table_from_csv(csv);
  FitRequest request = request_for(table, small_network());
  request.preparation.target_column = "y";
  request.preparation.weight_column = "w";
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_GT(evaluate(result.model, table_from_csv(heavy)).metric("r2").value(), 0.95);

  FitRequest linear = request_for(table, test::spec_of("linear_regression"));
  linear.preparation = request.preparation;
  EXPECT_THAT(refusal(linear), AllOf(HasSubstr("weight_column 'w'"), HasSubstr("neural_network")));
}

TEST(FitNetwork, TellsManyClassesApart) {
  const Table all = sample(SampleName::blobs, 3000);
  SplitConfig split;
  split.train_ratio = 0.7;
  split.test_ratio = 0.3;
  split.random_seed = 1;
  const SplitRows rows = split_rows(all, split);
  ModelSpec spec = small_network();
  spec.training.validation_ratio = 0.1;
  const FitResult result = fitted(take_rows(all, rows.first), spec);
  EXPECT_EQ(result.model.preparation.task(), Task::multiclass);
  EXPECT_GE(result.best_epoch, 0);
  const Evaluation evaluation = evaluate(result.model, take_rows(all, rows.second));
  EXPECT_GT(evaluation.metric("accuracy").value(), 0.9);
  EXPECT_EQ(evaluation.chart<ConfusionMatrix>()->classes.size(), 10U);
}

// Inside or outside of a circle: no line tells these apart.
Table circle(int rows) {
  std::string text = "x,y,where\n";
  for (int i = 0; i < rows; ++i) {
    const double x = std::fmod(i * 0.618033988749895, 1.0) * 2 - 1;
    const double y = (2.0 * i + 1) / rows - 1;
    text += fmt::format("{},{},{}\n", x, y, x * x + y * y < 0.6 ? "inside" : "outside");
  }
  return table_from_csv(text);
}

TEST(FitNetwork, LearnsABinaryTask) {
  ModelSpec spec = small_network();
  spec.training.epochs = 40;
  spec.training.validation_ratio = 0.1;
  const FitResult result = fitted(circle(1500), spec);
  EXPECT_EQ(result.model.preparation.task(), Task::binary);
  EXPECT_EQ(result.model.network.outputs, 1);
  const Evaluation evaluation = evaluate(result.model, circle(777));
  EXPECT_GT(evaluation.metric("accuracy").value(), 0.95);
  EXPECT_GT(evaluation.metric("roc_auc").value(), 0.98);
}

// The loss that was reported for the best epoch, computed again from the model that came out.
TEST(FitNetwork, RestoresTheBestWeightsWhenStoppedEarly) {
  const Table table = sample(SampleName::friedman, 150);
  ModelSpec spec = small_network();
  spec.training.learning_rate = 0.02;
  spec.training.epochs = 500;
  spec.training.validation_ratio = 0.3;
  spec.training.early_stopping_patience = 15;
  const FitResult result = fitted(table, spec);
  EXPECT_EQ(result.end, TrainingEnd::stopped_early);
  ASSERT_EQ(static_cast<std::int64_t>(result.epochs.size()), result.best_epoch + 1 + 15);

  const SplitRows rows = set_validation_rows_aside(150, {}, 0.3, spec.training.seed);
  const Evaluation evaluation = evaluate(result.model, take_rows(table, rows.second));
  const double scale = result.model.preparation.target_scale();
  const double best = *result.epochs[static_cast<std::size_t>(result.best_epoch)].record.validation_loss;
  EXPECT_NEAR(evaluation.metric("mse").value() / (scale * scale), best, 1e-4 * best);
  for (const EpochReport& epoch : result.epochs) EXPECT_GE(*epoch.record.validation_loss, best);
}

TEST(FitNetwork, FitsThePreparationOnTheRowsThatAreTrainedOn) {
  const Table table = sample(SampleName::friedman, 200);
  ModelSpec spec = small_network();
  spec.training.epochs = 1;
  spec.training.validation_ratio = 0.25;
  const Preparation prepared = fitted(table, spec).model.preparation;
  const SplitRows rows = set_validation_rows_aside(200, {}, 0.25, spec.training.seed);
  const std::vector<double> targets = prepared.real_targets(take_rows(table, rows.first));
  const double mean =
      std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
  EXPECT_NEAR(prepared.target_shift(), mean, 1e-9);
}

TEST(FitNetwork, GivesTheSameWeightsForTheSameSeed) {
  const Table table = sample(SampleName::friedman, 300);
  ModelSpec spec = small_network();
  spec.training.epochs = 3;
  spec.settings.set("dropout", 0.2);
  const auto first_weight = [&] { return fitted(table, spec).model.parameters[0].array; };
  const Array one = first_weight();
  const Array same = first_weight();
  spec.training.seed = 43;
  const Array other = first_weight();
  EXPECT_EQ(std::memcmp(one.data(), same.data(), one.bytes()), 0);
  EXPECT_NE(std::memcmp(one.data(), other.data(), one.bytes()), 0);
}

TEST(FitNetwork, KeepsTheModelOfATrainingWhoseTimeIsUp) {
  const Table table = sample(SampleName::friedman, 300);
  ModelSpec spec = small_network();
  spec.training.epochs = 1'000'000;
  FitRequest request = request_for(table, spec);
  request.config.time_limit = 0.3;
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::time_limit);
  EXPECT_GT(result.steps, 0);
  EXPECT_EQ(listener.warnings.size(), 1U);
  EXPECT_TRUE(std::isfinite(evaluate(result.model, table).metric("rmse").value()));
}

TEST(FitLinear, KeepsTheCoefficientsOfALassoWhoseTimeIsUp) {
  const Table table = sample(SampleName::friedman, 300);
  ModelSpec spec = test::spec_of("lasso");
  spec.settings.set("alpha", 1e-4);
  FitRequest request = request_for(table, spec);
  request.config.time_limit = 1e-9;
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::time_limit);
  EXPECT_EQ(listener.warnings.size(), 1U);
  EXPECT_TRUE(std::isfinite(evaluate(result.model, table).metric("rmse").value()));
}

TEST(FitNetwork, FailsClearlyWhenTrainingDiverges) {
  const Table table = sample(SampleName::friedman, 300);
  ModelSpec spec = small_network();
  spec.training.optimizer = Optimizer::sgd;
  spec.training.learning_rate = 1e6;
  RecordingListener listener;
  EXPECT_THAT(
      test::error_of(ExitCode::run_failed, [&] { fit(request_for(table, spec), listener, StopSignal{}); }),
      AllOf(HasSubstr("diverged in epoch 1 of 20"), HasSubstr("lower learning_rate")));
}

// The rate rises from epoch to epoch, until it is too high.
TEST(FitNetwork, KeepsTheBestEpochOfATrainingThatDivergesLater) {
  const Table table = sample(SampleName::friedman, 600);
  ModelSpec spec = small_network();
  spec.training.optimizer = Optimizer::sgd;
  spec.training.momentum = 0;
  spec.training.learning_rate = 4;
  spec.training.warmup_epochs = 40;
  spec.training.epochs = 60;
  spec.training.validation_ratio = 0.2;
  RecordingListener listener;
  const FitResult result = fit(request_for(table, spec), listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::stopped_early);
  EXPECT_LT(result.epochs.size(), 40U);
  EXPECT_THAT(listener.warnings, testing::Contains(AllOf(HasSubstr("training diverged in epoch"),
                                                         HasSubstr("the best by validation"))));
  EXPECT_TRUE(std::isfinite(evaluate(result.model, table).metric("rmse").value()));
}

TEST(FitNetwork, RefusesSettingsThatContradictEachOther) {
  const Table table = sample(SampleName::friedman, 50);
  ModelSpec spec = small_network();
  spec.training.early_stopping_patience = 3;
  EXPECT_THAT(refusal(request_for(table, spec)),
              AllOf(HasSubstr("early_stopping_patience"), HasSubstr("validation_ratio")));
}

TEST(FitNetwork, RefusesTooFewRows) {
  const Table one = table_from_csv("x,y\n1,2.5\n");
  EXPECT_THAT(refusal(request_for(one, small_network())), HasSubstr("at least 2 rows"));
  const Table three = table_from_csv("x,y\n1,2.5\n2,3.5\n4,4.5\n");
  ModelSpec spec = small_network();
  spec.training.validation_ratio = 0.1;
  EXPECT_THAT(refusal(request_for(three, spec)), HasSubstr("no row to validate on"));
}

TEST(FitNetwork, RefusesAnEngineThatNeedsAGpu) {
  const Table table = sample(SampleName::friedman, 50);
  FitRequest request = request_for(table, small_network());
  request.config.engine = EngineChoice::graph;
  EXPECT_THAT(refusal(request), HasSubstr("engine graph"));
}

TEST(FitNetwork, TrainsOnTheCpuWithoutLoadingLibTorch) {
  const bool loaded_before = libtorch_is_loaded();
  EXPECT_EQ(fitted(sample(SampleName::friedman, 200), small_network()).engine, "fused");
  EXPECT_EQ(libtorch_is_loaded(), loaded_before);
}

TEST(FitNetwork, MindsOutliersLessWithTheHuberLoss) {
  std::string csv = "x,y\n";
  for (int i = 0; i < 400; ++i)
    csv += fmt::format("{},{}\n", i * 0.01, i % 20 == 0 ? 400.5 : i * 0.01 + 0.001);
  const Table table = table_from_csv(csv);
  const auto typical_error = [&](LossChoice loss) {
    ModelSpec spec = small_network();
    spec.training.loss = loss;
    spec.training.huber_delta = 0.05;
    spec.training.epochs = 60;
    const FitResult result = fitted(table, spec);
    return evaluate(result.model, table).metric("mae").value();
  };
  EXPECT_LT(typical_error(LossChoice::huber), 0.8 * typical_error(LossChoice::mse));
}

TEST(FitNetwork, RefusesARegressionsLossForClasses) {
  ModelSpec spec = small_network();
  spec.training.loss = LossChoice::huber;
  const Table table = sample(SampleName::blobs, 100);
  EXPECT_THAT(refusal(request_for(table, spec)), AllOf(HasSubstr("loss huber"), HasSubstr("auto")));
}

TEST(FitLinear, FindsTheLineWithoutLoadingLibTorch) {
  const bool loaded_before = libtorch_is_loaded();
  const Table table = table_from_csv("x,z,y\n1,0.5,5.5\n2,0.25,7.25\n3,2,11\n4,1,12\n5,0,13\n6,3,18\n");
  const FitResult result = fitted(table, test::spec_of("linear_regression"));
  EXPECT_EQ(libtorch_is_loaded(), loaded_before);
  ASSERT_TRUE(result.solution.has_value());
  EXPECT_NEAR(find_array(result.model.parameters, "coefficients").as<double>()[0], 2, 1e-9);
  EXPECT_NEAR(find_array(result.model.parameters, "coefficients").as<double>()[1], 1, 1e-9);
  EXPECT_NEAR(find_array(result.model.parameters, "intercept").as<double>()[0], 3, 1e-9);
  EXPECT_EQ(result.model.type(), "linear_regression");
  EXPECT_EQ(result.engine, result.solution->method);
  EXPECT_EQ(result.device, "cpu");
  EXPECT_NEAR(evaluate(result.model, table).metric("r2").value(), 1, 1e-9);
}

TEST(FitLinear, PredictsInRealUnitsWhenScalingIsAskedFor) {
  const Table table = table_from_csv("x,y\n100,5\n200,7\n300,9\n400,11\n");
  FitRequest request = request_for(table, test::spec_of("ridge"));
  request.preparation.scaling = Scaling::standard;
  request.spec.settings.set("alpha", 1e-9);
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.model.alpha, 1e-9);
  EXPECT_LT(evaluate(result.model, table).metric("rmse").value(), 1e-6);
}

// Rows of a group are the same but for a trace, and its columns say nothing about other groups: who may look
// at the rest of a row's group takes the least penalty, who may not the largest.
TEST(FitLinear, ChoosesThePenaltyByGroupsThatAreHeldBackWhole) {
  constexpr int groups = 15, columns = 12, rows = 120;
  const RandomKey key = random_key(1, Purpose::sample, 0);
  std::string csv = "group";
  for (int j = 0; j < columns; ++j) csv += fmt::format(",x{}", j);
  csv += ",y\n";
  for (int row = 0; row < rows; ++row) {
    const auto group = static_cast<std::uint32_t>(row % groups);
    csv += fmt::format("g{}", group);
    for (std::uint32_t j = 0; j < columns; ++j) csv += fmt::format(",{}", normal(key, 20 * group + j));
    csv += fmt::format(",{}\n", normal(key, 20 * group + columns) + 1e-3 * row / rows);
  }
  Table table = table_from_csv(csv);
  for (const char* kind : {"ridge_cv", "lasso_cv"}) {
    ModelSpec spec = test::spec_of(kind);
    spec.settings.set("alphas", config::Value::List{1e-3, 100.0});
    FitRequest request = request_for(table, spec);
    for (int j = 0; j < columns; ++j) request.preparation.feature_columns.push_back(fmt::format("x{}", j));
    table.group_column = "";
    RecordingListener listener;
    EXPECT_EQ(fit(request, listener, {}).solution->alpha, 1e-3) << kind;
    table.group_column = "group";
    EXPECT_EQ(fit(request, listener, {}).solution->alpha, 100.0) << kind;
  }
}

TEST(FitLinear, RefusesToCrossValidateASingleGroup) {
  Table table = table_from_csv("group,x,y\na,1,2.5\na,2,3.5\na,3,4.75\na,4,6.5\n");
  table.group_column = "group";
  EXPECT_THAT(refusal(request_for(table, test::spec_of("ridge_cv"))),
              HasSubstr("all training rows belong to one group"));
}

TEST(FitLinear, TakesFewWholeNumbersForQuantities) {
  std::string csv = "x,stars\n";
  for (int i = 0; i < 50; ++i) csv += fmt::format("{},{}\n", i % 5 + 0.5, i % 5 + 1);
  const Table table = table_from_csv(csv);
  FitRequest request = request_for(table, test::spec_of("linear_regression"));
  request.preparation.target_column = "stars";
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_NEAR(find_array(result.model.parameters, "coefficients").as<double>()[0], 1, 1e-9);
  EXPECT_NEAR(find_array(result.model.parameters, "intercept").as<double>()[0], 0.5, 1e-9);
}

TEST(FitLinear, RefusesClassesAndNamesWhatToUse) {
  const Table table = circle(50);
  EXPECT_THAT(refusal(request_for(table, test::spec_of("lasso"))),
              AllOf(HasSubstr("lasso predicts numbers"), HasSubstr("'where' has 2 classes"),
                    HasSubstr("neural_network")));
}

TEST(FitLinear, SaysThatAnEngineIsNotUsed) {
  const Table table = table_from_csv("x,y\n1,5\n2,7\n3,9.5\n");
  FitRequest request = request_for(table, test::spec_of("linear_regression"));
  request.config.engine = EngineChoice::eager;
  RecordingListener listener;
  fit(request, listener, StopSignal{});
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("engine eager is not used")));
}

TEST(FitResidualMlp, LearnsAndIsNotForTheFusedEngine) {
  ModelSpec spec = test::spec_of("residual_mlp");
  spec.settings.set("width", 32);
  spec.settings.set("block_width", 48);
  spec.training.epochs = 15;
  spec.training.validation_ratio = 0.1;
  const Table table = sample(SampleName::friedman, 1500, 1);
  const FitResult result = fitted(table, spec);
  EXPECT_EQ(result.engine, "eager");
  EXPECT_GE(result.best_epoch, 0);
  EXPECT_GT(evaluate(result.model, sample(SampleName::friedman, 500, 2)).metric("r2").value(), 0.8);
  FitRequest request = request_for(table, spec);
  request.config.engine = EngineChoice::fused;
  EXPECT_THAT(refusal(request), HasSubstr("multi-layer perceptrons, not residual_mlp"));
}

}  // namespace
}  // namespace stoker
