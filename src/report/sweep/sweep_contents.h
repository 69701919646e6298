#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// Everything that the pictures and the report of a sweep are made from, read from sweep.json and checked.
struct SweepContents {
  struct Trial {
    std::int64_t number = 0;
    std::string status;
    std::string reason;
    std::optional<double> score;
    double spread = 0;
    std::int64_t epochs = 0;
    double seconds = 0;
    std::vector<std::string> values;  // one per setting, as people write them
  };
  struct Curve {
    std::int64_t trial = 0;
    std::vector<double> epochs;
    std::vector<double> losses;  // on validation rows
  };
  // What is drawn of one searched setting: where each trial with a score stands.
  struct Setting {
    std::string name;
    std::vector<std::string> labels;  // of values that are no numbers; x counts them
    bool wants_log_axis = false;      // its values span decades
    bool is_drawn_by_logarithm = false;
    std::vector<double> x;  // by trial
  };

  std::string name;
  std::string strategy;
  std::string metric;
  bool higher_is_better = false;
  std::int64_t folds = 0;
  bool time_budget_reached = false;
  std::vector<Setting> settings;
  std::vector<Trial> trials;
  std::vector<Curve> curves;  // of the best, the best first
  std::int64_t winner = 0;    // number of the trial; 0: none
  std::string winner_run;     // empty: it was not refitted
  std::string final_run;      // in which it was trained on all rows; empty: it was not

  const Trial* winning() const;
  // Positions in trials, the best first, those without a score last.
  std::vector<std::size_t> ranking() const;
};

bool has_sweep_contents(const std::filesystem::path& folder);
SweepContents read_sweep_contents(const std::filesystem::path& folder);

}  // namespace stoker
