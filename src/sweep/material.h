#pragma once

#include <cstdint>
#include <list>
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
#include "train/fit_network.h"

namespace stoker {

// Rows of one fold, prepared and placed; shared by all candidates that want the same.
struct PreparedRows {
  Table training;
  Table validation;
  PreparationConfig settings;
  PreparedData data;  // of networks; on the host
  Dataset placed_training;
  Dataset placed_validation;
};

// All that the training of one candidate on one fold needs.
struct Work {
  ModelSpec spec;
  cards::TrainSettings settings;
  Device device;
  std::shared_ptr<const PreparedRows> rows;
};

// Makes the data of a sweep: tables are loaded and split once for candidates that share the settings of those
// cards, preparations fitted once per preparation and fold. Usable from several threads.
class Material {
 public:
  Material(const SweepDocument& sweep, Notes notes, const StopSignal& stop);

  // Refuses a candidate whose settings contradict each other or do not fit the data.
  Work work_for(const Candidate& candidate, std::int64_t fold);
  Device device();
  // Of all that the rows to train on are read from.
  std::string data_fingerprint();

 private:
  struct Output {
    std::string identity;
    PortValues values;
  };

  const Output& output_of(const Document& document, const std::string& card);
  const Outside& outside_of(const Card& card, const CardType& type, const std::filesystem::path& folder);
  std::shared_ptr<const PreparedRows> rows_for(const Work& work, const Table& table,
                                               const std::string& rows_key, std::int64_t fold);
  // A metric that cannot be computed must not come to light only after a training.
  void check_ranked_classes(const Work& work, const Table& table, const std::string& key);
  void check_tests(const Document& document, const Work& work, const Table& training,
                   const std::string& identity);
  PreparedRows made_rows(const Work& work, const Table& table, std::int64_t fold);

  const SweepDocument& sweep_;
  Notes notes_;
  const StopSignal& stop_;
  std::mutex mutex_;
  std::optional<Device> device_;
  std::map<std::string, Outside> outsides_;
  std::map<std::string, Output> outputs_;
  std::list<std::pair<std::string, std::shared_ptr<const PreparedRows>>> prepared_;  // newest first
  std::set<std::string> checked_tests_;
  std::set<std::string> checked_classes_;
  std::set<std::string> said_;
};

}  // namespace stoker
