#include "predict/rows/predictions.h"

#include <algorithm>
#include <cmath>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/example_models.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A network whose outputs do not depend on the inputs.
Model constant_network(Task task, std::vector<float> outputs) {
  Model model = network_model(task);
  for (NamedArray& named : model.parameters) {
    for (float& value : named.array.as<float>()) value = 0;
  }
  const auto count = static_cast<std::int64_t>(outputs.size());
  model.parameters.back().array = Array::from<float>(outputs, {count});
  return model;
}

TEST(Predictions, OfALinearModelAreInRealUnitsAndInTheOrderOfTheRows) {
  const Predictions predictions = predict(linear_model(), table_of("age,other,rooms\n10,x,1\n30,y,2\n"));
  EXPECT_EQ(predictions.task, Task::regression);
  EXPECT_THAT(predictions.values, ElementsAre(10 + 100 - 5, 10 + 200 - 15));
}

TEST(Predictions, OfANetworkAreScaledBackToTheTargetsUnits) {
  const Model model = constant_network(Task::regression, {0.5F});
  const Predictions predictions = predict(model, houses());
  ASSERT_EQ(predictions.rows(), 8);
  // Mean of the eight prices and half a population standard deviation.
  const std::vector<double> prices = model.preparation.real_targets(houses());
  double mean = 0;
  for (const double price : prices) mean += price / 8;
  double variance = 0;
  for (const double price : prices) variance += (price - mean) * (price - mean) / 8;
  EXPECT_NEAR(predictions.values[3], mean + 0.5 * std::sqrt(variance), 1e-9);
}

TEST(Predictions, BetweenTwoClassesTurnOneLogitIntoProbabilities) {
  const Predictions predictions = predict(constant_network(Task::binary, {2.0F}), houses());
  EXPECT_THAT(predictions.class_names, ElementsAre("no", "yes"));
  EXPECT_EQ(predictions.classes[0], 1);
  EXPECT_NEAR(predictions.probabilities[0], 0.11920292202211755, 1e-12);  // 1 / (1 + e²)
  EXPECT_NEAR(predictions.probabilities[1], 0.8807970779778825, 1e-12);
  EXPECT_EQ(predict(constant_network(Task::binary, {-2.0F}), houses()).classes[0], 0);
}

TEST(Predictions, AmongManyClassesAreASoftmaxThatDoesNotOverflow) {
  const Predictions predictions = predict(constant_network(Task::multiclass, {1000, 1001, 999}), houses());
  EXPECT_THAT(predictions.class_names, ElementsAre("flat", "house", "villa"));
  EXPECT_EQ(predictions.classes[7], 1);
  // softmax(1, 2, 0)
  EXPECT_NEAR(predictions.probabilities[0], 0.24472847105479767, 1e-12);
  EXPECT_NEAR(predictions.probabilities[1], 0.6652409557748219, 1e-12);
  EXPECT_NEAR(predictions.probabilities[2], 0.09003057317038046, 1e-12);
}

// Two rows of every class, and a network with an output for each.
Model model_of_classes(int classes) {
  std::string csv = "rooms,age,name\n";
  for (int i = 0; i < 2 * classes; ++i) csv += fmt::format("{},{},name {:05}\n", i % 7, i % 11, i / 2);
  PreparationConfig config;
  config.target_column = "name";
  config.task = TaskChoice::multiclass;
  Model model;
  model.preparation = Preparation::fit(table_of(csv), config, Scaling::standard, no_notes());
  model.network = mlp_network({2, {4}, classes, Activation::tanh, 0});
  model.parameters = initial_parameters(model.network, 7);
  return model;
}

TEST(Predictions, InPiecesAreThoseOfAllRowsAtOnce) {
  const Model model = model_of_classes(1000);
  std::string csv = "rooms,age\n";
  for (int i = 0; i < 5'000; ++i) csv += fmt::format("{},{}\n", i % 13, i % 29);
  const Table table = table_of(csv);
  PiecesOfPredictions pieces(model, table);
  const Array whole = mlp_outputs(mlp_shape(model.network).value(), model.parameters,
                                  model.preparation.apply(table, DType::float32, false).features());
  std::size_t row = 0;
  int count = 0;
  pieces.each([&](const Predictions& piece) {
    ++count;
    EXPECT_LE(piece.probabilities.size(), std::size_t{1} << 21);
    for (std::size_t i = 0; i < piece.classes.size(); ++i, ++row) {
      const auto logits = whole.as<float>().subspan(row * 1000, 1000);
      EXPECT_EQ(piece.classes[i], std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
  });
  EXPECT_EQ(row, 5'000U);
  EXPECT_GT(count, 1);
}

TEST(Predictions, AmongThousandsOfClassesHaveTheProbabilityOfTheirOwnAlone) {
  const Model model = model_of_classes(1001);
  const Table input = table_of("rooms,age\n1,10\n2,30\n");
  const Predictions predictions = predict(model, input);
  EXPECT_TRUE(predictions.probabilities.empty());
  ASSERT_EQ(predictions.of_predicted.size(), 2U);
  PiecesOfPredictions(model, input).each([&](const Predictions& all) {
    EXPECT_EQ(predictions.of_predicted[1],
              all.probabilities[1001 + static_cast<std::size_t>(all.classes[1])]);
  });
  EXPECT_THAT(predictions_table(predictions, input, true, "name").column_names(),
              ElementsAre("rooms", "age", "name", "probability"));
}

TEST(Predictions, OfATableWithoutANeededColumnAreRefusedByItsName) {
  EXPECT_THAT(refusal([] { predict(linear_model(), table_of("rooms,other\n1,2\n")); }), HasSubstr("age"));
}

TEST(PredictionsTable, HoldsThePredictionsAloneOrBehindTheInputs) {
  const Table input = table_of("rooms,age\n1,10\n2,30\n");
  const Predictions predictions = predict(linear_model(), input);
  EXPECT_THAT(predictions_table(predictions, input, false, "prediction").column_names(),
              ElementsAre("prediction"));
  const Table all = predictions_table(predictions, input, true, "prediction");
  EXPECT_THAT(all.column_names(), ElementsAre("rooms", "age", "prediction"));
  const auto column = std::static_pointer_cast<arrow::DoubleArray>(all.columns->column(2)->chunk(0));
  EXPECT_DOUBLE_EQ(column->Value(1), 195);
}

TEST(PredictionsTable, NamesClassesAndTheirProbabilities) {
  const Table input = houses();
  const Predictions predictions = predict(constant_network(Task::multiclass, {0, 1, 0}), input);
  const Table table = predictions_table(predictions, input, false, "kind");
  EXPECT_THAT(table.column_names(),
              ElementsAre("kind", "probability_flat", "probability_house", "probability_villa"));
  const auto names = std::static_pointer_cast<arrow::StringArray>(table.columns->column(0)->chunk(0));
  EXPECT_EQ(names->GetString(0), "house");
  const auto flat = std::static_pointer_cast<arrow::DoubleArray>(table.columns->column(1)->chunk(0));
  EXPECT_NEAR(flat->Value(7), 1 / (2 + std::exp(1.0)), 1e-12);
}

TEST(PredictionsTable, PutsAnUnderscoreBehindANameThatIsTaken) {
  const Table input = table_of("rooms,age,prediction,prediction_\n1,10,0,0\n");
  const Table table = predictions_table(predict(linear_model(), input), input, true, "prediction");
  EXPECT_THAT(table.column_names(), ElementsAre("rooms", "age", "prediction", "prediction_", "prediction__"));
}

}  // namespace
}  // namespace stoker
