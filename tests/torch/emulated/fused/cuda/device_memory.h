#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "device/array.h"
#include "kernels/launch.h"

// That of src/fused/cuda/device_memory.h and the few calls of CUDA that engines make beside it, where the
// memory of the GPU is the host's: all of it happens at once.
namespace stoker::fused {

using kernels::LaunchError;
using kernels::Stream;

inline std::atomic<std::int64_t> upload_count = 0;
inline std::int64_t wait_count = 0;

using cudaError_t = int;
enum cudaMemcpyKind { cudaMemcpyDeviceToHost };
inline cudaError_t cudaSetDevice(int) {
  return 0;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, Stream) {
  std::memset(to, value, bytes);
  return 0;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, Stream) {
  std::memcpy(to, from, bytes);
  return 0;
}

inline void check(LaunchError error, const char* what) {
  if (error != nullptr) throw std::runtime_error(what);
}
inline void check(cudaError_t, const char*) {}

template <class T>
T* pointer(Array& array, std::size_t offset = 0) {
  return reinterpret_cast<T*>(array.data()) + offset;
}
template <class T>
const T* pointer(const Array& array, std::size_t offset = 0) {
  return reinterpret_cast<const T*>(array.data()) + offset;
}

template <class T>
Array device_memory(std::size_t count, Device, Stream) {
  const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(count, 1) * sizeof(T));
  Array array(DType::uint8, {bytes});
  std::memset(array.data(), 0, static_cast<std::size_t>(bytes));
  return array;
}
inline Array pinned_memory(std::size_t bytes) {
  return Array(DType::uint8, {static_cast<std::int64_t>(bytes)});
}

template <class T>
void upload(Array& array, std::size_t offset, const T* values, std::size_t count, Stream) {
  ++upload_count;
  std::memcpy(pointer<T>(array, offset), values, count * sizeof(T));
}
template <class T>
std::vector<T> download(const Array& array, std::size_t offset, std::size_t count) {
  ++wait_count;
  const T* from = pointer<T>(array, offset);
  return {from, from + count};
}

}  // namespace stoker::fused
