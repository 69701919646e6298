#include "data/table/whole_times.h"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/type.h>

#include "data/memory/arrow_result.h"

namespace stoker {

std::int64_t parts_of_second(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1'000;
    case arrow::TimeUnit::MICRO:
      return 1'000'000;
    default:
      return 1'000'000'000;
  }
}

std::optional<WholeTimes> whole_times(const std::shared_ptr<arrow::ChunkedArray>& column) {
  const arrow::DataType& type = *column->type();
  if (type.id() != arrow::Type::TIMESTAMP && type.id() != arrow::Type::INT64) return std::nullopt;
  WholeTimes times;
  if (type.id() == arrow::Type::TIMESTAMP)
    times.in_a_second = parts_of_second(static_cast<const arrow::TimestampType&>(type).unit());
  const auto cast =
      or_fail(arrow::compute::Cast(arrow::Datum(column), arrow::int64()), "reading times").chunked_array();
  times.values.reserve(static_cast<std::size_t>(column->length()));
  for (const auto& chunk : cast->chunks()) {
    const auto* values = static_cast<const arrow::Int64Array&>(*chunk).raw_values();
    times.values.insert(times.values.end(), values, values + chunk->length());
  }
  return times;
}

}  // namespace stoker
