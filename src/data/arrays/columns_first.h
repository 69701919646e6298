#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "data/arrays/stored_array.h"

namespace stoker {

// Numbers that are stored columns first (Fortran order): what stands together in a row lies all over the
// file, so the whole array is turned once, by whoever reads first, and dropped when all of it has been read.
class ColumnsFirst {
 public:
  explicit ColumnsFirst(Shape shape) : shape_(std::move(shape)), left_(shape_.front()) {}

  // As StoredArray::read, of numbers that are the same at each call.
  void read(const StoredNumbers& from, std::int64_t first, std::int64_t count, float* to);

 private:
  std::shared_ptr<const Array> turned(const StoredNumbers& from);

  Shape shape_;
  std::mutex mutex_;
  std::shared_ptr<const Array> rows_first_;
  std::int64_t left_;  // slices that nobody has read yet
};

}  // namespace stoker
