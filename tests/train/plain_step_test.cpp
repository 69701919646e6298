#include "train/explain/plain_step.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "tables.h"
#include "train/explain/explain_step.h"
#include "train/explain/step_arrays.h"
#include "train/explain/step_report.h"
#include "train/loop/engines.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Against PyTorch, number by number (tests/reference/one_step.py).

const json& pytorch_step() {
  static const json loaded = json::parse(std::ifstream(STOKER_SOURCE_DIR "/tests/reference/one_step.json"));
  return loaded;
}

template <class Enum>
Enum value_of_name(const std::string& name) {
  for (std::size_t i = 0; i < config::names<Enum>.size(); ++i)
    if (config::names<Enum>[i] == name) return static_cast<Enum>(i);
  throw std::runtime_error("no such name: " + name);
}

void expect_numbers(const StepNumbers& actual, const json& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i].get<double>(), 2e-6) << what << " " << i;
}

StepBatch reference_batch() {
  const std::int64_t rows = pytorch_step()["rows"];
  const auto features = pytorch_step()["features"].get<std::vector<float>>();
  const auto targets = pytorch_step()["targets"].get<std::vector<float>>();
  StepBatch batch;
  batch.data.arrays = {{"features", Role::features,
                        Array::from<float>(features, {rows, pytorch_step()["columns"].get<std::int64_t>()})},
                       {"targets", Role::targets, Array::from<float>(targets, {rows, 1})}};
  batch.target = "y";
  return batch;
}

StepNetwork reference_network(const json& expected) {
  StepNetwork network =
      built_network(mlp_network({.inputs = pytorch_step()["columns"],
                                 .hidden_layers = {pytorch_step()["hidden"].get<std::int64_t>()},
                                 .activation = value_of_name<Activation>(expected["activation"])}),
                    1, nullptr);
  for (StepParameter& each : network.parameters)
    each.values = expected["before"][each.name].get<StepNumbers>();
  return network;
}

OptimizerSettings reference_settings(const json& expected) {
  OptimizerSettings settings;
  if (expected["optimizer"] == "sgd") settings.momentum = 0.9;
  if (expected["optimizer"] == "rmsprop") settings.beta2 = 0.99;
  settings.weight_decay = expected["weight_decay"];
  settings.max_grad_norm = expected["clip"];
  return settings;
}

TEST(PlainStep, IsThatOfPyTorch) {
  const StepBatch batch = reference_batch();
  for (const json& expected : pytorch_step()["cases"]) {
    SCOPED_TRACE(fmt::format("{} {}", expected["loss"].dump(), expected["optimizer"].dump()));
    StepNetwork network = reference_network(expected);
    StepOptimizer optimizer =
        begun_optimizer(value_of_name<StepOptimizerKind>(expected["optimizer"]), reference_settings(expected),
                        pytorch_step()["learning_rate"], network);
    clear_gradients(optimizer);
    pass_forward(batch, network);
    expect_numbers(network.layers[0].active, expected["hidden"], "hidden");
    expect_numbers(network.outputs(), expected["predictions"], "predictions");
    const StepLoss loss =
        loss_of(batch, network.outputs(), value_of_name<StepLossKind>(expected["loss"]), {});
    expect_numbers(loss.of_rows, expected["of_rows"], "losses");
    EXPECT_NEAR(loss.mean, expected["mean"].get<double>(), 1e-6);
    pass_backward(loss, network);
    for (const StepParameter& each : network.parameters)
      expect_numbers(each.gradients, expected["gradients"][each.name], "gradients of " + each.name);
    const StepChange change = take_step(optimizer, network);
    EXPECT_NEAR(change.gradient_norm, expected["gradient_norm"].get<double>(), 1e-6);
    for (const StepParameter& each : network.parameters)
      expect_numbers(each.values, expected["after"][each.name], "new " + each.name);
    EXPECT_EQ(optimizer.steps, 1);
    EXPECT_EQ(network.steps, 1);
  }
}

TEST(PlainStep, GoesThroughArraysUnchanged) {
  const StepBatch batch = reference_batch();
  const json& expected = pytorch_step()["cases"][0];
  StepNetwork network = reference_network(expected);
  StepOptimizer optimizer =
      begun_optimizer(StepOptimizerKind::adam, reference_settings(expected), 0.05, network);
  pass_forward(batch, network);
  const StepLoss loss = loss_of(batch, network.outputs(), StepLossKind::huber, {});
  pass_backward(loss, network);
  StepNetwork again = network_from(to_arrays(network));
  StepOptimizer optimizer_again = optimizer_from(to_arrays(optimizer));
  const StepLoss loss_again = loss_from(to_arrays(loss));
  EXPECT_EQ(loss_again.of_rows, loss.of_rows);
  EXPECT_EQ(loss_again.term.kind, Loss::huber);
  EXPECT_EQ(batch_report(batch_from(to_arrays(batch))), batch_report(batch));
  take_step(optimizer, network);
  take_step(optimizer_again, again);
  for (std::size_t i = 0; i < network.parameters.size(); ++i)
    EXPECT_EQ(again.parameters[i].values, network.parameters[i].values);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { network_from(to_arrays(loss)); }),
              HasSubstr("no network of a training step"));
}

TEST(PlainStep, RefusesPartsThatDoNotBelongTogether) {
  const StepBatch batch = reference_batch();
  StepNetwork network = reference_network(pytorch_step()["cases"][0]);
  StepOptimizer optimizer = begun_optimizer(StepOptimizerKind::sgd, {}, 0.1, network);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { take_step(optimizer, network); }),
              HasSubstr("has no gradients"));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { pass_backward({}, network); }),
              HasSubstr("has not been passed forward"));
  StepNetwork wider = built_network(mlp_network({.inputs = 5, .hidden_layers = {2}}), 1, nullptr);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { pass_forward(batch, wider); }),
              HasSubstr("reads 5 features of a row, but the rows of the batch have 3"));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] {
                               loss_of(batch, {1, 2}, StepLossKind::mse, {});
                             }),
              HasSubstr("2 predictions for 5 rows"));
}

// Against the eager engine: the same training, one step of it.

// Numbers, a column of words and a target of the task.
Table table_to_explain(const std::string& task) {
  std::string csv = "a,b,town,y\n";
  for (int i = 0; i < 40; ++i) {
    const double a = std::sin(i * 1.7);
    const double b = (i * 37 % 23) / 10.0;
    const char* town = i % 3 == 0 ? "Ulm" : i % 3 == 1 ? "Bonn" : "Kiel";
    const double y = a * b + (i % 3) + 0.1 * (i % 7);
    csv += fmt::format("{},{},{},", a, b, town);
    csv += task == "regression" ? fmt::format("{}\n", y)
           : task == "binary"   ? (y > 1 ? "yes\n" : "no\n")
                                : fmt::format("class {}\n", y < 0.7   ? 0
                                                            : y < 1.6 ? 1
                                                                      : 2);
  }
  return test::table_from_csv(csv);
}

ModelSpec network_to_explain(const char* more = "") {
  config::Diagnostics diagnostics("");
  const config::Value settings =
      config::parse_yaml(fmt::format("{{hidden_layers: [10, 6], dropout: 0.3, {}}}", more), "spec");
  ModelSpec spec{
      "neural_network", checked_settings(family_named("neural_network"), settings, "", diagnostics), {}};
  spec.training.batch_size = 16;
  spec.training.learning_rate = 0.01;
  return spec;
}

struct EagerStep {
  NamedArrays parameters;
  NamedArrays state;
  std::optional<double> loss;  // of an epoch that is one step
};

EagerStep eager_step(const FitRequest& request) {
  const DividedRows rows = divide_rows(request, request.spec.training, no_notes());
  const PreparedData data = prepare(rows.training, nullptr, rows.preparation,
                                    form_of(family_of(request.spec), request.spec.settings), no_notes());
  const EngineRequest wanted = engine_request(request.spec, data, Device::cpu(), request.config);
  const auto engine = choose_engine(engines(), EngineChoice::eager, std::nullopt, wanted).make(wanted);
  const float rate = learning_rate_at(request.spec.training, wanted.steps_per_epoch(), 0, 1);
  const ChunkResult result = engine->run({0, {rate}});
  EagerStep step{engine->parameters(), engine->state(), std::nullopt};
  if (!result.finished_epochs.empty()) step.loss = result.finished_epochs.front().train_loss;
  return step;
}

StepNumbers flattened(const json& values) {
  StepNumbers all;
  for (const json& each : values)
    if (each.is_array()) {
      const StepNumbers inner = flattened(each);
      all.insert(all.end(), inner.begin(), inner.end());
    } else {
      all.push_back(each);
    }
  return all;
}

void expect_close(const StepNumbers& told, std::span<const float> computed, const std::string& what) {
  ASSERT_EQ(told.size(), computed.size()) << what;
  double largest = 1e-6;
  for (const float each : computed) largest = std::max(largest, std::fabs(static_cast<double>(each)));
  for (std::size_t i = 0; i < told.size(); ++i)
    EXPECT_NEAR(told[i], static_cast<double>(computed[i]), 2e-5 * largest) << what << " " << i;
}

// Weights behind the step, what the optimiser remembers of the gradients and, where the epoch is one step,
// its loss.
void expect_as_eager(const FitRequest& request) {
  const json explained = explain_step(request, request.spec.training.batch_size, no_notes());
  const EagerStep eager = eager_step(request);
  const json& step = explained["steps"][7];
  ASSERT_EQ(explained["steps"].size(), 8U);
  std::size_t moments = 0;
  for (const json& each : step["parameters"]) {
    const std::string name = each["name"];
    expect_close(flattened(each["after"]["values"]), find_array(eager.parameters, name).as<float>(), name);
  }
  for (const json& state : step["states"])
    for (const char* moment : {"first_moment", "second_moment"}) {
      if (!state.contains(moment)) continue;
      const std::string name = fmt::format("{}.{}", moment, state["parameter"].get<std::string>());
      expect_close(flattened(state[moment]["values"]), find_array(eager.state, name).as<float>(), name);
      ++moments;
    }
  EXPECT_GT(moments, 0U);
  if (eager.loss) {
    EXPECT_NEAR(explained["steps"][5]["mean"].get<double>(), *eager.loss, 2e-6 * (1 + *eager.loss));
  }
}

TEST(ExplainedStep, IsTheFirstOfTheEagerEngineWithEveryLossAndOptimizer) {
  for (const char* task : {"regression", "binary", "multiclass"}) {
    const Table table = table_to_explain(task);
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd, Optimizer::lion})
      for (const LossChoice loss :
           {LossChoice::automatic, LossChoice::mse, LossChoice::huber, LossChoice::quantile}) {
        if (std::string(task) != "regression" && loss != LossChoice::automatic) continue;
        for (const std::int64_t batch : {16, 40}) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", task, config::name_of(optimizer), config::name_of(loss), batch));
          ModelSpec spec = network_to_explain();
          spec.training.optimizer = optimizer;
          spec.training.loss = loss;
          spec.training.quantile = 0.8;
          spec.training.weight_decay = 0.01;
          spec.training.batch_size = batch;
          if (std::string(task) != "regression") spec.training.label_smoothing = 0.1;
          expect_as_eager(test::request_for(table, spec));
        }
      }
  }
}

TEST(ExplainedStep, IsThatOfTheEagerEngineWithEveryActivationAndEntrance) {
  const Table table = table_to_explain("regression");
  for (const char* settings : {"activation: tanh", "activation: sigmoid", "activation: gelu",
                               "activation: silu", "number_embedding: piecewise_linear, embedding_bins: 4"}) {
    SCOPED_TRACE(settings);
    FitRequest request = test::request_for(table, network_to_explain(settings));
    request.spec.training.max_grad_norm = 0.05;
    request.preparation.categorical_encoding = Encoding::embedding;
    expect_as_eager(request);
  }
}

TEST(ExplainedStep, LeavesValidationRowsOutAndHeedsWarmUpAndWeights) {
  const Table table = table_to_explain("binary");
  FitRequest request = test::request_for(table, network_to_explain());
  request.spec.training.validation_ratio = 0.25;
  request.spec.training.warmup_epochs = 3;
  request.spec.training.optimizer = Optimizer::adamw;
  request.preparation.class_weights.class_weight = ClassWeight::balanced;
  expect_as_eager(request);
  const json explained = explain_step(request, 8, no_notes());
  EXPECT_EQ(explained["training_rows"], 30);
  EXPECT_EQ(explained["rows"], 8);
  EXPECT_LT(explained["steps"][2]["learning_rate"], 0.01);
  EXPECT_TRUE(explained["steps"][0].contains("weights"));
  EXPECT_THAT(explained["remarks"][0], HasSubstr("first 8 of its first batch"));
}

TEST(ExplainedStep, TellsEveryPartWithItsNumbers) {
  const Table table = table_to_explain("regression");
  FitRequest request = test::request_for(table, network_to_explain());
  const json steps = explain_step(request, 8, no_notes())["steps"];
  std::vector<std::string> names;
  for (const json& step : steps) names.push_back(step["step"]);
  EXPECT_THAT(names, testing::ElementsAre("prepare_batch", "build_model", "init_optimizer", "zero_grad",
                                          "forward", "loss", "backward", "optimizer_step"));
  EXPECT_EQ(steps[0]["row_numbers"].size(), 8U);
  EXPECT_EQ(steps[0]["inputs"]["features"]["values"].size(), 8U);
  EXPECT_EQ(steps[1]["layers"][0]["outputs"], 10);
  EXPECT_EQ(steps[2]["states"][0]["first_moment"]["highest"], 0);
  EXPECT_EQ(steps[4]["layers"].size(), 3U);
  EXPECT_EQ(steps[4]["predictions"]["values"].size(), 8U);
  EXPECT_EQ(steps[5]["of_rows"].size(), 8U);
  EXPECT_GT(steps[6]["gradient_norm"], 0);
  EXPECT_LT(steps[7]["loss_after"], steps[7]["loss_before"]);
  // Targets are told in the unit of the table too: the first is that of its row.
  const auto row = steps[0]["row_numbers"][0].get<std::int64_t>();
  const int i = static_cast<int>(row) - 1;
  EXPECT_NEAR(steps[0]["real_targets"][0].get<double>(),
              std::sin(i * 1.7) * (i * 37 % 23) / 10.0 + (i % 3) + 0.1 * (i % 7), 1e-5);
}

TEST(ExplainedStep, SummarisesLargeLayers) {
  const Table table = table_to_explain("regression");
  const json steps =
      explain_step(test::request_for(table, network_to_explain("activation: relu")), 4, no_notes())["steps"];
  EXPECT_TRUE(steps[1]["parameters"][0].contains("values"));
  config::Diagnostics diagnostics("");
  ModelSpec wide = network_to_explain();
  wide.settings =
      checked_settings(family_named("neural_network"),
                       config::parse_yaml("{hidden_layers: [300, 200]}", "spec"), "", diagnostics);
  const json large = explain_step(test::request_for(table, wide), 4, no_notes())["steps"][1]["parameters"][2];
  EXPECT_FALSE(large.contains("values"));
  EXPECT_EQ(large["corner"].size(), 8U);
  EXPECT_EQ(large["shape"], (json{200, 300}));
}

TEST(ExplainedStep, RefusesWhatHasNoSuchSteps) {
  const Table table = table_to_explain("regression");
  const auto refused = [&](ModelSpec spec) {
    return test::error_of(ExitCode::wrong_request,
                          [&] { explain_step(test::request_for(table, spec), 8, no_notes()); });
  };
  EXPECT_THAT(refused(test::spec_of("ridge")), HasSubstr("ridge is solved in one go"));
  EXPECT_THAT(refused(test::spec_of("residual_mlp")), HasSubstr("residual_mlp is built otherwise"));
  EXPECT_THAT(refused(network_to_explain("number_embedding: periodic")), HasSubstr("periodic"));
}

}  // namespace
}  // namespace stoker
