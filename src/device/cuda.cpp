#include "device/cuda.h"

#include <array>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker::cuda {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(ExitCode::run_failed, fmt::format("CUDA: {} failed: {}", what, cudaGetErrorString(status)),
              Cause::machine);
}

DeviceInfo describe(int index, int driver) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "reading the properties of a GPU");
  DeviceInfo info;
  info.device = Device::cuda(index);
  info.model = properties.name;
  info.compute_units = properties.multiProcessorCount;
  info.compute_capability = properties.major * 10 + properties.minor;
  info.driver = fmt::format("CUDA {}.{}", driver / 1000, driver % 1000 / 10);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaSetDevice(index), "choosing a GPU");
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "reading the memory of a GPU");
  info.free_bytes = free_bytes;
  info.total_bytes = total_bytes;
  return info;
}

}  // namespace

std::vector<DeviceInfo> devices(std::string& none_because) {
  int count = 0;
  int driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    none_because = status == cudaSuccess ? "no GPU is present" : cudaGetErrorString(status);
    cudaGetLastError();
    return {};
  }
  cudaDriverGetVersion(&driver);
  std::vector<DeviceInfo> found;
  for (int index = 0; index < count; ++index) found.push_back(describe(index, driver));
  check(cudaSetDevice(0), "choosing a GPU");
  return found;
}

std::string bus_place(int device) {
  std::array<char, 32> place{};
  if (cudaDeviceGetPCIBusId(place.data(), static_cast<int>(place.size()), device) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  return place.data();
}

namespace {

std::byte* allocated(cudaError_t status, void* pointer, std::size_t bytes) {
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(fmt::format("the GPU does not have enough memory for {}", human_bytes(bytes)));
  }
  check(status, "allocating device memory");
  return static_cast<std::byte*>(pointer);
}

bool has_pools(int device) {
  int has = 0;
  return cudaDeviceGetAttribute(&has, cudaDevAttrMemoryPoolsSupported, device) == cudaSuccess && has != 0;
}

}  // namespace

std::byte* allocate(std::size_t bytes, int device) {
  check(cudaSetDevice(device), "choosing a GPU");
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, bytes == 0 ? 1 : bytes);
  return allocated(status, pointer, bytes);
}

void release(std::byte* pointer, int device) noexcept {
  cudaSetDevice(device);
  cudaFree(pointer);
}

std::byte* allocate_for_now(std::size_t bytes, int device, cudaStream_t stream) {
  if (!has_pools(device)) return allocate(bytes, device);
  check(cudaSetDevice(device), "choosing a GPU");
  cudaMemPool_t pool = nullptr;
  std::uint64_t kept_bytes = std::uint64_t{32} << 20U;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "finding a pool of memory");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes), "keeping memory");
  void* pointer = nullptr;
  const cudaError_t status = cudaMallocAsync(&pointer, bytes == 0 ? 1 : bytes, stream);
  return allocated(status, pointer, bytes);
}

void release_for_now(std::byte* pointer, int device, cudaStream_t stream) noexcept {
  if (!has_pools(device)) return release(pointer, device);
  cudaSetDevice(device);
  cudaFreeAsync(pointer, stream);
}

std::byte* allocate_pinned(std::size_t bytes) {
  void* pointer = nullptr;
  const cudaError_t status =
      cudaHostAlloc(&pointer, bytes == 0 ? 1 : bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(
        fmt::format("the host does not have enough memory for {} of pinned memory", human_bytes(bytes)));
  }
  check(status, "allocating pinned memory");
  return static_cast<std::byte*>(pointer);
}

void release_pinned(std::byte* pointer) noexcept {
  cudaFreeHost(pointer);
}

void copy(void* target, const void* source, std::size_t bytes, int device) {
  if (bytes == 0) return;
  check(cudaSetDevice(device), "choosing a GPU");
  check(cudaMemcpy(target, source, bytes, cudaMemcpyDefault), "copying");
  // From pageable memory it comes back when the bytes are on their way, and engines have streams that do not
  // wait for this one: on a GPU that several processes share, a kernel would read what was there before.
  check(cudaStreamSynchronize(cudaStreamLegacy), "copying");
}

}  // namespace stoker::cuda
