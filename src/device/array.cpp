#include "device/array.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include <sys/mman.h>

#include "base/error.h"
#include "device/cuda.h"
#include "device/row_memory.h"

namespace stoker {
namespace {

std::shared_ptr<std::byte> allocate(std::size_t bytes, Memory memory, Device device) {
  if (memory == Memory::device) {
    const int index = device.index;
    return {cuda::allocate(bytes, index), [index](std::byte* p) { cuda::release(p, index); }};
  }
  if (memory == Memory::pinned)
    return {cuda::allocate_pinned(bytes), [](std::byte* p) { cuda::release_pinned(p); }};
  // Large ones in large pages where the system gives them: of a table that is laid out at once, a third of
  // the time would go to getting small ones.
  constexpr std::size_t line = 64;
  constexpr std::size_t large_page = std::size_t{2} << 20U;
  const std::size_t alignment = bytes >= 4 * large_page ? large_page : line;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  auto* pointer = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (pointer == nullptr) throw OutOfMemory(fmt::format("out of memory: {} bytes were requested", bytes));
  if (alignment == large_page) ::madvise(pointer, rounded, MADV_HUGEPAGE);  // small pages do as well
  return {pointer, [](std::byte* p) { std::free(p); }};
}

std::int64_t product(const Shape& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(size, extent, &size))
      fail("an array of an impossible shape was requested");
  }
  if (size > std::numeric_limits<std::int64_t>::max() / 8)
    fail("an array of an impossible shape was requested");
  return size;
}

}  // namespace

std::size_t size_of(DType type) {
  switch (type) {
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::uint8:
      return 1;
  }
  return 0;
}

const char* name_of(DType type) {
  switch (type) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::uint8:
      return "uint8";
  }
  return "";
}

Array::Array(DType type, Shape shape, Memory memory, Device device)
    : type_(type), memory_(memory), device_(device), shape_(std::move(shape)) {
  storage_ = allocate(static_cast<std::size_t>(product(shape_)) * size_of(type_), memory_, device_);
}

Array Array::for_rows(DType type, Shape shape) {
  constexpr std::size_t least_bytes = std::size_t{64} << 10U;  // less is not worth pages of its own
  const std::size_t bytes = static_cast<std::size_t>(product(shape)) * size_of(type);
  if (bytes < least_bytes) return {type, std::move(shape)};
  Array array;
  array.type_ = type;
  array.shape_ = std::move(shape);
  array.storage_ = memory_for_rows(bytes);
  return array;
}

Array Array::over(DType type, Shape shape, std::shared_ptr<std::byte> storage) {
  product(shape);
  Array array;
  array.type_ = type;
  array.shape_ = std::move(shape);
  array.storage_ = std::move(storage);
  return array;
}

bool Array::lies_in_file() const {
  return memory_ == Memory::host && stoker::lies_in_file(storage_.get());
}

std::int64_t Array::size() const {
  return product(shape_);
}

Array Array::to(Memory memory, Device device) const {
  if (memory == memory_ && (memory != Memory::device || device == device_)) return *this;
  Array copy(type_, shape_, memory, device);
  if (memory == Memory::device || memory_ == Memory::device) {
    cuda::copy(copy.data(), data(), bytes(), memory == Memory::device ? device.index : device_.index);
  } else {
    std::memcpy(copy.data(), data(), bytes());
  }
  return copy;
}

Array Array::clone() const {
  Array copy(type_, shape_, memory_, device_);
  if (memory_ == Memory::device) {
    cuda::copy(copy.data(), data(), bytes(), device_.index);
  } else if (bytes() > 0) {
    std::memcpy(copy.data(), data(), bytes());
  }
  return copy;
}

Array Array::seen_as(std::int64_t first, Shape shape) const {
  const std::int64_t wanted = product(shape);
  if (first < 0 || wanted > size() - first)
    fail("{} values from place {} on are not all in an array of {}", wanted, first, size());
  Array seen = *this;
  seen.shape_ = std::move(shape);
  seen.storage_ = {storage_, storage_.get() + static_cast<std::size_t>(first) * size_of(type_)};
  return seen;
}

void Array::copy_from_host(const void* source, std::size_t count) {
  if (count != bytes()) fail("an array of {} bytes cannot take {} bytes", bytes(), count);
  if (count == 0) return;
  if (memory_ == Memory::device) {
    cuda::copy(data(), source, count, device_.index);
  } else {
    std::memcpy(data(), source, count);
  }
}

void Array::check_host_access(DType wanted) const {
  if (memory_ == Memory::device) fail("an array in device memory was read by the host");
  if (wanted != type_) fail("an array of {} was read as {}", name_of(type_), name_of(wanted));
}

const Array& find_array(const NamedArrays& arrays, const std::string& name) {
  for (const NamedArray& entry : arrays) {
    if (entry.name == name) return entry.array;
  }
  fail("there is no array named '{}'", name);
}

}  // namespace stoker
