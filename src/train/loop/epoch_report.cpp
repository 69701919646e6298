#include "train/loop/epoch_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t most_shown = 40;  // characters of a value that is refused

// Quotes around a field allow commas in it, doubled quotes mean one.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

double number_in(const std::string& text) {
  if (text.empty()) return not_a_number;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) return not_a_number;
  if (error != std::errc() || stopped != end) refuse("'{}' is not a number", text.substr(0, most_shown));
  return value;
}

std::int64_t epoch_in(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value < 1)
    refuse("'{}' is not an epoch", text.substr(0, most_shown));
  return value;
}

std::uint64_t bytes_in(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) refuse("'{}' is not a size", text.substr(0, most_shown));
  return value;
}

std::size_t fields_in(std::string_view columns) {
  return static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',') + 1);
}

}  // namespace

json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double number_from_json(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "nan") return not_a_number;
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  refuse("'{}' is not a number", text.substr(0, most_shown));
}

json epoch_to_json(const EpochReport& epoch, std::int64_t first) {
  const auto& validation = epoch.record.validation_loss;
  json written{{"epoch", epoch.record.epoch + first},
               {"train_loss", number_to_json(epoch.record.train_loss)},
               {"validation_loss", validation ? number_to_json(*validation) : json(nullptr)},
               {"is_best", epoch.record.is_best},
               {"learning_rate", number_to_json(epoch.learning_rate)},
               {"seconds", number_to_json(epoch.seconds)},
               {"rows_per_second", number_to_json(epoch.rows_per_second)}};
  if (epoch.record.gradient_norm) written["gradient_norm"] = number_to_json(*epoch.record.gradient_norm);
  if (epoch.memory_bytes > 0) written["memory_bytes"] = epoch.memory_bytes;
  for (const NamedValue& each : epoch.record.values)
    written["values"].push_back({each.name, number_to_json(each.value)});
  return written;
}

EpochReport epoch_from_json(const json& value, std::int64_t first) {
  const auto number = [&](const char* name) {
    return value.at(name).is_null() ? not_a_number : number_from_json(value.at(name));
  };
  EpochReport epoch;
  const auto number_of_epoch = value.at("epoch").get<std::int64_t>();
  if (number_of_epoch < first) refuse("'{}' is not an epoch", number_of_epoch);
  epoch.record.epoch = number_of_epoch - first;
  epoch.record.train_loss = number("train_loss");
  if (!value.at("validation_loss").is_null()) epoch.record.validation_loss = number("validation_loss");
  epoch.record.is_best = value.at("is_best").get<bool>();
  epoch.learning_rate = number("learning_rate");
  epoch.seconds = number("seconds");
  epoch.rows_per_second = number("rows_per_second");
  if (value.contains("gradient_norm")) epoch.record.gradient_norm = number("gradient_norm");
  epoch.memory_bytes = value.value("memory_bytes", std::uint64_t{0});
  if (value.contains("values"))
    for (const json& each : value.at("values"))
      epoch.record.values.push_back({each.at(0).get<std::string>(), number_from_json(each.at(1))});
  return epoch;
}

json epoch_event(const EpochReport& epoch) {
  json event{{"epoch", epoch_number(epoch)},
             {"train_loss", epoch.record.train_loss},
             {"learning_rate", epoch.learning_rate},
             {"seconds", epoch.seconds}};
  if (epoch.record.validation_loss) event["validation_loss"] = *epoch.record.validation_loss;
  event["rows_per_second"] = epoch.rows_per_second;
  if (epoch.record.gradient_norm) event["gradient_norm"] = *epoch.record.gradient_norm;
  if (epoch.memory_bytes > 0) event["memory_bytes"] = epoch.memory_bytes;
  // Apart: a loss may be called `loss`, and train_loss is that of all of them.
  for (const NamedValue& each : epoch.record.values) event["values"][each.name] = each.value;
  return event;
}

std::string epoch_line(const std::string& card, const EpochReport& epoch) {
  const auto& validation = epoch.record.validation_loss;
  const auto& norm = epoch.record.gradient_norm;
  return fmt::format("{},{},{},{},{},{:.6g},{:.6g},{},{}", epoch_number(epoch), card, epoch.record.train_loss,
                     validation ? fmt::format("{}", *validation) : "", epoch.learning_rate, epoch.seconds,
                     epoch.rows_per_second, norm ? fmt::format("{}", *norm) : "",
                     epoch.memory_bytes > 0 ? fmt::format("{}", epoch.memory_bytes) : "");
}

std::pair<std::string, EpochReport> epoch_from_line(std::string_view line) {
  static const std::size_t columns = fields_in(epoch_columns);
  static const std::size_t earlier_columns = fields_in(earlier_epoch_columns);
  std::vector<std::string> fields = fields_of(line);
  if (fields.size() == earlier_columns) fields.resize(columns);
  if (fields.size() != columns) refuse("{} fields instead of {}", fields.size(), columns);
  EpochReport epoch;
  epoch.record.epoch = epoch_in(fields[0]) - 1;
  epoch.record.train_loss = number_in(fields[2]);
  if (!fields[3].empty()) epoch.record.validation_loss = number_in(fields[3]);
  epoch.learning_rate = number_in(fields[4]);
  epoch.seconds = number_in(fields[5]);
  epoch.rows_per_second = number_in(fields[6]);
  if (!fields[7].empty()) epoch.record.gradient_norm = number_in(fields[7]);
  if (!fields[8].empty()) epoch.memory_bytes = bytes_in(fields[8]);
  return {std::move(fields[1]), epoch};
}

}  // namespace stoker
