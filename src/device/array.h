#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace stoker {

enum class DType : std::uint8_t { float32, float64, int32, int64, uint8 };
std::size_t size_of(DType type);
const char* name_of(DType type);

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::int32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::int64;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::uint8;
}

using Shape = std::vector<std::int64_t>;

// Where an array lies. Pinned memory is the host's, and a GPU reads it in place.
enum class Memory : std::uint8_t { host, pinned, device };

// A dense, row-major, typed array. Copies share the storage; clone() does not.
class Array {
 public:
  Array() = default;
  // Uninitialised, aligned to 64 bytes. Throws OutOfMemory.
  Array(DType type, Shape shape, Memory memory = Memory::host, Device device = Device::cpu());
  // Of the host, with a place for each row of a table: in a file where memory does not hold it
  // (row_memory.h). Uninitialised. Throws OutOfMemory.
  static Array for_rows(DType type, Shape shape);
  // Of the host, in memory that is somebody else's, as pages of a file are. Enough of it for the shape.
  static Array over(DType type, Shape shape, std::shared_ptr<std::byte> storage);
  template <class T>
  static Array from(std::span<const T> values, Shape shape) {
    Array array(dtype_of<T>(), std::move(shape));
    array.copy_from_host(values.data(), values.size_bytes());
    return array;
  }

  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dimension(std::size_t axis) const { return shape_.at(axis); }
  std::int64_t size() const;  // elements
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(type_); }
  Memory memory() const { return memory_; }
  Device device() const { return device_; }
  bool empty() const { return size() == 0; }
  bool lies_in_file() const;  // of memory that was made for rows

  void* data() { return storage_.get(); }
  const void* data() const { return storage_.get(); }
  // Host and pinned arrays only; the type must match.
  template <class T>
  std::span<T> as() {
    check_host_access(dtype_of<T>());
    return {reinterpret_cast<T*>(storage_.get()), static_cast<std::size_t>(size())};
  }
  template <class T>
  std::span<const T> as() const {
    check_host_access(dtype_of<T>());
    return {reinterpret_cast<const T*>(storage_.get()), static_cast<std::size_t>(size())};
  }

  Array to(Memory memory, Device device) const;  // a copy there, or itself if it is there already
  Array to_host() const { return memory_ == Memory::device ? to(Memory::host, Device::cpu()) : *this; }
  Array clone() const;
  // Some of its values in another shape, from the place `first` on, in the same storage.
  Array seen_as(std::int64_t first, Shape shape) const;
  void copy_from_host(const void* source, std::size_t bytes);

 private:
  void check_host_access(DType wanted) const;

  DType type_ = DType::float32;
  Memory memory_ = Memory::host;
  Device device_ = Device::cpu();
  Shape shape_{0};
  std::shared_ptr<std::byte> storage_;
};

struct NamedArray {
  std::string name;
  Array array;
};
using NamedArrays = std::vector<NamedArray>;

// The array of that name; fails when there is none.
const Array& find_array(const NamedArrays& arrays, const std::string& name);

}  // namespace stoker
