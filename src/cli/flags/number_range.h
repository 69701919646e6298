#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker::cli {

// For numeric options: the range is part of the help, and neither NaN nor a number outside is accepted.
// CLI::Range accepts NaN.
template <class Number>
CLI::Validator in_range(Number low, Number high) {
  const std::string range = fmt::format("{} to {}", low, high);
  const auto problem = [low, high, range](const std::string& text) -> std::string {
    constexpr bool is_integer = std::is_integral_v<Number>;
    Number value{};
    bool is_number = false;
    if constexpr (is_integer) {
      // CLI11 takes the nearest integer for one that has no room.
      const char* const end = text.data() + text.size();
      const auto [read_to, problem_of_text] = std::from_chars(text.data(), end, value);
      is_number = problem_of_text == std::errc() && read_to == end;
    } else {
      is_number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
    }
    const bool is_inside = is_number && value >= low && value <= high;
    if (is_inside) return "";
    return fmt::format("'{}' is not {} from {}", printable(text), is_integer ? "an integer" : "a number",
                       range);
  };
  return CLI::Validator(problem, range);
}

}  // namespace stoker::cli
