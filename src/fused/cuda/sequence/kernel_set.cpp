#include "fused/cuda/sequence/kernel_set.h"

#include <map>
#include <mutex>
#include <optional>

#include "fused/cuda/kept_code.h"

namespace stoker::fused::sequence {
namespace {

// Nothing where the code is damaged, which may show only when a kernel is asked for.
std::optional<KernelSet> load(const std::string& code) {
  cudaLibrary_t library = nullptr;
  cudaError_t status = cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == cudaSuccess) {
    cudaKernel_t kernel = nullptr;
    status = cudaLibraryGetKernel(&kernel, library, "pack");  // every set has it
    if (status == cudaSuccess) return KernelSet(library);
    cudaLibraryUnload(library);
  }
  if (status == cudaErrorMemoryAllocation) check(status, "loading kernels");
  cudaGetLastError();
  return std::nullopt;
}

struct LoadedSets {
  std::mutex mutex;
  std::map<std::pair<int, std::string>, KernelSet> sets;
};
LoadedSets& loaded_sets() {
  static LoadedSets all;
  return all;
}

}  // namespace

const void* KernelSet::prepare(const char* name, int shared_bytes) const {
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library_, name), "finding a kernel");
  const auto* function = reinterpret_cast<const void*>(kernel);
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "preparing a kernel");
  return function;
}

const KernelSet* find_kernels(const std::string& source, Device device, std::string& why_not) {
  const std::pair key(device.index, code_key(source, device));
  {
    const std::lock_guard lock(loaded_sets().mutex);
    if (const auto found = loaded_sets().sets.find(key); found != loaded_sets().sets.end())
      return &found->second;
  }
  check(cudaSetDevice(device.index), "choosing the GPU");
  // What was kept and does not load is damaged, and compiled anew.
  for (int i = 0; i < 2; ++i) {
    const CompiledCode made = code_for(source, device, StopSignal());
    why_not = made.why_not;
    if (made.code.empty()) return nullptr;
    if (const std::optional<KernelSet> set = load(made.code)) {
      const std::lock_guard lock(loaded_sets().mutex);
      forget_code(source, device);
      const auto [place, is_new] = loaded_sets().sets.emplace(key, *set);
      if (!is_new) cudaLibraryUnload(set->library());  // somebody was faster
      return &place->second;
    }
    discard_code(source, device);
  }
  why_not = "the compiled kernels do not load on this GPU";
  return nullptr;
}

}  // namespace stoker::fused::sequence
