#include <algorithm>
#include <memory>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"
#include "data/table/table.h"
#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::int64_t preview_rows = 100;

std::string value_text(const arrow::Scalar& value) {
  if (!value.is_valid) return "";
  if (value.type->id() == arrow::Type::DOUBLE) {
    return number_text(static_cast<const arrow::DoubleScalar&>(value).value);
  }
  if (value.type->id() == arrow::Type::DICTIONARY) {
    const auto decoded = static_cast<const arrow::DictionaryScalar&>(value).GetEncodedValue();
    return decoded.ok() ? value_text(**decoded) : "";
  }
  return shortened(value.ToString());
}

}  // namespace

std::string shown_value(const arrow::ChunkedArray& column, std::int64_t row) {
  return value_text(*or_fail(column.GetScalar(row), "reading a value"));
}

Preview preview(const Table& table) {
  constexpr std::int64_t values_worth_a_thread = std::int64_t{1} << 20;
  const int count = table.columns->num_columns();
  const std::int64_t worth = table.rows() * count / values_worth_a_thread;
  Preview result;
  result.rows = table.rows();
  if (table.cubes) result.cubes = std::make_shared<const CubesLook>(look_at(table));
  const auto shown = static_cast<std::size_t>(std::min(result.rows, preview_rows));
  result.first_rows.assign(shown, std::vector<std::string>(static_cast<std::size_t>(count)));
  result.columns.resize(static_cast<std::size_t>(count));
  share_among_threads(count, static_cast<int>(std::clamp<std::int64_t>(worth, 1, cores_to_share())),
                      [&](std::int64_t c) {
                        const auto at = static_cast<std::size_t>(c);
                        const auto column = table.columns->column(static_cast<int>(c));
                        result.columns[at] = {table.columns->field(static_cast<int>(c))->name(),
                                              column->type()->ToString(), count_missing(*column)};
                        for (std::size_t row = 0; row < shown; ++row)
                          result.first_rows[row][at] = shown_value(*column, static_cast<std::int64_t>(row));
                      });
  return result;
}

}  // namespace stoker
