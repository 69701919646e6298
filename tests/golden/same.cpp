#include "golden/same.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "model/safetensors.h"

namespace stoker::test {
namespace {

using nlohmann::json;

bool are_close(double a, double b, double share) {
  return a == b || std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b));
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_same_cell(const std::string& expected, const std::string& found, double most_apart) {
  if (expected == found) return true;
  const std::optional<double> a = number_in(expected);
  const std::optional<double> b = number_in(found);
  return a && b && std::abs(*a - *b) <= most_apart;
}

// A sum of large parts that comes out near 0 is no more exact than its parts.
std::vector<double> largest_of_columns(const std::vector<std::string>& rows) {
  std::vector<double> largest;
  for (const std::string& row : rows) {
    const std::vector<std::string> cells = split_text(row, ',');
    largest.resize(std::max(largest.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i)
      largest[i] = std::max(largest[i], std::abs(number_in(cells[i]).value_or(0)));
  }
  return largest;
}

std::string difference_of_arrays(const NamedArray& expected, const NamedArray& found) {
  if (expected.name != found.name || expected.array.shape() != found.array.shape() ||
      expected.array.type() != found.array.type())
    return fmt::format("{} is not {}", found.name, expected.name);
  if (std::memcmp(expected.array.data(), found.array.data(), expected.array.bytes()) == 0) return "";
  if (expected.array.type() != DType::float32) return expected.name + " has other bits";
  const auto a = expected.array.as<float>();
  const auto b = found.array.as<float>();
  float furthest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) furthest = std::max(furthest, std::abs(a[i] - b[i]));
  return fmt::format("{} has other bits: values are up to {} apart", expected.name, furthest);
}

}  // namespace

std::string difference(const json& expected, const json& found, double share) {
  if (expected.is_number() && found.is_number())
    return are_close(expected.get<double>(), found.get<double>(), share)
               ? ""
               : fmt::format(": {} and not {}", found.dump(), expected.dump());
  if (expected.type() != found.type())
    return fmt::format(": {} and not {}", found.dump().substr(0, 200), expected.dump().substr(0, 200));
  if (expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (!found.contains(key)) return fmt::format(".{}: missing", key);
      const std::string inner = difference(value, found.at(key), share);
      if (!inner.empty()) return fmt::format(".{}{}", key, inner);
    }
    return "";
  }
  if (expected.is_array()) {
    if (expected.size() != found.size())
      return fmt::format(": {} entries and not {}", found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string inner = difference(expected[i], found[i], share);
      if (!inner.empty()) return fmt::format("[{}]{}", i, inner);
    }
    return "";
  }
  return expected == found ? "" : fmt::format(": {} and not {}", found.dump(), expected.dump());
}

std::string difference_of_tables(const std::string& expected, const std::string& found, double share) {
  const std::vector<std::string> expected_rows = split_text(expected, '\n');
  const std::vector<std::string> found_rows = split_text(found, '\n');
  if (expected_rows.size() != found_rows.size())
    return fmt::format("{} lines and not {}", found_rows.size(), expected_rows.size());
  const std::vector<double> largest = largest_of_columns(expected_rows);
  for (std::size_t row = 0; row < expected_rows.size(); ++row) {
    const std::vector<std::string> a = split_text(expected_rows[row], ',');
    const std::vector<std::string> b = split_text(found_rows[row], ',');
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i) same = is_same_cell(a[i], b[i], share * largest[i]);
    if (!same) return fmt::format("line {}: '{}' and not '{}'", row + 1, found_rows[row], expected_rows[row]);
  }
  return "";
}

std::string difference_of_weights(const std::filesystem::path& expected, const std::filesystem::path& found) {
  const NamedArrays a = read_safetensors(expected);
  const NamedArrays b = read_safetensors(found);
  if (a.size() != b.size()) return fmt::format("{} arrays and not {}", b.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string inner = difference_of_arrays(a[i], b[i]);
    if (!inner.empty()) return inner;
  }
  return "";
}

}  // namespace stoker::test
