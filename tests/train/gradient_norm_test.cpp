#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit/fit.h"

namespace stoker {
namespace {

using test::RecordingListener;

class GradientNorm : public testing::TestWithParam<EngineChoice> {
 protected:
  FitRequest request(double limit) const {
    ModelSpec spec = test::spec_of("neural_network");
    spec.settings.set("hidden_layers", test::whole_numbers({16}));
    spec.settings.set("dropout", 0.0);
    spec.training.epochs = 40;
    spec.training.max_grad_norm = limit;
    FitRequest result = test::request_for(table_, spec);
    result.config.device = "cpu";
    result.config.engine = GetParam();
    return result;
  }
  static FitResult trained(const FitRequest& request, const StopSignal& stop = {}) {
    RecordingListener listener;
    return fit(request, listener, stop);
  }

  const Table table_ = test::sample(SampleName::friedman, 300);
};

TEST_P(GradientNorm, IsToldWhereGradientsAreClippedAndNowhereElse) {
  for (const EpochReport& each : trained(request(0.5)).epochs) {
    ASSERT_TRUE(each.record.gradient_norm.has_value());
    EXPECT_GT(*each.record.gradient_norm, 0);
  }
  EXPECT_FALSE(trained(request(0)).epochs.front().record.gradient_norm.has_value());
}

TEST_P(GradientNorm, IsTheSameInEveryEngine) {
  FitRequest other = request(0.5);
  other.config.engine = EngineChoice::fused;
  const FitResult expected = trained(other);
  const FitResult found = trained(request(0.5));
  for (const std::size_t epoch : {0U, 1U, 39U})
    EXPECT_NEAR(*found.epochs[epoch].record.gradient_norm / *expected.epochs[epoch].record.gradient_norm, 1,
                1e-3);
}

class StopsWithinAnEpoch : public RecordingListener {
 public:
  explicit StopsWithinAnEpoch(StopSignal& stop) : stop_(stop) {}
  void advanced(std::int64_t, std::int64_t, double) override { stop_.interrupt(); }

 private:
  StopSignal& stop_;
};

// Eight steps of the ten of an epoch are done when the first chunk ends.
TEST_P(GradientNorm, IsThatOfAllStepsOfAnEpochThatWasInterrupted) {
  const FitResult whole = trained(request(0.5));
  const TemporaryFolder folder;
  FitRequest part = request(0.5);
  part.checkpoints = folder.path();
  StopSignal stop;
  StopsWithinAnEpoch listener(stop);
  EXPECT_THROW(fit(part, listener, stop), Error);
  part.resume = true;
  const FitResult resumed = trained(part);
  for (const std::size_t epoch : {0U, 1U, 39U})
    EXPECT_EQ(resumed.epochs[epoch].record.gradient_norm, whole.epochs[epoch].record.gradient_norm);
}

INSTANTIATE_TEST_SUITE_P(Engines, GradientNorm, testing::Values(EngineChoice::fused, EngineChoice::eager),
                         [](const auto& tested) { return std::string(config::name_of(tested.param)); });

}  // namespace
}  // namespace stoker
