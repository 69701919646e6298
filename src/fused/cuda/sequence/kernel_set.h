#pragma once

#include <array>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "fused/cuda/device_memory.h"

namespace stoker::fused::sequence {

// Kernels that were compiled together for a shape, loaded on a device; kept until the program ends.
class KernelSet {
 public:
  explicit KernelSet(cudaLibrary_t library) : library_(library) {}
  // Ready to be launched with so much shared memory.
  const void* prepare(const char* name, int shared_bytes) const;
  cudaLibrary_t library() const { return library_; }

 private:
  cudaLibrary_t library_;
};

// None, and the reason, where they cannot be compiled or loaded.
const KernelSet* find_kernels(const std::string& source, Device device, std::string& why_not);

struct Launch {
  const void* kernel = nullptr;
  int threads = 0;
  int shared_bytes = 0;

  template <class... Arguments>
  void run(dim3 grid, Stream stream, const Arguments&... arguments) const {
    std::array<void*, sizeof...(Arguments)> pointers{const_cast<Arguments*>(&arguments)...};
    check(cudaLaunchKernel(kernel, grid, dim3(static_cast<unsigned>(threads)), pointers.data(),
                           static_cast<std::size_t>(shared_bytes), stream),
          "launching a kernel");
  }
};

}  // namespace stoker::fused::sequence
