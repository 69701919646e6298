#include "data/reading_memory.h"

#include <atomic>
#include <cstdint>

#include <arrow/memory_pool.h>
#include <arrow/status.h>

namespace stoker {
namespace {

std::atomic<bool> ran_out{false};

class ReadingMemory : public arrow::ProxyMemoryPool {
 public:
  using arrow::ProxyMemoryPool::Allocate;
  using arrow::ProxyMemoryPool::Free;
  using arrow::ProxyMemoryPool::ProxyMemoryPool;
  using arrow::ProxyMemoryPool::Reallocate;

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    return noted(arrow::ProxyMemoryPool::Allocate(size, alignment, out));
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** place) override {
    return noted(arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, place));
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
