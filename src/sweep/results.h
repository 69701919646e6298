#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/files/files.h"
#include "train/group/many.h"

namespace stoker {

// One training of a sweep, a candidate on a fold up to the end of a rung, and what became of it.
struct Training {
  std::size_t trial = 0;
  std::int64_t fold = 0;
  std::int64_t rung = 0;
  MemberEnd end = MemberEnd::finished;
  std::string reason;     // of diverged and failed
  bool complete = false;  // no more epochs to train
  std::optional<double> score;
  std::int64_t epochs = 0;
  double seconds = 0;  // trained, over all rungs
  std::string engine;
  // Losses by epoch, counted from 1; at most about 200 of them.
  std::vector<std::int64_t> curve_epochs;
  std::vector<double> training;
  std::vector<double> validation;

  // By the sweep's time budget: it is trained again when there is more time.
  bool was_cut_short() const { return end == MemberEnd::time_limit && !complete; }
  bool has_scored() const { return score.has_value(); }
};

using RefittedIn = std::pair<std::size_t, std::filesystem::path>;

// results.jsonl of a sweep folder: a line per training that has ended, so that a sweep that is killed loses
// only what was going on.
class Results {
 public:
  // Goes on with the lines that are there; passes over one that was cut short.
  // Refuses those of another sweep: `identity` stands for all that the candidates and their scores depend on.
  Results(const std::filesystem::path& path, const std::string& identity);

  // Refuses results of other data.
  void belong_to(const std::string& data);
  void add(const Training& result);
  // A sitting has searched so long.
  void add_searched(double seconds);
  double searched_seconds() const { return searched_seconds_; }
  void add_winner(std::size_t trial, const std::filesystem::path& run);
  void add_final_run(std::size_t trial, const std::filesystem::path& run);

  // The newest at this rung or before; null when there is none.
  const Training* find(std::size_t trial, std::int64_t fold, std::int64_t rung) const;
  // Whether there is nothing left to train for it until the end of this rung.
  bool has(std::size_t trial, std::int64_t fold, std::int64_t rung) const;
  std::int64_t count() const;  // of trainings that were not cut short
  // The run that the winner was last refitted in, and the winner.
  const std::optional<RefittedIn>& winner() const { return winner_; }
  // The same of the run in which it was last trained on all rows.
  const std::optional<RefittedIn>& final_run() const { return final_run_; }

 private:
  void read_line(const std::string& line);
  void append(const nlohmann::json& line);

  std::map<std::pair<std::size_t, std::int64_t>, std::map<std::int64_t, Training>> results_;
  std::optional<RefittedIn> winner_;
  std::optional<RefittedIn> final_run_;
  double searched_seconds_ = 0;
  std::string identity_;  // as the file says it
  std::string data_;      // so too
  std::string path_;
  std::optional<AppendedFile> file_;
  bool was_cut_short_ = false;  // the last line of the file
};

}  // namespace stoker
