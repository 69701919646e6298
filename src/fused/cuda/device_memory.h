#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "device/array.h"
#include "kernels/launch.h"

// Plain device memory for the fused engine, cleared and copied in its own stream.
namespace stoker::fused {

using kernels::LaunchError;
using kernels::Stream;

// What a request cannot have is found when its plan is made; what is found here is the state of the GPU.
inline void check(LaunchError error, const char* what) {
  if (error == nullptr) return;
  throw Error(ExitCode::run_failed, fmt::format("CUDA: {} failed: {}", what, error), Cause::machine);
}
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) check(cudaGetErrorString(status), what);
}

template <class T>
T* pointer(Array& array, std::size_t offset = 0) {
  return reinterpret_cast<T*>(array.data()) + offset;
}
template <class T>
const T* pointer(const Array& array, std::size_t offset = 0) {
  return reinterpret_cast<const T*>(array.data()) + offset;
}

template <class T>
Array device_memory(std::size_t count, Device device, Stream stream) {
  const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(count, 1) * sizeof(T));
  Array array(DType::uint8, {bytes}, Memory::device, device);
  check(cudaMemsetAsync(array.data(), 0, static_cast<std::size_t>(bytes), stream), "clearing device memory");
  return array;
}

// Of the host, where copies to and from the GPU do not hold it up.
inline Array pinned_memory(std::size_t bytes) {
  return Array(DType::uint8, {static_cast<std::int64_t>(bytes)}, Memory::pinned);
}

// Of all engines together, so far: copies by upload(), and times that the host has waited for a GPU.
inline std::atomic<std::int64_t> upload_count{0};
inline std::atomic<std::int64_t> wait_count{0};

template <class T>
void upload(Array& array, std::size_t offset, const T* values, std::size_t count, Stream stream) {
  ++upload_count;
  check(cudaMemcpyAsync(pointer<T>(array, offset), values, count * sizeof(T), cudaMemcpyHostToDevice, stream),
        "copying to the GPU");
}
template <class T>
std::vector<T> download(const Array& array, std::size_t offset, std::size_t count) {
  std::vector<T> values(count);
  ++wait_count;
  check(cudaMemcpy(values.data(), pointer<T>(array, offset), count * sizeof(T), cudaMemcpyDeviceToHost),
        "copying from the GPU");
  return values;
}

}  // namespace stoker::fused
