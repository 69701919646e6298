#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/field.h"
#include "predict/skill/caution.h"
#include "predict/skill/skill.h"
#include "predict/skill/untested_skill.h"

namespace stoker {

// How much of the past each fold is trained on.
enum class PastWindow { expanding, rolling };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::PastWindow>{"expanding",
                                                                                           "rolling"};

namespace stoker {

// A series is gone through as it would have been lived: trained on the past, measured on what came next.
struct WalkForwardConfig {
  std::int64_t folds = 0;  // 0: one model, nothing is measured on the way
  PastWindow window = PastWindow::expanding;
  std::int64_t past_blocks = 1;

  bool is_wanted() const { return folds > 0; }
  // Equal parts that time is divided into; the last so many of them are measured on.
  std::int64_t blocks() const { return folds + past_blocks; }
};

inline config::Fields fields(WalkForwardConfig& c) {
  return {
      config::field("folds", c.folds,
                    "Blocks of time that follow each other: for each, a model is trained on what came before "
                    "and measured on the block; 0: none")
          .within(0, 1'000),
      config::field("window", c.window,
                    "expanding: each is trained on all that came before, and the model that is kept on "
                    "everything. rolling: on the past_blocks blocks before it, and the model that is kept on "
                    "the newest ones"),
      config::field("past_blocks", c.past_blocks,
                    "Blocks before the first that is measured on; each is as long as a fold")
          .within(1, 1'000),
  };
}

// What became of it; for run.json, the report and the command line.
struct WalkForwardResult {
  using Metrics = std::vector<std::pair<std::string, double>>;
  struct Fold {
    std::int64_t number = 0;      // from 1, the oldest; 0: it is not known
    std::int64_t trained_on = 0;  // rows
    std::int64_t purged = 0;      // rows that were left out, because they overlap what is measured on
    std::int64_t rows = 0;        // measured on
    std::string from = {};        // times of the first and the last of them, where there are times
    std::string until = {};
    Metrics metrics = {};

    // For people: what its number is, or where it stands among those that are measured.
    std::int64_t number_at(std::size_t place) const {
      return number > 0 ? number : static_cast<std::int64_t>(place) + 1;
    }
  };
  std::vector<Fold> folds;  // those that are measured, from the oldest to the newest
  std::int64_t rows = 0;    // of all folds together
  Metrics metrics = {};
  // Forecasts that need no model, on the same rows: "the last value" and its metrics.
  std::vector<std::pair<std::string, Metrics>> baselines = {};
  std::optional<SkillVerdict> verdict = {};    // on all folds together
  std::optional<UntestedSkill> untested = {};  // in place of a verdict
  std::vector<Caution> cautions = {};          // what not to rely on
};

}  // namespace stoker
