#include <cmath>

#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit/fit.h"

namespace stoker {
namespace {

using test::RecordingListener;
using test::request_for;
using test::sample;
using test::table_from_csv;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FitLinear, DoesNotWarnOfColumnsThatDependOnEachOtherByTheirEncoding) {
  const auto warnings = [](bool fit_intercept, bool repeat) {
    std::string csv = "a,kind,place,b,y\n";
    const std::vector<std::string> kinds{"flat", "house", "hut"};
    const std::vector<std::string> places{"north", "south"};
    for (int i = 0; i < 60; ++i) {
      const double a = std::sin(i * 1.7);
      csv += std::to_string(a) + "," + kinds[i % 3] + "," + places[i / 3 % 2] + "," +
             std::to_string(repeat ? 2 * a : std::cos(i * 0.9)) + "," + std::to_string(a + i % 3) + "\n";
    }
    const Table table = table_from_csv(csv);
    ModelSpec spec = test::spec_of("linear_regression");
    spec.settings.set("fit_intercept", fit_intercept);
    RecordingListener listener;
    fit(request_for(table, spec), listener, StopSignal{});
    return listener.warnings;
  };
  for (const bool fit_intercept : {true, false}) {
    SCOPED_TRACE(fit_intercept);
    EXPECT_THAT(warnings(fit_intercept, false), testing::IsEmpty());
    EXPECT_THAT(warnings(fit_intercept, true), ElementsAre(HasSubstr("depend on each other")));
  }
}

TEST(FitLogistic, OutOfTimeBeforeTheFirstStepIsNoModel) {
  const Table table = sample(SampleName::blobs, 100, 1);
  FitRequest request = request_for(table, test::spec_of("logistic_regression"));
  request.preparation.target_column = "label";
  request.config.time_limit = 1e-9;
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { fit(request, listener, StopSignal{}); }),
              HasSubstr("no model to keep"));
}

TEST(FitLogistic, RefusesQuantities) {
  const Table table = sample(SampleName::friedman, 50, 1);
  const FitRequest request = request_for(table, test::spec_of("logistic_regression"));
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, StopSignal{}); }),
              AllOf(HasSubstr("contains quantities"), HasSubstr("--model linear_regression")));
}

}  // namespace
}  // namespace stoker
