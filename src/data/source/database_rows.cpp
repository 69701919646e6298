#include "data/source/database_rows.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/memory/page_memory.h"
#include "device/workers.h"

namespace stoker {
namespace {

using database::Block;
using database::ColumnForm;
using database::ColumnValues;
using database::Rows;
using database::ValueType;

// Pages of the rows, which live as long as anybody reads them.
class SharedPages : public arrow::Buffer {
 public:
  explicit SharedPages(const database::Pages& pages)
      : arrow::Buffer(reinterpret_cast<const std::uint8_t*>(pages.data()),
                      static_cast<std::int64_t>(pages.size())),
        held_(pages.held()) {}

 private:
  std::shared_ptr<const void> held_;
};

std::shared_ptr<arrow::DataType> arrow_type(ValueType type) {
  switch (type) {
    case ValueType::boolean:
      return arrow::boolean();
    case ValueType::int16:
      return arrow::int16();
    case ValueType::int32:
      return arrow::int32();
    case ValueType::int64:
      return arrow::int64();
    case ValueType::float32:
      return arrow::float32();
    case ValueType::float64:
      return arrow::float64();
    case ValueType::date:
      return arrow::date32();
    case ValueType::time:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case ValueType::moment:
      return arrow::timestamp(arrow::TimeUnit::MICRO);
    case ValueType::utc_moment:
      return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    case ValueType::text:
      return arrow::utf8();
    case ValueType::nothing:
      break;
  }
  return arrow::null();
}

class TableMaker {
 public:
  TableMaker(std::shared_ptr<const Rows> rows, std::string description)
      : rows_(std::move(rows)), description_(std::move(description)) {}

  std::shared_ptr<arrow::Table> table() {
    arrow::FieldVector fields;
    arrow::ChunkedArrayVector columns;
    for (std::size_t c = 0; c < rows_->forms.size(); ++c) {
      arrow::ArrayVector chunks;
      for (const Block& block : rows_->blocks) chunks.push_back(chunk(c, block));
      const std::shared_ptr<arrow::DataType> type = chunks.front()->type();
      fields.push_back(arrow::field(rows_->forms[c].name, type));
      columns.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), type));
    }
    return arrow::Table::Make(arrow::schema(fields), columns, rows_->rows());
  }

 private:
  static std::shared_ptr<arrow::Buffer> shared(const database::Pages& pages) {
    return pages.size() == 0 ? nullptr : std::make_shared<SharedPages>(pages);
  }

  std::shared_ptr<arrow::Array> chunk(std::size_t c, const Block& block) const {
    const ColumnForm& form = rows_->forms[c];
    const ColumnValues& values = block.columns[c];
    const bool is_shapeless = form.is_array && values.shape.empty();
    if (form.type == ValueType::nothing || is_shapeless)
      return std::make_shared<arrow::NullArray>(block.rows);
    std::shared_ptr<arrow::Array> array = arrow::MakeArray(flat(form, values, block.rows));
    if (form.type == ValueType::text)
      or_refuse(array->ValidateFull(), description_, "column '" + form.name + "'");
    if (!form.is_array) return array;
    for (auto size = values.shape.rbegin(); size != values.shape.rend(); ++size)
      array = or_fail(arrow::FixedSizeListArray::FromArrays(array, static_cast<std::int32_t>(*size)),
                      "laying out arrays");
    return array;
  }

  static std::shared_ptr<arrow::ArrayData> flat(const ColumnForm& form, const ColumnValues& values,
                                                std::int64_t rows) {
    const std::int64_t count = rows * values.width;
    const std::shared_ptr<arrow::Buffer> present = shared(values.present);
    const std::shared_ptr<arrow::Buffer> own =
        form.type == ValueType::boolean ? bits(values, count) : or_empty(shared(values.values));
    if (form.type == ValueType::text)
      return arrow::ArrayData::Make(arrow::utf8(), count, {present, own, or_empty(shared(values.text))},
                                    values.missing);
    return arrow::ArrayData::Make(arrow_type(form.type), count, {present, own}, values.missing);
  }

  static std::shared_ptr<arrow::Buffer> or_empty(std::shared_ptr<arrow::Buffer> buffer) {
    return buffer != nullptr ? std::move(buffer) : std::make_shared<arrow::Buffer>("");
  }

  static std::shared_ptr<arrow::Buffer> bits(const ColumnValues& values, std::int64_t count) {
    std::shared_ptr<arrow::Buffer> packed =
        or_fail(arrow::AllocateEmptyBitmap(count, page_memory()), "packing booleans");
    for (std::int64_t i = 0; i < count; ++i)
      if (values.values.data()[i] != std::byte{0}) arrow::bit_util::SetBit(packed->mutable_data(), i);
    return packed;
  }

  std::shared_ptr<const Rows> rows_;
  std::string description_;
};

// Bits that stand `width` apart, from the one at `first` on.
std::shared_ptr<arrow::Buffer> every_bit(const arrow::Buffer& from, std::int64_t first, std::int64_t width,
                                         std::int64_t rows) {
  std::shared_ptr<arrow::Buffer> packed =
      or_fail(arrow::AllocateEmptyBitmap(rows, page_memory()), "spreading arrays");
  for (std::int64_t row = 0; row < rows; ++row)
    if (arrow::bit_util::GetBit(from.data(), first + row * width))
      arrow::bit_util::SetBit(packed->mutable_data(), row);
  return packed;
}

// Rows of `to.size()` values each into a column for each. A few rows at a time, so that they are read from
// memory once; several threads share them.
template <class Value>
void copy_to_columns(const std::uint8_t* from, std::int64_t rows,
                     const std::vector<std::shared_ptr<arrow::Buffer>>& to) {
  constexpr std::int64_t rows_in_cache = 256;
  constexpr std::int64_t values_of_a_piece = std::int64_t{1} << 18;
  const auto width = std::ssize(to);
  const std::int64_t at_a_time =
      std::max<std::int64_t>(values_of_a_piece / width / rows_in_cache, 1) * rows_in_cache;
  const auto copy = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t at = 0; at < width; ++at) {
      auto* const column = reinterpret_cast<Value*>(to[static_cast<std::size_t>(at)]->mutable_data());
      const std::uint8_t* value = from + (first * width + at) * std::int64_t{sizeof(Value)};
      for (std::int64_t row = first; row < end; ++row, value += width * std::int64_t{sizeof(Value)})
        std::memcpy(column + row, value, sizeof(Value));
    }
  };
  share_among_cores((rows + at_a_time - 1) / at_a_time, [&](std::int64_t piece) {
    const std::int64_t end = std::min((piece + 1) * at_a_time, rows);
    for (std::int64_t row = piece * at_a_time; row < end; row += rows_in_cache)
      copy(row, std::min(row + rows_in_cache, end));
  });
}

// A column for each of the `width` values that stand one behind the other in each row.
arrow::ArrayVector columns_of_rows(const arrow::Array& values, std::int64_t width) {
  const arrow::ArrayData& data = *values.data();
  const int bits = arrow::bit_width(data.type->id());
  const std::int64_t rows = values.length() / width;
  std::vector<std::shared_ptr<arrow::Buffer>> columns;
  for (std::int64_t at = 0; at < width; ++at)
    columns.push_back(
        bits == 1 ? every_bit(*data.buffers[1], data.offset + at, width, rows)
                  : or_fail(arrow::AllocateBuffer(rows * bits / 8, page_memory()), "spreading arrays"));
  const std::uint8_t* from = data.buffers[1]->data() + data.offset * bits / 8;
  if (bits == 16) copy_to_columns<std::uint16_t>(from, rows, columns);
  if (bits == 32) copy_to_columns<std::uint32_t>(from, rows, columns);
  if (bits == 64) copy_to_columns<std::uint64_t>(from, rows, columns);
  arrow::ArrayVector arrays;
  for (std::int64_t at = 0; at < width; ++at) {
    const auto present =
        values.null_count() > 0 ? every_bit(*data.buffers[0], data.offset + at, width, rows) : nullptr;
    arrays.push_back(arrow::MakeArray(arrow::ArrayData::Make(
        data.type, rows, {present, std::move(columns[static_cast<std::size_t>(at)])})));
  }
  return arrays;
}

void spread(const std::string& name, const std::shared_ptr<arrow::ChunkedArray>& column,
            arrow::FieldVector& fields, arrow::ChunkedArrayVector& columns) {
  std::vector<std::string> names{name};
  std::shared_ptr<arrow::DataType> type = column->type();
  while (type->id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
    std::vector<std::string> longer;
    for (const std::string& each : names)
      for (int i = 0; i < list.list_size(); ++i) longer.push_back(fmt::format("{}_{}", each, i));
    names = std::move(longer);
    type = list.value_type();
  }
  const auto width = static_cast<std::int64_t>(names.size());
  std::vector<arrow::ArrayVector> chunks(names.size());
  for (const std::shared_ptr<arrow::Array>& chunk : column->chunks()) {
    // In blocks, which are let go one by one by whoever goes through the rows.
    for (std::int64_t first = 0; first < chunk->length(); first += database::rows_of_a_block) {
      std::shared_ptr<arrow::Array> values = chunk->Slice(first, database::rows_of_a_block);
      while (values->type_id() == arrow::Type::FIXED_SIZE_LIST)
        values =
            or_fail(static_cast<const arrow::FixedSizeListArray&>(*values).Flatten(), "spreading arrays");
      arrow::ArrayVector spread_out = columns_of_rows(*values, width);
      for (std::size_t at = 0; at < names.size(); ++at) chunks[at].push_back(std::move(spread_out[at]));
    }
  }
  for (std::size_t at = 0; at < names.size(); ++at) {
    fields.push_back(arrow::field(names[at], type));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks[at]), type));
  }
}

}  // namespace

Table with_spread_arrays(const Table& table) {
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector columns;
  for (int c = 0; c < table.columns->num_columns(); ++c) {
    const std::shared_ptr<arrow::Field>& field = table.columns->field(c);
    if (field->type()->id() == arrow::Type::FIXED_SIZE_LIST) {
      spread(field->name(), table.columns->column(c), fields, columns);
    } else {
      fields.push_back(field);
      columns.push_back(table.columns->column(c));
    }
  }
  Table result = table;
  result.columns = arrow::Table::Make(arrow::schema(fields), columns, table.rows());
  return result;
}

Table table_of_rows(const std::shared_ptr<const Rows>& rows, ArrayChoice arrays,
                    const std::string& description) {
  const Table table{TableMaker(rows, description).table()};
  return arrays == ArrayChoice::columns ? with_spread_arrays(table) : table;
}

}  // namespace stoker
