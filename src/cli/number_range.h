#pragma once

#include <cmath>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"

namespace stoker::cli {

// For numeric options: the range is part of the help, and neither NaN nor a number outside is accepted.
// CLI::Range accepts NaN.
template <class Number>
CLI::Validator in_range(Number low, Number high) {
  const std::string range = fmt::format("{} to {}", low, high);
  const auto problem = [low, high, range](const std::string& text) -> std::string {
    constexpr bool is_integer = std::is_integral_v<Number>;
    Number value{};
    bool is_inside = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    // The cast makes a large number of a negative one.
    if constexpr (std::is_unsigned_v<Number>) is_inside = is_inside && !text.starts_with('-');
    if constexpr (!is_integer) is_inside = is_inside && std::isfinite(value);
    if (is_inside) return "";
    return fmt::format("'{}' is not {} from {}", printable(text), is_integer ? "an integer" : "a number",
                       range);
  };
  return CLI::Validator(problem, range);
}

}  // namespace stoker::cli
