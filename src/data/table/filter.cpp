#include "data/table/filter.h"

#include <array>
#include <cmath>
#include <utility>

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/trimmed.h"
#include "data/table/column_values.h"

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

// What may stand behind a column's name in place of a sign and a number; the longer one first.
constexpr std::array<std::pair<std::string_view, Kind>, 2> endings_of_conditions{
    {{" is not null", Kind::present}, {" is null", Kind::missing}}};

// What is read as a number may also be none (NaN), which counts as missing.
void keep_compared(const arrow::ChunkedArray& values, const Condition& condition,
                   std::vector<std::uint8_t>& holds) {
  std::size_t row = 0;
  each_block(values, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      if (!condition.holds_for(number)) holds[row] = 0;
      ++row;
    }
  });
}

void keep_by_presence(const arrow::ChunkedArray& values, bool wants_missing,
                      std::vector<std::uint8_t>& holds) {
  std::size_t row = 0;
  for (const auto& chunk : values.chunks())
    for (std::int64_t i = 0; i < chunk->length(); ++i, ++row)
      if (chunk->IsNull(i) != wants_missing) holds[row] = 0;
}

}  // namespace

bool Condition::holds_for(double value) const {
  if (std::isnan(value)) return kind == Kind::missing;
  switch (kind) {
    case Kind::missing:
      return false;
    case Kind::present:
      return true;
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
  const std::string_view condition = trimmed(text);
  const std::string lower = lower_case(condition);
  for (const auto& [ending, kind] : endings_of_conditions) {
    if (!lower.ends_with(ending)) continue;
    const auto column = trimmed(condition.substr(0, condition.size() - ending.size()));
    if (!column.empty()) return {std::string(column), kind, 0};
  }
  for (const auto& [sign, kind] : signs_of_conditions) {
    const std::size_t at = text.rfind(sign);
    if (at == std::string_view::npos) continue;
    const std::string_view column = trimmed(text.substr(0, at));
    const auto number = number_in(text.substr(at + sign.size()));
    if (column.empty() || !number || !std::isfinite(*number)) break;
    return {std::string(column), kind, *number};
  }
  refuse(
      "'{}' is no condition: it should be a column, one of >= > <= < = != and a number, for example snr_db "
      ">= 10, or a column and 'is not null' or 'is null'",
      shortened(text));
}

Table rows_with(const Table& table, const std::vector<Condition>& conditions) {
  std::vector<std::uint8_t> holds(static_cast<std::size_t>(table.rows()), 1);
  for (const Condition& condition : conditions) {
    const auto values = table.column(condition.column);
    const bool are_numbers = is_numeric(kind_of(*values->type()));
    if (condition.compares() && !are_numbers)
      refuse("column '{}' holds no numbers, which a condition could compare", condition.column);
    if (are_numbers) {
      keep_compared(*values, condition, holds);
    } else {
      keep_by_presence(*values, condition.kind == Kind::missing, holds);
    }
  }
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < holds.size(); ++row)
    if (holds[row] != 0) rows.push_back(static_cast<std::int64_t>(row));
  return rows.size() == holds.size() ? table : take_rows(table, std::move(rows));
}

}  // namespace stoker
