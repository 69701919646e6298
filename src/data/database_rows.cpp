#include "data/database_rows.h"

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
#include "data/arrow_result.h"
#include "data/page_memory.h"

namespace stoker {
namespace {

using database::Block;
using database::ColumnForm;
using database::ColumnValues;
using database::Rows;
using database::ValueType;

// Pages of the rows, which live as long as anybody reads one of them.
class SharedPages : public arrow::Buffer {
 public:
  SharedPages(const database::Pages& pages, std::shared_ptr<const Rows> rows)
      : arrow::Buffer(reinterpret_cast<const std::uint8_t*>(pages.data()),
                      static_cast<std::int64_t>(pages.size())),
        rows_(std::move(rows)) {}

 private:
  std::shared_ptr<const Rows> rows_;
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
  std::shared_ptr<arrow::Buffer> shared(const database::Pages& pages) const {
    return pages.size() == 0 ? nullptr : std::make_shared<SharedPages>(pages, rows_);
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

  std::shared_ptr<arrow::ArrayData> flat(const ColumnForm& form, const ColumnValues& values,
                                         std::int64_t rows) const {
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

// The `at`-th of `width` values that stand one behind the other in each row.
std::shared_ptr<arrow::Array> every(const std::shared_ptr<arrow::Array>& values, std::int64_t at,
                                    std::int64_t width) {
  const arrow::ArrayData& data = *values->data();
  const int bits = arrow::bit_width(data.type->id());
  const std::int64_t rows = values->length() / width;
  const auto copied_bits = [&](const std::shared_ptr<arrow::Buffer>& from) {
    std::shared_ptr<arrow::Buffer> packed =
        or_fail(arrow::AllocateEmptyBitmap(rows, page_memory()), "spreading arrays");
    for (std::int64_t row = 0; row < rows; ++row)
      if (arrow::bit_util::GetBit(from->data(), data.offset + row * width + at))
        arrow::bit_util::SetBit(packed->mutable_data(), row);
    return packed;
  };
  std::vector<std::shared_ptr<arrow::Buffer>> buffers{nullptr, nullptr};
  if (values->null_count() > 0) buffers[0] = copied_bits(data.buffers[0]);
  if (bits == 1) {
    buffers[1] = copied_bits(data.buffers[1]);
  } else {
    const std::int64_t size = bits / 8;
    buffers[1] = or_fail(arrow::AllocateBuffer(rows * size, page_memory()), "spreading arrays");
    const std::uint8_t* from = data.buffers[1]->data() + (data.offset + at) * size;
    std::uint8_t* to = buffers[1]->mutable_data();
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(to + row * size, from + row * width * size, static_cast<std::size_t>(size));
  }
  return arrow::MakeArray(arrow::ArrayData::Make(data.type, rows, std::move(buffers)));
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
  for (std::int64_t at = 0; at < width; ++at) {
    arrow::ArrayVector chunks;
    for (std::shared_ptr<arrow::Array> chunk : column->chunks()) {
      while (chunk->type_id() == arrow::Type::FIXED_SIZE_LIST)
        chunk = or_fail(static_cast<const arrow::FixedSizeListArray&>(*chunk).Flatten(), "spreading arrays");
      chunks.push_back(every(chunk, at, width));
    }
    fields.push_back(arrow::field(names[static_cast<std::size_t>(at)], type));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), type));
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
