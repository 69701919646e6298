#include <cmath>

#include "base/random.h"
#include "expect_error.h"
#include "listeners.h"
#include "predict/measure/evaluate.h"
#include "predict/measure/real_coefficients.h"
#include "predict/rows/predictions.h"
#include "tables.h"
#include "train/fit/fit.h"

// Texts of more values than a linear model has columns for.
namespace stoker {
namespace {

using test::RecordingListener;
using test::table_from_csv;

double normal_draw(std::uint64_t stream, int i) {
  return normal(random_key(11, Purpose::sample, stream), static_cast<std::uint32_t>(i));
}

struct Parts {
  Table training;
  Table test;
};

Parts halves(const Table& table) {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  for (std::int64_t row = 0; row < table.rows(); ++row) (row % 2 == 0 ? first : second).push_back(row);
  return {take_rows(table, first), take_rows(table, second)};
}

// As many shops as there are, in an order that says nothing, with visits to each and a price of their own.
Parts shops(int count, int rows, double effect) {
  std::string csv = "area,shop,price\n";
  for (int i = 0; i < rows; ++i) {
    const int shop =
        static_cast<int>(random_bits(random_key(5, Purpose::sample, 0), static_cast<std::uint32_t>(i)) %
                         static_cast<std::uint32_t>(count));
    const double area = normal_draw(1, i);
    csv +=
        fmt::format("{},shop {},{}\n", area, shop, effect * normal_draw(2, shop) + area + normal_draw(3, i));
  }
  return halves(table_from_csv(csv));
}

FitResult fit_silently(const FitRequest& request) {
  RecordingListener listener;
  return fit(request, listener, StopSignal{});
}

double r2(const Model& model, const Table& table) {
  return *evaluate(model, table, no_notes()).metric("r2");
}

TEST(ManyCategories, AreLearntByEveryLinearFamily) {
  const Parts parts = shops(300, 6000, 10);
  for (const char* family : {"linear_regression", "ridge", "lasso", "ridge_cv", "lasso_cv"}) {
    SCOPED_TRACE(family);
    const FitResult result = fit_silently(test::request_for(parts.training, test::spec_of(family)));
    EXPECT_GT(r2(result.model, parts.test), 0.95);
    // One more of a shop's mean is about one more of the price.
    const std::vector<RealCoefficient> coefficients = coefficients_in_real_units(result.model);
    ASSERT_EQ(coefficients.size(), 3U);
    EXPECT_EQ(coefficients[2].feature, "shop (mean of price)");
    EXPECT_NEAR(coefficients[2].value, 1, 0.1);
  }
}

TEST(ManyCategories, AreLearntByTheMembersOfAnEnsembleAndWithGroups) {
  Parts parts = shops(300, 6000, 10);
  FitRequest request = test::request_for(parts.training, test::spec_of("ridge"));
  request.config.ensemble = {4, 1};
  EXPECT_GT(r2(fit_silently(request).model, parts.test), 0.95);
  parts.training.group_column = "area";
  FitRequest grouped = test::request_for(parts.training, test::spec_of("ridge_cv"));
  grouped.preparation.feature_columns = {"shop", "area"};
  EXPECT_GT(r2(fit_silently(grouped).model, parts.test), 0.95);
}

TEST(ManyCategories, ThatAreNoiseDoNotTellTheAnswersOfTheRowsTrainedOn) {
  const Parts parts = shops(700, 4000, 0);
  for (const char* family : {"linear_regression", "ridge_cv"}) {
    SCOPED_TRACE(family);
    FitRequest request = test::request_for(parts.training, test::spec_of(family));
    request.preparation.feature_columns = {"shop"};
    const FitResult result = fit_silently(request);
    EXPECT_LT(r2(result.model, parts.training), 0.1);
    EXPECT_GT(r2(result.model, parts.test), -0.02);
    EXPECT_LT(r2(result.model, parts.test), 0.02);
  }
}

TEST(ManyCategories, TellClassesApart) {
  std::string csv = "shop,kind\n";
  const char* const kinds[] = {"a", "b", "c"};
  for (int i = 0; i < 6000; ++i) {
    const int shop = static_cast<int>(std::abs(normal_draw(6, i)) * 1e6) % 300;
    const int usual = static_cast<int>(std::abs(normal_draw(7, shop)) * 1e6) % 3;
    csv += fmt::format("shop {},{}\n", shop, kinds[std::abs(normal_draw(8, i)) > 1.6 ? i % 3 : usual]);
  }
  const Parts parts = halves(table_from_csv(csv));
  const FitRequest request = test::request_for(parts.training, test::spec_of("logistic_regression"));
  EXPECT_GT(*evaluate(fit_silently(request).model, parts.test, no_notes()).metric("accuracy"), 0.85);
}

TEST(ManyCategories, CanBeEncodedSoForANetwork) {
  const Parts parts = shops(300, 6000, 10);
  ModelSpec spec = test::small_network();
  spec.training.validation_ratio = 0.1;
  FitRequest request = test::request_for(parts.training, spec);
  request.preparation.categorical_encoding = Encoding::target;
  EXPECT_GT(r2(fit_silently(request).model, parts.test), 0.95);
}

TEST(ManyCategories, ThatWereNotSeenCountAsTheMeanOfAll) {
  const Parts parts = shops(300, 6000, 10);
  const Model model = fit_silently(test::request_for(parts.training, test::spec_of("ridge"))).model;
  const double predicted = predict(model, table_from_csv("area,shop\n0,nowhere\n")).values.front();
  double mean = 0;
  for (const double each : model.preparation.real_targets(parts.training)) mean += each;
  EXPECT_NEAR(predicted, mean / static_cast<double>(parts.training.rows()), 0.2);
}

}  // namespace
}  // namespace stoker
