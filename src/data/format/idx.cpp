#include "data/format/idx.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/type.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/format/image_columns.h"
#include "data/memory/arrow_result.h"
#include "data/memory/packed_text.h"
#include "device/workers.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_values_of_row = 1'000'000;
constexpr std::int64_t most_dimensions = 4;

struct IdxType {
  unsigned char code;
  std::string_view ending;  // of names
  std::shared_ptr<arrow::DataType> type;
  std::int64_t bytes;
};

const std::array<IdxType, 6>& idx_types() {
  static const std::array<IdxType, 6> all{{{0x08, "ubyte", arrow::uint8(), 1},
                                           {0x09, "byte", arrow::int8(), 1},
                                           {0x0b, "short", arrow::int16(), 2},
                                           {0x0c, "int", arrow::int32(), 4},
                                           {0x0d, "float", arrow::float32(), 4},
                                           {0x0e, "double", arrow::float64(), 8}}};
  return all;
}

const IdxType* type_of_code(unsigned char code) {
  const auto* const found = std::ranges::find(idx_types(), code, &IdxType::code);
  return found == idx_types().end() ? nullptr : found;
}

using Stream = std::shared_ptr<arrow::io::InputStream>;

// Fewer than asked for where the file ends.
std::string idx_bytes(const Stream& stream, std::int64_t count, const std::string& name) {
  return or_refuse(stream->Read(count), name, "is damaged or cut off")->ToString();
}

// Blocks that stay in a core's cache while they are laid out.
std::int64_t rows_of_block(std::int64_t row_bytes) {
  constexpr std::int64_t block_bytes = std::int64_t{1} << 18;
  return std::max<std::int64_t>(1, block_bytes / row_bytes);
}

[[noreturn]] void refuse_short(const IdxArray& array) {
  refuse("{} is cut off: its header promises {} elements of {}, but it ends before them", array.file.string(),
         array.shape(), counted(static_cast<std::uint64_t>(array.element_bytes), "byte"));
}

[[noreturn]] void refuse_long(const IdxArray& array) {
  refuse("{} goes on behind the {} elements that its header promises", array.file.string(), array.shape());
}

void read_packed(const IdxArray& array, std::int64_t rows, const std::vector<std::uint8_t*>& columns) {
  const std::string name = array.file.string();
  const Stream stream = or_refuse(open_unpacked(array.file), name);
  if (std::ssize(idx_bytes(stream, array.header_bytes(), name)) < array.header_bytes()) refuse_short(array);
  const std::int64_t row_bytes = array.values_of_row() * array.element_bytes;
  const std::int64_t block = rows_of_block(row_bytes);
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t count = std::min(block, rows - first);
    const auto bytes = or_refuse(stream->Read(count * row_bytes), name, "is damaged or cut off");
    if (bytes->size() < count * row_bytes) refuse_short(array);
    lay_in_columns(bytes->data(), array.element_bytes, count, first, columns);
  }
  // What stands at the end of a packed file, its check sum too, is seen by who reads on.
  if (rows == array.rows() && !idx_bytes(stream, 1, name).empty()) refuse_long(array);
}

void read_plain(const IdxArray& array, std::int64_t rows, const std::vector<std::uint8_t*>& columns) {
  const std::string name = array.file.string();
  const auto file = or_refuse(arrow::io::ReadableFile::Open(name), name);
  const std::int64_t row_bytes = array.values_of_row() * array.element_bytes;
  const std::int64_t block = rows_of_block(row_bytes);
  share_among_cores((rows + block - 1) / block, [&](std::int64_t number) {
    const std::int64_t first = number * block;
    const std::int64_t count = std::min(block, rows - first);
    const auto bytes =
        or_refuse(file->ReadAt(array.header_bytes() + first * row_bytes, count * row_bytes), name);
    if (bytes->size() < count * row_bytes) refuse_short(array);
    lay_in_columns(bytes->data(), array.element_bytes, count, first, columns);
  });
}

std::int64_t size_at(std::string_view header, std::size_t at) {
  std::int64_t size = 0;
  for (std::size_t i = at; i < at + 4; ++i) size = size << 8U | static_cast<unsigned char>(header[i]);
  return size;
}

// None where they would not fit 63 bits.
std::optional<std::int64_t> promised_bytes(const IdxArray& array) {
  std::int64_t bytes = array.element_bytes;
  for (const std::int64_t size : array.sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  return bytes;
}

void refuse_impossible_sizes(const IdxArray& array) {
  const std::string name = array.file.string();
  if (std::ranges::find(array.sizes, 0) != array.sizes.end())
    refuse("{} is empty: its header says {}", name, array.shape());
  std::int64_t values = 1;
  for (std::size_t i = 1; i < array.sizes.size(); ++i) {
    if (__builtin_mul_overflow(values, array.sizes[i], &values) || values > most_values_of_row)
      refuse("{} has more than {} values in a row by its header, which says {}; it is damaged, or too wide",
             name, human_count(most_values_of_row), array.shape());
  }
  const std::optional<std::int64_t> promised = promised_bytes(array);
  std::error_code error;
  const auto there = static_cast<std::int64_t>(fs::file_size(array.file, error));
  if (error) refuse("{} cannot be read: {}", name, error.message());
  if (array.is_packed) {
    if (!promised || static_cast<std::uint64_t>(*promised) > most_unpacked_bytes(there))
      refuse(
          "{} promises {} elements of {}, which no file of {} unpacks to; it is damaged (if not, unpack it "
          "yourself)",
          name, array.shape(), counted(static_cast<std::uint64_t>(array.element_bytes), "byte"),
          human_bytes(static_cast<std::uint64_t>(there)));
    return;
  }
  if (!promised || there - array.header_bytes() < *promised) refuse_short(array);
  if (there - array.header_bytes() > *promised) refuse_long(array);
}

}  // namespace

std::int64_t IdxArray::values_of_row() const {
  std::int64_t values = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) values *= sizes[i];
  return values;
}

std::string IdxArray::shape() const {
  return fmt::format("{}", fmt::join(sizes, " x "));
}

bool is_idx_name(const fs::path& name) {
  std::string text = lower_case(name.filename().string());
  for (const std::string_view packed : {".gz", ".zst", ".bz2"})
    if (text.ends_with(packed)) text.resize(text.size() - packed.size());
  return std::ranges::any_of(idx_types(), [&](const IdxType& each) {
    if (!text.ends_with(each.ending)) return false;
    const std::string_view before = std::string_view(text).substr(0, text.size() - each.ending.size());
    const std::size_t start = before.size() < 6 ? std::string_view::npos : before.size() - 6;
    return start != std::string_view::npos && (before[start] == '-' || before[start] == '.') &&
           before.substr(start + 1, 3) == "idx" &&
           std::isdigit(static_cast<unsigned char>(before[start + 4])) && before.back() == '-';
  });
}

bool begins_like_idx(std::string_view start) {
  return start.size() >= 4 && start[0] == '\0' && start[1] == '\0' &&
         type_of_code(static_cast<unsigned char>(start[2])) != nullptr && start[3] >= 1 && start[3] <= 8;
}

IdxArray look_at_idx(const fs::path& file) {
  const std::string name = file.string();
  IdxArray array;
  array.file = file;
  array.is_packed = or_refuse(is_packed(file), name);
  const Stream stream = or_refuse(open_unpacked(file), name);
  const std::string magic = idx_bytes(stream, 4, name);
  if (magic.size() < 4) refuse("{} ends inside its header", name);
  const IdxType* type = type_of_code(static_cast<unsigned char>(magic[2]));
  if (magic[0] != '\0' || magic[1] != '\0' || type == nullptr)
    refuse("{} is not in IDX form: it begins with {:02x} {:02x} {:02x} {:02x}, not with two zeros and a type",
           name, static_cast<unsigned char>(magic[0]), static_cast<unsigned char>(magic[1]),
           static_cast<unsigned char>(magic[2]), static_cast<unsigned char>(magic[3]));
  array.type = type->type;
  array.element_bytes = type->bytes;
  const auto dimensions = static_cast<std::int64_t>(static_cast<unsigned char>(magic[3]));
  if (dimensions < 1 || dimensions > most_dimensions)
    refuse("{} has {} dimensions by its header; 1 to {} can be read", name, dimensions, most_dimensions);
  const std::string header = idx_bytes(stream, 4 * dimensions, name);
  if (std::ssize(header) < 4 * dimensions) refuse("{} ends inside its header", name);
  for (std::size_t at = 0; at < header.size(); at += 4) array.sizes.push_back(size_at(header, at));
  refuse_impossible_sizes(array);
  return array;
}

void read_idx(const IdxArray& array, std::int64_t rows, const std::vector<std::uint8_t*>& columns) {
  if (std::ssize(columns) != array.values_of_row() || rows > array.rows())
    fail("{} was to be read into {} columns of {} rows", array.file.string(), columns.size(), rows);
  array.is_packed ? read_packed(array, rows, columns) : read_plain(array, rows, columns);
}

}  // namespace stoker
