#include <algorithm>

#include <gtest/gtest.h>

#include "sweep/documents.h"
#include "sweep/sweeping.h"

namespace stoker::test {
namespace {

class SweepsOfAutomaticBatches : public Sweeps {
 protected:
  static std::string document(const std::string& sweep) {
    std::string text = network_sweep(
        "epochs: 4, validation_ratio: 0.2, learning_rate: {grid: [0.001, 0.01]}, hidden_layers: {grid: [[8], "
        "[16]]}",
        sweep);
    put_in(text, "hidden_layers: [8], batch_size: 32", "batch_size: auto");
    put_in(text, "sample_rows: 300", "sample_rows: 2000");
    return text;
  }
  static void put_in(std::string& text, const std::string& what, const std::string& by) {
    ASSERT_NE(text.find(what), std::string::npos) << what;
    text.replace(text.find(what), what.size(), by);
  }
  std::ptrdiff_t told() const {
    return std::ranges::count_if(watching_.notes, [](const std::string& each) {
      return each.find("batch_size auto takes") != std::string::npos;
    });
  }
};

TEST_F(SweepsOfAutomaticBatches, ChooseOnceForCandidatesOfOneShape) {
  const SweepSummary summary = swept(sweep_of(document("strategy: grid, folds: 2, metric: rmse")));
  ASSERT_EQ(summary.trials.size(), 4U);
  for (const Trial& trial : summary.trials) EXPECT_TRUE(trial.score.has_value()) << trial.reason;
  EXPECT_EQ(told(), 2);
}

// What was measured in the first sitting holds in the next.
TEST_F(SweepsOfAutomaticBatches, KeepTheChoiceWhenTheyAreResumed) {
  const SweepDocument sweep = sweep_of(document("strategy: halving, min_epochs: 1, factor: 2"));
  StopSignal stop;
  watching_.at_training = [&](std::int64_t done) {
    if (done == 3) stop.interrupt();
  };
  SweepOptions options;
  options.out = folder_.path() / "runs";
  options.threads = 1;
  EXPECT_THROW(run_sweep(sweep, options, watching_, stop), Error);
  EXPECT_EQ(told(), 2);
  ASSERT_TRUE(fs::exists(watching_.folder / "checkpoints" / "batches.json"));
  watching_.notes.clear();
  watching_.at_training = nullptr;
  const SweepSummary summary = swept(sweep, watching_.folder);
  for (const Trial& trial : summary.trials) EXPECT_TRUE(trial.score.has_value()) << trial.reason;
  EXPECT_EQ(told(), 0);
}

}  // namespace
}  // namespace stoker::test
