#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/format/npy_header.h"
#include "data/format/table_files.h"
#include "data/memory/arrow_result.h"
#include "data/memory/page_memory.h"
#include "data/memory/unpacked_limits.h"

namespace stoker {
namespace {

struct NumberType {
  std::string_view descr;
  std::shared_ptr<arrow::DataType> type;
  std::int64_t bytes;
};

NumberType type_of(const std::string& descr, const std::string& file) {
  const std::array<NumberType, 12> known{{{"<f8", arrow::float64(), 8},
                                          {"<f4", arrow::float32(), 4},
                                          {"<f2", arrow::float16(), 2},
                                          {"<i8", arrow::int64(), 8},
                                          {"<i4", arrow::int32(), 4},
                                          {"<i2", arrow::int16(), 2},
                                          {"|i1", arrow::int8(), 1},
                                          {"<u8", arrow::uint64(), 8},
                                          {"<u4", arrow::uint32(), 4},
                                          {"<u2", arrow::uint16(), 2},
                                          {"|u1", arrow::uint8(), 1},
                                          {"|b1", arrow::boolean(), 1}}};
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.descr == descr; });
  if (found != known.end()) return *found;
  if (descr.find('O') != std::string::npos) {
    refuse("{} holds Python objects, which are never loaded; save it as an array of numbers", file);
  }
  refuse(
      "{} holds elements of type '{}'; little-endian floating-point numbers, integers and booleans can be "
      "read",
      file, descr);
}

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
};

Sizes sizes_of(const std::vector<std::int64_t>& shape, const std::string& file) {
  if (shape.empty() || shape.size() > 2) {
    refuse("{} has {} dimensions; a table needs one or two, rows by columns{}", file, shape.size(),
           shape.size() == 3 || shape.size() == 4 ? " (source: cubes reads hyperspectral cubes)" : "");
  }
  const Sizes sizes{shape[0], shape.size() == 2 ? shape[1] : 1};
  if (sizes.rows == 0 || sizes.columns == 0) refuse("{} has no rows or no columns", file);
  refuse_too_many_columns(sizes.columns, file);
  return sizes;
}

void refuse_wrong_size(std::ifstream& stream, const Sizes& sizes, std::int64_t element,
                       const std::string& file) {
  const std::int64_t begin = stream.tellg();
  stream.seekg(0, std::ios::end);
  const std::int64_t there = static_cast<std::int64_t>(stream.tellg()) - begin;
  stream.seekg(begin);
  std::int64_t needed = 0;
  if (__builtin_mul_overflow(sizes.rows, sizes.columns, &needed) ||
      __builtin_mul_overflow(needed, element, &needed) || needed > there) {
    refuse("{} is cut off: its header promises {} x {} elements of {} bytes, but {} bytes follow", file,
           sizes.rows, sizes.columns, element, there);
  }
}

using Buffers = std::vector<std::shared_ptr<arrow::Buffer>>;

// Rows lie one behind the other in the file; a block of them at a time goes into the columns.
void read_row_order(std::ifstream& stream, const Sizes& sizes, std::int64_t element, const Buffers& columns) {
  const std::int64_t row_bytes = sizes.columns * element;
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / row_bytes);
  std::vector<char> bytes(static_cast<std::size_t>(std::min(block, sizes.rows) * row_bytes));
  for (std::int64_t first = 0; first < sizes.rows; first += block) {
    const std::int64_t rows = std::min(block, sizes.rows - first);
    stream.read(bytes.data(), rows * row_bytes);
    for (std::int64_t c = 0; c < sizes.columns; ++c) {
      std::uint8_t* target = columns[static_cast<std::size_t>(c)]->mutable_data() + first * element;
      const char* source = bytes.data() + c * element;
      for (std::int64_t row = 0; row < rows; ++row)
        std::memcpy(target + row * element, source + row * row_bytes, static_cast<std::size_t>(element));
    }
  }
}

std::shared_ptr<arrow::Array> column_of(const std::shared_ptr<arrow::DataType>& type, std::int64_t rows,
                                        const std::shared_ptr<arrow::Buffer>& values) {
  if (type->id() != arrow::Type::BOOL)
    return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {nullptr, values}, 0));
  auto bits =
      or_fail(arrow::AllocateEmptyBitmap(rows), "reading an array");  // one byte a value becomes one bit
  for (std::int64_t row = 0; row < rows; ++row) {
    if (values->data()[row] != 0) bits->mutable_data()[row / 8] |= static_cast<std::uint8_t>(1U << (row % 8));
  }
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {nullptr, std::move(bits)}, 0));
}

}  // namespace

Table read_npy(const std::filesystem::path& path) {
  const std::string file = path.string();
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse("{} cannot be opened", file);
  const NpyHeader header = read_npy_header(stream, file);
  const NumberType number = type_of(header.descr, file);
  const Sizes sizes = sizes_of(header.shape, file);
  refuse_wrong_size(stream, sizes, number.bytes, file);
  Buffers columns;
  for (std::int64_t c = 0; c < sizes.columns; ++c) {
    columns.push_back(or_refuse(arrow::AllocateBuffer(sizes.rows * number.bytes, page_memory()), file));
    if (header.fortran_order) {
      stream.read(reinterpret_cast<char*>(columns.back()->mutable_data()), columns.back()->size());
    }
  }
  if (!header.fortran_order) read_row_order(stream, sizes, number.bytes, columns);
  if (!stream) refuse("{} could not be read to the end", file);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (std::int64_t c = 0; c < sizes.columns; ++c) {
    fields.push_back(arrow::field(fmt::format("c{}", c), number.type));
    arrays.push_back(column_of(number.type, sizes.rows, columns[static_cast<std::size_t>(c)]));
  }
  return {arrow::Table::Make(arrow::schema(fields), arrays)};
}

}  // namespace stoker
