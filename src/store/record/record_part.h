#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {

// One object of a record. Every getter takes what is missing as the default and refuses what is not of its
// kind, by the name of the file and the place in it.
class RecordPart {
 public:
  static constexpr std::size_t longest_list = 10'000;  // cards, trainings, results, warnings
  static constexpr std::size_t longest_text = 1U << 16;

  using Place = std::function<std::string()>;  // asked only where something is refused

  RecordPart(const nlohmann::json& value, Place place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) refuse("{}: expected an object, found {}", place_(), value.type_name());
  }

  std::string text(const char* key) const {
    const nlohmann::json* found = find(key);
    return found == nullptr ? "" : text_of(*found, [&] { return place_of(key); });
  }

  bool flag(const char* key) const {
    const nlohmann::json* found = find(key);
    if (found == nullptr) return false;
    if (!found->is_boolean()) refuse_kind(key, "true or false", *found);
    return found->get<bool>();
  }

  std::int64_t whole(const char* key, std::int64_t lowest, std::int64_t otherwise) const {
    const nlohmann::json* found = find(key);
    if (found == nullptr) return otherwise;
    if (!found->is_number_integer()) refuse_kind(key, "a whole number", *found);
    const bool too_large =
        found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    if (too_large || found->get<std::int64_t>() < lowest)
      refuse("{}: {} is out of range", place_of(key), found->dump());
    return found->get<std::int64_t>();
  }

  double seconds(const char* key) const {
    const nlohmann::json* found = find(key);
    if (found == nullptr) return 0;
    if (!found->is_number()) refuse_kind(key, "a number", *found);
    const double value = found->get<double>();
    if (!std::isfinite(value) || value < 0) refuse("{}: {} is not a duration", place_of(key), value);
    return value;
  }

  // JSON has no word for numbers that are not finite; they are written as null.
  double number(const char* key) const {
    const nlohmann::json* found = find(key);
    if (found == nullptr) return std::numeric_limits<double>::quiet_NaN();
    if (!found->is_number()) refuse_kind(key, "a number", *found);
    return found->get<double>();
  }

  template <class Read>
  void each(const char* key, Read read) const {
    const nlohmann::json* list = find(key);
    if (list == nullptr) return;
    if (!list->is_array()) refuse_kind(key, "a list", *list);
    if (list->size() > longest_list)
      refuse("{}: {} entries, more than the maximum of {}", place_of(key), list->size(), longest_list);
    for (std::size_t i = 0; i < list->size(); ++i)
      read((*list)[i], [&] { return fmt::format("{}[{}]", place_of(key), i); });
  }

  bool has(const char* key) const { return find(key) != nullptr; }
  const nlohmann::json& at(const char* key) const { return *find(key); }
  std::string place_of(const char* key) const { return fmt::format("{}: {}", place_(), key); }

  static double number_of(const nlohmann::json& value, const Place& place) {
    if (!value.is_number()) refuse("{}: expected a number, found {}", place(), value.type_name());
    return value.get<double>();
  }

  static std::string text_of(const nlohmann::json& value, const Place& place) {
    if (!value.is_string()) refuse("{}: expected text, found {}", place(), value.type_name());
    const std::string& text = value.get_ref<const std::string&>();
    if (text.size() > longest_text)
      refuse("{}: text of {} bytes, more than the maximum of {}", place(), text.size(), longest_text);
    return text;
  }

 private:
  const nlohmann::json* find(const char* key) const {
    const auto found = value_.find(key);
    return found == value_.end() || found->is_null() ? nullptr : &*found;
  }
  [[noreturn]] void refuse_kind(const char* key, const char* needed, const nlohmann::json& found) const {
    refuse("{}: expected {}, found {}", place_of(key), needed, found.type_name());
  }

  const nlohmann::json& value_;
  Place place_;
};

}  // namespace stoker
