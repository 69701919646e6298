#include "data/memory/page_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include "data/memory/reading_memory.h"
#include "device/row_memory.h"

namespace stoker {
namespace {

constexpr std::int64_t least_mapped_bytes = std::int64_t{64} << 10;
constexpr std::int64_t page_bytes = 4096;  // whose start is aligned for any type; larger pages are too

class PageMemory : public arrow::MemoryPool {
 public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (!is_mapped(size, alignment)) {
      ARROW_RETURN_NOT_OK(small_->Allocate(size, alignment, out));
    } else {
      try {
        *out = reinterpret_cast<std::uint8_t*>(take_memory_for_rows(static_cast<std::size_t>(size)));
      } catch (const std::exception& error) {
        note_that_memory_ran_out();
        return arrow::Status::OutOfMemory(error.what());
      }
    }
    count(size);
    return arrow::Status::OK();
  }

  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** place) override {
    std::uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *place, static_cast<std::size_t>(std::min(old_size, new_size)));
    Free(*place, old_size, alignment);
    *place = moved;
    return arrow::Status::OK();
  }

  void Free(std::uint8_t* place, std::int64_t size, std::int64_t alignment) override {
    if (is_mapped(size, alignment)) {
      give_back_memory_for_rows(reinterpret_cast<std::byte*>(place), static_cast<std::size_t>(size));
    } else {
      small_->Free(place, size, alignment);
    }
    bytes_ -= size;
  }

  std::int64_t bytes_allocated() const override { return bytes_; }
  std::int64_t total_bytes_allocated() const override { return total_; }
  std::int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "pages"; }

 private:
  static bool is_mapped(std::int64_t size, std::int64_t alignment) {
    return size >= least_mapped_bytes && alignment <= page_bytes;
  }
  void count(std::int64_t size) {
    bytes_ += size;
    total_ += size;
    ++allocations_;
  }

  arrow::MemoryPool* small_ = arrow::system_memory_pool();
  std::atomic<std::int64_t> bytes_{0};
  std::atomic<std::int64_t> total_{0};
  std::atomic<std::int64_t> allocations_{0};
};

}  // namespace

arrow::MemoryPool* page_memory() {
  static PageMemory* const pool = new PageMemory;  // outlives every column, those of static objects too
  return pool;
}

}  // namespace stoker
