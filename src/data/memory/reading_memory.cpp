#include "data/memory/reading_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>

#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include "device/row_memory.h"

namespace stoker {
namespace {

std::atomic<bool> ran_out{false};

// A page: of wide tables, each of many pieces of a column takes little more.
constexpr std::int64_t least_counted_bytes = 4096;

// Large blocks are counted, and where the host has no memory left for rows they lie in a file.
class ReadingMemory : public arrow::ProxyMemoryPool {
 public:
  using arrow::ProxyMemoryPool::Allocate;
  using arrow::ProxyMemoryPool::Free;
  using arrow::ProxyMemoryPool::ProxyMemoryPool;
  using arrow::ProxyMemoryPool::Reallocate;

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (size < least_counted_bytes) return noted(arrow::ProxyMemoryPool::Allocate(size, alignment, out));
    try {
      if (!count_memory_for_rows(static_cast<std::size_t>(size))) {
        *out = reinterpret_cast<std::uint8_t*>(take_memory_for_rows(static_cast<std::size_t>(size)));
        return arrow::Status::OK();
      }
    } catch (const std::exception& error) {
      note_that_memory_ran_out();
      return arrow::Status::OutOfMemory(error.what());
    }
    arrow::Status status = noted(arrow::ProxyMemoryPool::Allocate(size, alignment, out));
    if (!status.ok()) discount_memory_for_rows(static_cast<std::size_t>(size));
    return status;
  }

  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** place) override {
    if (old_size < least_counted_bytes && new_size < least_counted_bytes)
      return noted(arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, place));
    const auto larger = static_cast<std::size_t>(std::max<std::int64_t>(new_size - old_size, 0));
    if (std::min(old_size, new_size) >= least_counted_bytes && !lies_in_file(*place) &&
        count_memory_for_rows(larger)) {
      const arrow::Status status =
          noted(arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, place));
      if (!status.ok()) discount_memory_for_rows(larger);
      if (status.ok() && new_size < old_size)
        discount_memory_for_rows(static_cast<std::size_t>(old_size - new_size));
      return status;
    }
    std::uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *place, static_cast<std::size_t>(std::min(old_size, new_size)));
    Free(*place, old_size, alignment);
    *place = moved;
    return arrow::Status::OK();
  }

  void Free(std::uint8_t* place, std::int64_t size, std::int64_t alignment) override {
    const auto bytes = static_cast<std::size_t>(size);
    if (size >= least_counted_bytes && lies_in_file(place))
      return give_back_memory_for_rows(reinterpret_cast<std::byte*>(place), bytes);
    arrow::ProxyMemoryPool::Free(place, size, alignment);
    if (size >= least_counted_bytes) discount_memory_for_rows(bytes);
  }

 private:
  static arrow::Status noted(arrow::Status status) {
    if (status.IsOutOfMemory()) note_that_memory_ran_out();
    return status;
  }
};

}  // namespace

arrow::MemoryPool* reading_memory() {
  static auto* const pool = new ReadingMemory(arrow::default_memory_pool());  // outlives what is read
  return pool;
}

bool memory_ran_out() {
  return ran_out;
}

void note_that_memory_ran_out() {
  ran_out = true;
}

}  // namespace stoker
