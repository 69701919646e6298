#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "engine/engine.h"

// One epoch, and every form in which it is written and read: what is new about an epoch is told here alone.
namespace stoker {

// What is known of one epoch when it is over.
struct EpochReport {
  EpochRecord record;
  double learning_rate = 0;
  double seconds = 0;  // of this epoch
  double rows_per_second = 0;
  std::uint64_t memory_bytes = 0;  // of the process when the epoch was over; 0: not known
};

// As people count.
inline std::int64_t epoch_number(const EpochReport& epoch) {
  return epoch.record.epoch + 1;
}

// Whole, every number bit for bit. Checkpoints count epochs from 0, reports from 1; reading takes null for a
// number that is none, as reports of earlier versions have it.
nlohmann::json epoch_to_json(const EpochReport& epoch, std::int64_t first);
EpochReport epoch_from_json(const nlohmann::json& json, std::int64_t first);

// What events.jsonl tells.
nlohmann::json epoch_event(const EpochReport& epoch);

// metrics.csv: its first line, and a line for an epoch of a card.
inline constexpr std::string_view epoch_columns =
    "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second,gradient_norm,memory_bytes";
// As earlier versions wrote it, whose lines end there too.
inline constexpr std::string_view earlier_epoch_columns =
    "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second";
std::string epoch_line(const std::string& card, const EpochReport& epoch);
// Refuses what is none. A number that is empty or too large is NaN.
std::pair<std::string, EpochReport> epoch_from_line(std::string_view line);

// JSON has no name for what is not finite, and a loss can be that.
nlohmann::json number_to_json(double value);
double number_from_json(const nlohmann::json& value);

}  // namespace stoker
