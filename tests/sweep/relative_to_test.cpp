// `relative_to: auto` of candidates: decided as in a run of the document alone.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text/text.h"
#include "model/model.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/training/prepared_trainings.h"
#include "sweep/candidates.h"
#include "sweep/documents.h"
#include "sweep/sweeping.h"

namespace stoker::test {
namespace {

std::string noisy_sine() {
  const RandomKey key = random_key(12, Purpose::sample, 0);
  std::string csv = "x\n";
  for (std::uint32_t i = 0; i < 1'200; ++i)
    csv += fmt::format("{}\n", std::sin(0.125 * i) + 0.1 * normal(key, i));
  return csv;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
}

// The sweep over windows of the series in this file.
std::string over_windows(std::string text) {
  replace(text, "  split: { type: data_split, inputs: { dataset: load.dataset } }\n",
          "  windows: { type: windows, inputs: { dataset: load.dataset }, config: { length: 16, horizon: 1, "
          "target_column: x, layout: columns } }\n"
          "  split: { type: data_split, inputs: { dataset: windows.dataset } }\n");
  replace(text, "target_column: y", "target_column: x");
  replace(text, "hidden_layers: [8]", "hidden_layers: [32, 16]");
  return text;
}

double best_loss_of_run(const fs::path& run) {
  const std::vector<std::string> lines = split_text(read_file(run / "metrics.csv", 1U << 20), '\n');
  double best = 1e9;
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (const auto cells = split_text(lines[i], ','); cells.size() > 3)
      best = std::min(best, std::stod(cells[3]));
  return best;
}

// Its answers are nearer to the last value than to their mean, but short trainings are better without it.
TEST_F(Sweeps, CandidatesDecideRelativeToAsARunOfTheDocumentDoes) {
  const std::string text = reading_file(
      over_windows(network_sweep("validation_ratio: 0.2, epochs: 40, learning_rate: {grid: [0.005]}",
                                 "strategy: grid", ", relative_to: auto")),
      noisy_sine());
  const SweepSummary summary = swept(sweep_of(text));
  EXPECT_FALSE(load_model(summary.run.folder / "model").preparation.is_relative());
  ASSERT_EQ(summary.trials.size(), 1U);
  EXPECT_NEAR(*summary.trials[0].score, best_loss_of_run(summary.run.folder), 1e-5);
}

TEST_F(Sweeps, FoldsOfACandidateShareItsDecision) {
  const std::string with_auto = reading_file(
      over_windows(network_sweep("epochs: 40, learning_rate: {grid: [0.004, 0.005]}",
                                 "strategy: grid, folds: 3, metric: rmse", ", relative_to: auto")),
      noisy_sine());
  std::string with_none = with_auto;
  replace(with_none, "relative_to: auto", "relative_to: none");
  const SweepSummary decided = swept(sweep_of(with_auto));
  const SweepSummary plain = swept(sweep_of(with_none));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(decided.trials[i].fold_scores, plain.trials[i].fold_scores);
}

class Decisions : public Sweeps {
 protected:
  std::string one_candidate(const std::string& more_of_card = "") {
    return reading_file(
        over_windows(network_sweep("validation_ratio: 0.2, epochs: 12, learning_rate: {grid: [0.005]}",
                                   "strategy: grid", ", relative_to: auto" + more_of_card)),
        noisy_sine());
  }
  fs::path decisions() const { return folder_.path() / "decisions"; }

  PreparedTraining prepared(PreparedTrainings& trainings, const SweepDocument& sweep) {
    return trainings.prepare(sweep.with(candidates_of(sweep).front()), 0);
  }

  const StopSignal stop_;
};

// As memory that does not suffice for as many short trainings as there are threads.
TEST_F(Decisions, ThatTheMachineFailedAtAreTriedAgain) {
  const SweepDocument sweep = sweep_of(one_candidate());
  PreparedTrainings trainings(sweep, folder_.path() / "cache", decisions(), no_notes(), stop_);
  trainings.load();
  write_file(decisions(), "a file where the folder is to be");
  try {
    prepared(trainings, sweep);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), Cause::machine) << error.what();
  }
  fs::remove(decisions());
  EXPECT_NE(prepared(trainings, sweep).settings.preparation.relative_to, RelativeTo::automatic);
}

TEST_F(Decisions, TakeTheirSecondsFromTheTimeLimitOfTheCandidate) {
  const SweepDocument sweep = sweep_of(one_candidate(", time_limit: 5000000"));
  const auto prepare_anew = [&] {
    PreparedTrainings trainings(sweep, folder_.path() / "cache", decisions(), no_notes(), stop_);
    trainings.load();
    return prepared(trainings, sweep);
  };
  const RelativeTo decided = prepare_anew().settings.preparation.relative_to;
  for (const fs::directory_entry& each : fs::directory_iterator(decisions()))
    write_file(each.path() / "relative_to", fmt::format("{} 1000000", config::name_of(decided)));
  const PreparedTraining resumed = prepare_anew();
  EXPECT_EQ(resumed.settings.preparation.relative_to, decided);
  EXPECT_EQ(resumed.settings.fit.time_limit, 4'000'000);
}

}  // namespace
}  // namespace stoker::test
