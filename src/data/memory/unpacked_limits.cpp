#include "data/memory/unpacked_limits.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/memory_pool.h>
#include <arrow/status.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

constexpr std::uint64_t most_bytes_of_a_file_byte = 512;
constexpr std::uint64_t always_allowed_bytes = std::uint64_t{256} << 20U;
constexpr std::uint64_t bytes_of_number = 8;

class BoundedMemory : public arrow::ProxyMemoryPool {
 public:
  using arrow::ProxyMemoryPool::Allocate;
  using arrow::ProxyMemoryPool::Free;
  using arrow::ProxyMemoryPool::Reallocate;

  BoundedMemory(arrow::MemoryPool* of, std::uint64_t limit) : arrow::ProxyMemoryPool(of), limit_(limit) {}

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(check(size));
    return arrow::ProxyMemoryPool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** place) override {
    ARROW_RETURN_NOT_OK(check(new_size - old_size));
    return arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, place);
  }

 private:
  arrow::Status check(std::int64_t more) const {
    const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes_allocated(), 0));
    return more <= 0 || (now <= limit_ && static_cast<std::uint64_t>(more) <= limit_ - now)
               ? arrow::Status::OK()
               : takes_too_much(limit_);
  }

  std::uint64_t limit_;
};

std::uint64_t sum_up_to_largest(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

std::uint64_t product_up_to_largest(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

std::uint64_t bytes_of_texts(const arrow::BinaryViewArray& texts) {
  std::uint64_t bytes = 0;
  const auto* views = texts.raw_values();
  for (std::int64_t i = 0; i < texts.length(); ++i)
    if (texts.IsValid(i)) bytes += static_cast<std::uint64_t>(std::max(0, views[i].size()));
  return bytes;
}

// The bytes of each text of a dictionary. Values of other types count as numbers.
std::vector<std::uint64_t> lengths_of(const arrow::Array& dictionary) {
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(dictionary.length()), bytes_of_number);
  const auto take = [&](const auto& texts) {
    for (std::int64_t i = 0; i < texts.length(); ++i)
      lengths[static_cast<std::size_t>(i)] =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, texts.value_length(i)));
  };
  const arrow::Type::type type = dictionary.type_id();
  if (arrow::is_base_binary_like(type) && !arrow::is_large_binary_like(type))
    take(static_cast<const arrow::BinaryArray&>(dictionary));
  if (arrow::is_large_binary_like(type)) take(static_cast<const arrow::LargeBinaryArray&>(dictionary));
  if (type == arrow::Type::STRING_VIEW || type == arrow::Type::BINARY_VIEW) {
    const auto* views = static_cast<const arrow::BinaryViewArray&>(dictionary).raw_values();
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<std::uint64_t>(std::max(0, views[i].size()));
  }
  return lengths;
}

// Looks at every row only if all rows with the longest text would be too much.
std::uint64_t bytes_of_rows(const arrow::DictionaryArray& rows, std::uint64_t limit) {
  const std::vector<std::uint64_t> lengths = lengths_of(*rows.dictionary());
  if (lengths.empty()) return 0;
  const std::uint64_t most =
      product_up_to_largest(static_cast<std::uint64_t>(rows.length()), std::ranges::max(lengths));
  if (most <= limit) return most;
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < rows.length() && bytes <= limit; ++i) {
    if (rows.IsNull(i)) continue;
    const auto index = static_cast<std::uint64_t>(rows.GetValueIndex(i));
    if (index < lengths.size()) bytes = sum_up_to_largest(bytes, lengths[index]);
  }
  return bytes;
}

std::uint64_t bytes_written_out(const arrow::Array& column, std::uint64_t limit) {
  switch (column.type_id()) {
    case arrow::Type::NA:
    case arrow::Type::RUN_END_ENCODED:
      return product_up_to_largest(static_cast<std::uint64_t>(column.length()), bytes_of_number);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return bytes_of_texts(static_cast<const arrow::BinaryViewArray&>(column));
    case arrow::Type::DICTIONARY:
      return bytes_of_rows(static_cast<const arrow::DictionaryArray&>(column), limit);
    default:
      return 0;  // in memory already, which bounded_memory() has counted
  }
}

}  // namespace

void refuse_too_many_columns(std::int64_t columns, const std::string& name) {
  if (columns > most_columns_of_table)
    refuse("{} has {} columns; at most {} can be read", name, columns, most_columns_of_table);
}

std::uint64_t most_bytes_of_rows(std::uint64_t file_bytes) {
  return std::max(always_allowed_bytes, product_up_to_largest(file_bytes, most_bytes_of_a_file_byte));
}

arrow::Status takes_too_much(std::uint64_t limit) {
  return arrow::Status::CapacityError("unpacked, it takes more than ", human_bytes(limit),
                                      " of memory to read; write it without compression or dictionaries if "
                                      "it is meant to be that large");
}

arrow::MemoryPool* bounded_memory(arrow::MemoryPool* of, std::uint64_t limit) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<BoundedMemory>>;  // outlives what is read
  const std::lock_guard lock(mutex);
  return all->emplace_back(std::make_unique<BoundedMemory>(of, limit)).get();
}

arrow::Status check_size_written_out(const arrow::Table& table, std::uint64_t limit) {
  std::uint64_t bytes = 0;
  for (const auto& column : table.columns())
    for (const auto& chunk : column->chunks()) {
      bytes = sum_up_to_largest(bytes, bytes_written_out(*chunk, limit));
      if (bytes > limit) return takes_too_much(limit);
    }
  return arrow::Status::OK();
}

void refuse_if_packed_too_well(std::uint64_t unpacked, std::uint64_t packed, const std::string& shown) {
  constexpr std::uint64_t most_times = 100;
  constexpr std::uint64_t always_allowed = std::uint64_t{64} << 20U;
  if (unpacked <= always_allowed || unpacked / most_times <= packed) return;
  refuse("{} has {} and would take {} unpacked, more than {} times as much; pack it without compression",
         shown, human_bytes(packed), human_bytes(unpacked), most_times);
}

}  // namespace stoker
