#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "pipeline/training/prepared_trainings.h"
#include "sweep/candidates.h"
#include "sweep/results.h"
#include "sweep/rungs.h"
#include "sweep/trials.h"
#include "train/choose/chosen_batches.h"
#include "train/group/many.h"
#include "train/group/warnings_once.h"

namespace stoker {

// Trains the candidates of a sweep, rung by rung.
class Search {
 public:
  Search(const SweepDocument& sweep, std::filesystem::path checkpoints, const std::filesystem::path& cache,
         int threads, Results& results, Notes notes, const StopSignal& stop);

  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::int64_t trainings() const;  // of all rungs
  // Called with every training that has ended, one at a time.
  std::function<void(const Training&)> on_result = [](const Training&) {};

  // Until all are trained or the time is up.
  void run();
  // How all candidates did, by number.
  std::vector<Trial> trials() const;
  void tell_of_folds() { prepared_.tell_of_folds(); }
  bool is_last(std::int64_t rung) const { return rung + 1 == static_cast<std::int64_t>(rungs_.size()); }
  bool budget_reached() const { return budget_reached_; }
  // Of the first candidate that failed.
  ExitCode first_failure() const { return first_failure_; }

 private:
  std::vector<Training> trainings_of(std::int64_t rung) const;  // that are to be done
  void run_rung(const std::vector<Training>& trainings);
  void run_on_threads(const std::vector<Training>& trainings);
  void run_side_by_side(const std::vector<Training>& trainings);
  void run_alone(const Training& training);
  void run_prepared(const Training& training, const PreparedTraining& prepared);
  void run_solved(Training training, const PreparedTraining& prepared);
  // Those that train side by side, each at the same place of the three lists.
  struct Group {
    std::vector<Training> trainings;
    std::vector<PreparedTraining> prepared;
    std::vector<Member> members;
  };
  void run_group(const Group& group);
  static std::vector<std::vector<EngineRequest>> shapes_to_come(const std::map<std::string, Group>& groups);
  // None where the candidate is at fault, which is written down.
  std::optional<PreparedTraining> prepare(const Training& training);
  std::optional<Member> member_for(const Training& training, const PreparedTraining& prepared);
  std::filesystem::path checkpoints_of(std::size_t trial, std::int64_t fold) const;
  void prune(std::int64_t rung);
  void keep_trained(Training training, const PreparedTraining& prepared, const Member& member,
                    const MemberResult& trained);
  void keep_failure(const Training& training, const Error& error);
  void keep(const Training& training);
  std::int64_t folds() const { return std::max<std::int64_t>(1, sweep_.config.folds); }
  bool time_is_up();

  const SweepDocument& sweep_;
  std::filesystem::path checkpoints_;
  int threads_;
  Results& results_;
  Notes notes_;
  WarningsOnce warnings_;
  WarningsListener listener_;  // to all candidates
  StopSignal stop_;            // the caller's, and for all to stop when one cannot go on
  PreparedTrainings prepared_;
  ChosenBatches batches_;
  std::vector<Candidate> candidates_;
  std::vector<Rung> rungs_;
  std::vector<std::size_t> alive_;         // candidates that have not been given up
  std::vector<std::int64_t> given_up_in_;  // rung, by candidate; -1: not given up
  std::mutex mutex_;                       // of results_ and first_failure_
  std::atomic<bool> budget_reached_ = false;
  ExitCode first_failure_ = ExitCode::done;
};

}  // namespace stoker
