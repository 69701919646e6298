#include <gtest/gtest.h>

#include "base/files/files.h"
#include "base/random.h"
#include "device/device.h"
#include "pipeline/watchers.h"
#include "sweep/documents.h"
#include "sweep/sweep.h"

// Halving on a GPU: candidates train side by side, and the last of them alone.
namespace stoker::test {
namespace {

namespace fs = std::filesystem;

class NobodyWatches : public SweepListener {
 public:
  void sweep_started(const fs::path&, std::int64_t) override {}
  void advanced(const SweepProgress&) override {}
  void note(Severity, const std::string&) override {}
  RunListener& refit(const Trial&, const Document&) override { return run_; }
  RunListener& refit_on_all_rows(const Trial&, const Document&) override { return run_; }

 private:
  Watcher run_;
};

class SweepsOnTheGpu : public testing::Test {
 protected:
  void SetUp() override {
    bool has_gpu = false;
    for (const DeviceInfo& info : list_devices().devices) has_gpu = has_gpu || info.device.is_cuda();
    if (!has_gpu) GTEST_SKIP() << "no GPU here";
    write_file(folder_.path() / "table.csv", twenty_columns());
  }

  static std::string twenty_columns() {
    const RandomKey key = random_key(1, Purpose::sample, 0);
    std::string csv;
    for (int column = 0; column < 20; ++column) csv += fmt::format("x{},", column);
    csv += "y\n";
    std::uint32_t drawn = 0;
    for (int row = 0; row < 300; ++row) {
      double sum = 0;
      for (int column = 0; column < 20; ++column) {
        const double x = 2 * uniform(key, drawn++) - 1;
        sum += column % 3 * x;
        csv += fmt::format("{:.6f},", x);
      }
      csv += fmt::format("{:.6f}\n", sum);
    }
    return csv;
  }

  SweepDocument document(const std::string& sweep) const {
    std::string text = network_sweep(
        "validation_ratio: 0.2, epochs: 6, max_grad_norm: {grid: [0, 1]}, learning_rate: {grid: [0.001, "
        "0.003]}",
        sweep);
    const auto replace = [&](const std::string& what, const std::string& by) {
      text.replace(text.find(what), what.size(), by);
    };
    replace("hidden_layers: [8]", "hidden_layers: [128, 64, 32]");
    replace("device: cpu", "device: cuda");
    replace("source: sample, sample_name: friedman, sample_rows: 300",
            "source: file, path: " + (folder_.path() / "table.csv").string());
    return sweep_of(text);
  }

  SweepSummary swept(const std::string& sweep) const {
    SweepOptions options;
    options.out = folder_.path() / "runs";
    NobodyWatches nobody;
    StopSignal stop;
    return run_sweep(document(sweep), options, nobody, stop);
  }

  static std::string text_of(const Candidate& values) {
    std::string text;
    for (const config::Value& value : values) text += value_text(value) + " ";
    return text;
  }

  TemporaryFolder folder_;
};

// One kernel trains the group, and it clips because some of its models do; a survivor alone may have another.
TEST_F(SweepsOnTheGpu, TheLastCandidateGoesOnWhereItsGroupEnded) {
  const SweepSummary halved = swept("strategy: halving, min_epochs: 1, factor: 2");
  for (const Trial& trial : halved.trials)
    EXPECT_TRUE(trial.status == TrialStatus::finished || trial.status == TrialStatus::pruned)
        << trial.number << ": " << status_name(trial.status) << " " << trial.reason;
  const Trial& winner = halved.trials[halved.winner];
  EXPECT_EQ(winner.epochs, 6);
  const SweepSummary whole = swept("strategy: grid");
  int found = 0;
  for (const Trial& trial : whole.trials) {
    if (text_of(trial.values) != text_of(winner.values)) continue;
    ASSERT_TRUE(trial.score && winner.score);
    EXPECT_NEAR(*winner.score, *trial.score, 0.02 * *trial.score);
    ++found;
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace stoker::test
