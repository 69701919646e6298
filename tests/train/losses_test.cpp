
#include <fmt/format.h>

#include "device/cpu_formats.h"
#include "expect_error.h"
#include "listeners.h"
#include "predict/decide/out_of_fold.h"
#include "predict/measure/evaluate.h"
#include "tables.h"
#include "train/fit/fit.h"

// What a training makes small, and how much each row and class counts in it.
namespace stoker {
namespace {

using test::RecordingListener;
using test::request_for;
using test::small_network;
using test::table_from_csv;
using testing::AllOf;
using testing::HasSubstr;

std::string refused_training(const FitRequest& request) {
  RecordingListener listener;
  return test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, StopSignal{}); });
}

// y spreads evenly over 0 to x.
Table fan() {
  std::string csv = "x,y\n";
  for (int i = 0; i < 2000; ++i) {
    const double x = 1 + (i % 37) * 0.05;
    csv += fmt::format("{},{}\n", x, x * (0.0005 + (i * 617 % 1000) * 0.001));
  }
  return table_from_csv(csv);
}

void expect_quantiles(const std::string& device, EngineChoice engine) {
  const Table table = fan();
  for (const double quantile : {0.1, 0.9}) {
    ModelSpec spec = small_network();
    spec.training.loss = LossChoice::quantile;
    spec.training.quantile = quantile;
    spec.training.epochs = 40;
    FitRequest request = request_for(table, spec);
    request.config.device = device;
    request.config.engine = engine;
    RecordingListener listener;
    const FitResult result = fit(request, listener, {});
    EXPECT_EQ(result.model.quantile, quantile);
    const Evaluation evaluation = judge(result.model, table, no_notes());
    EXPECT_NEAR(evaluation.metric(fmt::format("share_below_for_{}", quantile)).value(), quantile, 0.03);
    EXPECT_EQ(evaluation.metrics.front().first, "pinball_loss");
    ASSERT_TRUE(evaluation.verdict);
    EXPECT_TRUE(evaluation.verdict->is_better);
    EXPECT_EQ(evaluation.verdict->baseline, fmt::format("the {} quantile of training", quantile));
    // Of y even over 0 to x, at the true quantile q: q(1 - q)x/2; the mean x is 1.9.
    EXPECT_NEAR(evaluation.metric("pinball_loss").value(), 0.1 * 0.9 / 2 * 1.9, 0.01);
  }
}

TEST(FitNetwork, PredictsTheQuantileThatItIsTrainedFor) {
  for (const EngineChoice engine : {EngineChoice::fused, EngineChoice::eager})
    expect_quantiles("cpu", engine);
}

TEST(FitNetwork, PredictsTheQuantileThatItIsTrainedForOnAGpu) {
  if (!test::has_gpu()) GTEST_SKIP() << "no GPU";
  for (const EngineChoice engine : {EngineChoice::fused, EngineChoice::graph, EngineChoice::eager})
    expect_quantiles("cuda", engine);
}

TEST(FitNetwork, OfAnEnsembleKnowsItsQuantileToo) {
  const Table table = fan();
  ModelSpec spec = small_network();
  spec.training.loss = LossChoice::quantile;
  spec.training.quantile = 0.75;
  FitRequest request = request_for(table, spec);
  request.config.ensemble = {2, 1};
  RecordingListener listener;
  const Model model = fit(request, listener, {}).model;
  EXPECT_EQ(model.quantile, 0.75);
  EXPECT_EQ(model.training_quantiles.size(), 1U);
  EXPECT_EQ(evaluate_out_of_fold(model).metrics.front().first, "pinball_loss");
  request.spec.training.loss = LossChoice::mse;
  request.spec.training.quantile = 0.5;
  EXPECT_EQ(fit(request, listener, {}).model.quantile, std::nullopt);
}

TEST(FitNetwork, WarnsOfBf16WhereTheProcessorDoesNotMultiplyIt) {
  const Table table = fan();
  ModelSpec spec = small_network();
  spec.training.epochs = 1;
  FitRequest request = request_for(table, spec);
  request.config.precision = Precision::bf16;
  request.config.device = "cpu";
  RecordingListener listener;
  fit(request, listener, {});
  if (cpu_multiplies_bf16())
    EXPECT_THAT(listener.warnings, testing::IsEmpty());
  else
    EXPECT_THAT(listener.warnings, testing::Contains(HasSubstr("no instructions for it")));
}

TEST(FitNetwork, RefusesAQuantileThatItsLossDoesNotHave) {
  ModelSpec spec = small_network();
  spec.training.quantile = 0.9;
  const Table table = fan();
  EXPECT_THAT(refused_training(request_for(table, spec)), HasSubstr("set loss to quantile"));
}

// Two overlapping classes by x; the rows of `red` are few.
Table red_and_blue() {
  std::string csv = "x,kind,w\n";
  for (int i = 0; i < 120; ++i) {
    const bool is_red = i % 6 == 0;
    csv += fmt::format("{},{},{}\n", (i * 37 % 100) * 0.02 + (is_red ? 0.6 : 0), is_red ? "red" : "blue",
                       is_red ? 5 : 1);
  }
  return table_from_csv(csv);
}

double share_of_red(const FitResult& result, const Table& table) {
  const Predictions predictions = predict(result.model, table);
  double red = 0;
  for (const std::int64_t each : predictions.classes)
    red += predictions.class_names.at(static_cast<std::size_t>(each)) == "red";
  return red / static_cast<double>(predictions.rows());
}

TEST(FitLogistic, LearnsClassesAndWeighsRowsAndClasses) {
  const Table table = red_and_blue();
  const auto request_with = [&](const char* setting, const config::Value& value) {
    FitRequest request = request_for(table, test::spec_of("logistic_regression"));
    request.preparation.target_column = "kind";
    request.preparation.feature_columns = {"x"};
    if (setting != nullptr) request.spec.settings.set(setting, value);
    return request;
  };
  const auto share_with = [&](const FitRequest& request) {
    RecordingListener listener;
    const FitResult result = fit(request, listener, {});
    EXPECT_EQ(result.engine, "newton");
    EXPECT_FALSE(result.model.alpha);
    return share_of_red(result, table);
  };
  const double plain = share_with(request_with(nullptr, {}));
  EXPECT_LT(plain, 0.2);
  const double balanced = share_with(request_with("class_weight", "balanced"));
  EXPECT_GT(balanced, plain + 0.1);
  config::Value five;
  five.set("red", 5);
  EXPECT_EQ(share_with(request_with("class_weights", five)), balanced) << "a sixth of the rows are red";
  FitRequest weighed = request_with(nullptr, {});
  weighed.preparation.weight_column = "w";
  EXPECT_NEAR(share_with(weighed), balanced, 0.05) << "the penalty counts more";

  five.set("green", 1);
  EXPECT_THAT(refused_training(request_with("class_weights", five)),
              AllOf(HasSubstr("'green'"), HasSubstr("class_weights")));
  FitRequest both = request_with("class_weight", "balanced");
  five = {};
  five.set("red", -1);
  both.spec.settings.set("class_weights", five);
  EXPECT_THAT(refused_training(both), HasSubstr("leave one of them out"));
  EXPECT_THAT(refused_training(request_with("class_weights", five)), HasSubstr("at least 0"));
}

TEST(FitNetwork, WeighsClassesAsItWeighsRows) {
  const Table table = red_and_blue();
  ModelSpec spec = small_network();
  spec.training.validation_ratio = 0.25;
  const auto request_with = [&](const ClassWeighting& weighting) {
    FitRequest request = request_for(table, spec);
    request.preparation.target_column = "kind";
    request.preparation.feature_columns = {"x"};
    request.preparation.class_weights = weighting;
    return request;
  };
  const auto parameters_of = [&](const FitRequest& request) {
    RecordingListener listener;
    const NamedArrays parameters = fit(request, listener, {}).model.parameters;
    const auto weights = parameters.front().array.as<float>();
    return std::vector<float>(weights.begin(), weights.end());
  };
  ClassWeighting five;
  five.class_weights.set("red", 5);
  // A column of weights that says the same.
  FitRequest by_column = request_with({});
  by_column.preparation.weight_column = "w";
  EXPECT_EQ(parameters_of(request_with(five)), parameters_of(by_column));
  EXPECT_NE(parameters_of(request_with({})), parameters_of(by_column));
  const auto share_with = [&](const ClassWeighting& weighting) {
    RecordingListener listener;
    return share_of_red(fit(request_with(weighting), listener, {}), table);
  };
  EXPECT_GT(share_with({.class_weight = ClassWeight::balanced}), share_with({}) + 0.1);

  FitRequest members = request_with({.class_weight = ClassWeight::balanced});
  members.config.ensemble = {2, 1};
  RecordingListener listener;
  EXPECT_GT(share_of_red(fit(members, listener, {}), table), share_with({}) + 0.1);
}

TEST(FitNetwork, RefusesClassWeightsThatFitNoClass) {
  const Table table = red_and_blue();
  const auto refused = [&](const std::string& target, const ClassWeighting& weighting,
                           const ModelSpec& spec) {
    FitRequest request = request_for(table, spec);
    request.preparation.target_column = target;
    request.preparation.class_weights = weighting;
    return refused_training(request);
  };
  ClassWeighting green;
  green.class_weights.set("green", 5);
  ClassWeighting none;
  none.class_weights.set("red", 0);
  none.class_weights.set("blue", 0);
  const ClassWeighting balanced{.class_weight = ClassWeight::balanced};
  for (const ModelSpec& spec : {small_network(), test::spec_of("logistic_regression")}) {
    EXPECT_THAT(refused("kind", green, spec), HasSubstr("'green'"));
    EXPECT_THAT(refused("kind", none, spec), HasSubstr("class_weights gives no row"));
  }
  for (const ModelSpec& spec : {small_network(), test::spec_of("ridge")})
    EXPECT_THAT(refused("x", balanced, spec),
                AllOf(HasSubstr("class_weight is for classes"), HasSubstr("'x'")));
  ModelSpec weighing = test::spec_of("logistic_regression");
  weighing.settings.set("class_weight", "balanced");
  EXPECT_THAT(refused("kind", balanced, weighing), HasSubstr("to one of them"));
}

TEST(FitLogistic, TakesClassWeightsOfTheTrainingToo) {
  const Table table = red_and_blue();
  const auto coefficients = [&](const FitRequest& request) {
    RecordingListener listener;
    const NamedArrays parameters = fit(request, listener, {}).model.parameters;
    return find_array(parameters, "coefficients").as<double>()[0];
  };
  FitRequest request = request_for(table, test::spec_of("logistic_regression"));
  request.preparation.target_column = "kind";
  request.preparation.feature_columns = {"x"};
  request.preparation.class_weights.class_weight = ClassWeight::balanced;
  const double by_training = coefficients(request);
  request.preparation.class_weights = {};
  request.spec.settings.set("class_weight", "balanced");
  EXPECT_NEAR(by_training, coefficients(request), 1e-5) << "balanced weights have a mean of 1 already";
}

TEST(FitNetwork, SmoothsLabelsOfClassesAlone) {
  ModelSpec spec = small_network();
  spec.training.label_smoothing = 0.1;
  const Table table = fan();
  EXPECT_THAT(refused_training(request_for(table, spec)),
              AllOf(HasSubstr("label_smoothing is 0.1"), HasSubstr("it is for classes")));
}

TEST(FitNetwork, SaysThatBatchNormSeesThePartsOfABatch) {
  ModelSpec spec = test::spec_of("residual_mlp");
  spec.training.epochs = 1;
  spec.training.accumulation_steps = 4;
  const Table table = test::sample(SampleName::friedman, 100);
  RecordingListener listener;
  fit(request_for(table, spec), listener, StopSignal{});
  EXPECT_THAT(listener.infos,
              testing::Contains(AllOf(HasSubstr("accumulation_steps 4"), HasSubstr("batch norm"))));
  RecordingListener plain;
  spec = small_network();
  spec.training.epochs = 1;
  spec.training.accumulation_steps = 4;
  fit(request_for(table, spec), plain, StopSignal{});
  EXPECT_THAT(plain.infos, testing::Not(testing::Contains(HasSubstr("batch norm"))));
}

}  // namespace
}  // namespace stoker
