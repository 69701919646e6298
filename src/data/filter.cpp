#include "data/filter.h"

#include <array>
#include <cmath>
#include <utility>

#include <arrow/chunked_array.h>

#include "base/error.h"
#include "base/text.h"
#include "data/column_values.h"

namespace stoker {
namespace {

using Kind = Condition::Kind;

// Longer ones first: ">" stands in ">=" as well.
constexpr std::array<std::pair<std::string_view, Kind>, 7> signs_of_conditions{{{">=", Kind::at_least},
                                                                                {"<=", Kind::at_most},
                                                                                {"!=", Kind::unequal},
                                                                                {"==", Kind::equal},
                                                                                {">", Kind::above},
                                                                                {"<", Kind::below},
                                                                                {"=", Kind::equal}}};

std::string_view without_blanks_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool Condition::holds_for(double value) const {
  if (std::isnan(value)) return false;
  switch (kind) {
    case Kind::at_least:
      return value >= number;
    case Kind::above:
      return value > number;
    case Kind::at_most:
      return value <= number;
    case Kind::below:
      return value < number;
    case Kind::equal:
      return value == number;
    case Kind::unequal:
      return value != number;
  }
  return false;
}

Condition condition_from(std::string_view text) {
  for (const auto& [sign, kind] : signs_of_conditions) {
    const std::size_t at = text.rfind(sign);
    if (at == std::string_view::npos) continue;
    const std::string_view column = without_blanks_around(text.substr(0, at));
    const auto number = number_in(text.substr(at + sign.size()));
    if (column.empty() || !number || !std::isfinite(*number)) break;
    return {std::string(column), kind, *number};
  }
  refuse(
      "'{}' is no condition: it should be a column, one of >= > <= < = != and a number, for example snr_db "
      ">= 10",
      shortened(text));
}

Table rows_with(const Table& table, const std::vector<Condition>& conditions) {
  std::vector<std::uint8_t> holds(static_cast<std::size_t>(table.rows()), 1);
  for (const Condition& condition : conditions) {
    const auto values = table.column(condition.column);
    if (!is_numeric(kind_of(*values->type())))
      refuse("column '{}' holds no numbers, which a condition could compare", condition.column);
    std::size_t row = 0;
    each_block(*values, [&](std::span<const double> numbers) {
      for (const double number : numbers) {
        if (!condition.holds_for(number)) holds[row] = 0;
        ++row;
      }
    });
  }
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < holds.size(); ++row)
    if (holds[row] != 0) rows.push_back(static_cast<std::int64_t>(row));
  return rows.size() == holds.size() ? table : take_rows(table, std::move(rows));
}

}  // namespace stoker
