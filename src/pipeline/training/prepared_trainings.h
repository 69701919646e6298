#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/notes.h"
#include "base/process/stop.h"
#include "pipeline/cache/kept.h"
#include "pipeline/document/sweep_document.h"
#include "pipeline/run/outputs_on_demand.h"
#include "train/choose/decide_relative.h"
#include "train/fit/fit_network.h"
#include "train/loop/metric_stopping.h"

namespace stoker {

// Rows of one fold, prepared and placed; shared by all trainings that want the same.
struct PreparedRows {
  Table training;
  Table validation;
  TaskChoice task = TaskChoice::automatic;  // settled: never auto
  PreparedData data;                        // of networks; on the host
  Dataset placed_training;
  Dataset placed_validation;

  std::uint64_t bytes() const;
};

// All that a card's training on one fold needs.
struct PreparedTraining {
  ModelSpec spec;
  cards::TrainSettings settings;
  Device device;
  std::shared_ptr<const PreparedRows> rows;
  std::optional<MetricStopping> stopping = std::nullopt;  // where the validation loss does not decide
  bool keeps_best = false;  // of its weights by validation, as the winner's training will
};

// Prepares the trainings of the candidates of a sweep: tables are loaded and split once for documents that
// share the settings of those cards, preparations fitted once per preparation and fold. What is not used any
// more is forgotten when it takes too much memory, and made again if it is wanted after all. Usable from
// several threads.
class PreparedTrainings {
 public:
  // `cache` is the folder of the cache, for rows of sources that say when they are to be read again.
  // `decisions` is a folder for what short trainings decide, so that a resumed sweep has the same.
  PreparedTrainings(const SweepDocument& sweep, const std::filesystem::path& cache,
                    std::filesystem::path decisions, Notes notes, const StopSignal& stop);

  // Reads the rows to train on, which all candidates share: what goes wrong there is no candidate's fault.
  void load();
  // Refuses a candidate whose settings contradict each other or do not fit the data or the machine.
  PreparedTraining prepare(const Document& candidate, std::int64_t fold);
  Device device();
  // What only some folds met, each once and with their number. What all rows have in common is told as soon
  // as it is known.
  void tell_of_folds();
  // Of all that the rows to train on are read from.
  std::string data_fingerprint();

 private:
  // Decides `relative_to: auto` as a run of the candidate alone does: once for all folds, and with `lock`
  // open meanwhile, so that other candidates can be prepared.
  void settle_relative_to(PreparedTraining& training, const Table& table, const std::string& identity,
                          std::unique_lock<std::mutex>& lock);
  // As decided already, also by a thread that is still at it. What the machine fails at is tried again.
  DecidedPreparation decision_for(const PreparedTraining& training, const Table& table,
                                  const std::string& key, std::unique_lock<std::mutex>& lock);
  std::shared_ptr<const PreparedRows> rows_for(const PreparedTraining& training, const Table& table,
                                               const std::string& rows_key, std::int64_t fold);
  PreparedRows make_rows(const PreparedTraining& training, const Table& table, std::int64_t fold);
  void settle_features(PreparedTraining& training, const Table& table, const std::string& key);
  // A metric that cannot be computed must not come to light only after a training.
  void check_ranked_classes(const PreparedTraining& training, const Table& table, const std::string& key);
  void check_tests(const Document& document, const PreparedTraining& training, const Table& table,
                   const std::string& identity);
  std::uint64_t memory();

  const SweepDocument& sweep_;
  std::filesystem::path decisions_;
  const StopSignal& stop_;
  std::set<std::string> said_;
  std::map<std::string, std::set<std::int64_t>> warnings_of_folds_;
  Notes notes_;
  std::mutex mutex_;
  std::optional<Device> device_;
  std::optional<std::uint64_t> memory_;  // of the device or the host, whichever has less
  OutputsOnDemand outputs_;
  Kept<PreparedRows> prepared_;
  std::set<std::string> checked_tests_;
  std::set<std::string> checked_classes_;
  std::map<std::string, std::vector<std::string>> features_;                   // that were chosen for tables
  std::map<std::string, std::shared_future<DecidedPreparation>> relative_to_;  // by training and table
};

}  // namespace stoker
