#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/notes.h"
#include "base/stop.h"
#include "pipeline/cache.h"
#include "pipeline/cards/train_settings.h"
#include "sweep/candidates.h"
#include "sweep/kept.h"
#include "train/fit_network.h"

namespace stoker {

// Rows of one fold, prepared and placed; shared by all candidates that want the same.
struct PreparedRows {
  Table training;
  Table validation;
  PreparationConfig settings;
  TaskChoice task = TaskChoice::automatic;  // settled: never auto
  PreparedData data;                        // of networks; on the host
  Dataset placed_training;
  Dataset placed_validation;

  std::uint64_t bytes() const;
};

// All that the training of one candidate on one fold needs.
struct Work {
  ModelSpec spec;
  cards::TrainSettings settings;
  Device device;
  std::shared_ptr<const PreparedRows> rows;
};

// Makes the data of a sweep: tables are loaded and split once for candidates that share the settings of those
// cards, preparations fitted once per preparation and fold. What is not used any more is forgotten when it
// takes too much memory, and made again if it is wanted after all. Usable from several threads.
class Material {
 public:
  Material(const SweepDocument& sweep, Notes notes, const StopSignal& stop);

  // Reads the rows to train on, which all candidates share: what goes wrong there is no candidate's fault.
  void load();
  // Refuses a candidate whose settings contradict each other or do not fit the data or the machine.
  Work work_for(const Candidate& candidate, std::int64_t fold);
  Device device();
  // Of all that the rows to train on are read from.
  std::string data_fingerprint();

 private:
  using Output = std::shared_ptr<const PortValues>;

  std::string identity_of(const Document& document, const std::string& card);
  std::string identity_at(const Document& document, const Connection& connection);
  Output output_of(const Document& document, const std::string& card);
  PortValue value_at(const Document& document, const Connection& connection);
  const Outside& outside_of(const Card& card, const CardType& type, const std::filesystem::path& folder);
  std::shared_ptr<const PreparedRows> rows_for(const Work& work, const Table& table,
                                               const std::string& rows_key, std::int64_t fold);
  // A metric that cannot be computed must not come to light only after a training.
  void check_ranked_classes(const Work& work, const Table& table, const std::string& key);
  void check_tests(const Document& document, const Work& work, const Table& training,
                   const std::string& identity);
  PreparedRows made_rows(const Work& work, const Table& table, std::int64_t fold);
  std::uint64_t memory();

  const SweepDocument& sweep_;
  Notes notes_;
  const StopSignal& stop_;
  std::mutex mutex_;
  std::optional<Device> device_;
  std::optional<std::uint64_t> memory_;  // of the device or the host, whichever has less
  std::map<std::string, Outside> outsides_;
  Kept<PortValues> outputs_;  // by the identity of the card
  Kept<PreparedRows> prepared_;
  std::set<std::string> checked_tests_;
  std::set<std::string> checked_classes_;
  std::set<std::string> said_;
};

}  // namespace stoker
