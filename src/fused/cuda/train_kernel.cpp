#include "fused/cuda/train_kernel.h"

#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "fused/cuda/built_in.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/gpu.h"
#include "fused/cuda/kept_code.h"

namespace stoker::fused {
namespace {

std::string source_of(const Plan& plan) {
  std::string widths;
  for (int i = 0; i <= plan.layers; ++i) widths += fmt::format("{}{}", i == 0 ? "" : ", ", plan.width[i]);
  const bool is_crowd = plan.crowd.blocks > 0;
  return fmt::format(
      "#include \"fused/cuda/{}\"\n"
      "struct Net {{ static constexpr stoker::fused::Plan plan{{{}, {{{}}}, {}, {}, {}, {}, {}, {}, {}, "
      "{{{}, {}, {}, {}}}, {}}}; }};\n"
      "extern \"C\" __global__ void __launch_bounds__(stoker::fused::threads, 1)\n"
      "stoker_train(const __grid_constant__ stoker::fused::Models models) {{ "
      "stoker::fused::{}<Net>(models); }}\n",
      is_crowd ? "whole_gpu/crowd.cuh" : "step.cuh", plan.layers, widths, plan.activation, plan.loss,
      plan.optimizer, plan.has_dropout, plan.has_decay, plan.pitch, plan.team, plan.crowd.blocks,
      plan.crowd.tiles, plan.crowd.clips, plan.crowd.memory, plan.duet,
      is_crowd ? "train_in_crowd" : "train");
}

// What tells one kernel from another.
std::string key_of(const Plan& plan, Device device) {
  return code_key(source_of(plan), device);
}

std::optional<TrainKernel> loaded(const std::string& code) {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  if (cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess ||
      cudaLibraryGetKernel(&kernel, library, "stoker_train") != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  return TrainKernel{reinterpret_cast<const void*>(kernel)};
}

// Attributes are the device's own: what was set on one GPU does not hold on another.
void prepare(const TrainKernel& kernel, const Plan& plan, Device device) {
  cudaError_t status = cudaSetDevice(device.index);
  if (status == cudaSuccess)
    status = cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  plan.shared_bytes());
  if (status == cudaSuccess && plan.team > 8)
    status = cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  check(status, "preparing the fused kernel");
}

// Kernels that are loaded, by device and key.
struct Ready {
  std::mutex mutex;
  std::map<std::pair<int, std::string>, TrainKernel> kernels;

  std::optional<TrainKernel> find(Device device, const std::string& key) {
    const std::lock_guard lock(mutex);
    const auto found = kernels.find({device.index, key});
    return found == kernels.end() ? std::nullopt : std::optional(found->second);
  }
};
Ready& ready() {
  static Ready all;
  return all;
}

// Compiled, or kept from an earlier time; what was kept and does not load is damaged, and compiled anew.
std::optional<TrainKernel> compiled_kernel(const Plan& plan, Device device, std::string& why_not) {
  for (int i = 0; i < 2; ++i) {
    const CompiledCode made = code_for(source_of(plan), device, StopSignal());
    why_not = made.why_not;
    if (made.code.empty()) return std::nullopt;
    if (std::optional<TrainKernel> kernel = loaded(made.code)) return kernel;
    discard_code(source_of(plan), device);
  }
  why_not = "the compiled kernel does not load on this GPU";
  return std::nullopt;
}

}  // namespace

std::optional<TrainKernel> kernel_for(const Plan& plan, Device device, std::string& why_not) {
  if (const int capability = gpu_of(device).capability; capability < 80) {
    why_not = fmt::format("it needs compute capability 8.0, but this GPU has {:.1f}", capability / 10.0);
    return std::nullopt;
  }
  const std::string key = key_of(plan, device);
  if (const auto found = ready().find(device, key)) return found;
  const void* built_in = built_in_kernel(plan);
  const std::optional<TrainKernel> kernel =
      built_in != nullptr ? TrainKernel{built_in} : compiled_kernel(plan, device, why_not);
  if (!kernel) return std::nullopt;
  prepare(*kernel, plan, device);
  const std::lock_guard lock(ready().mutex);
  forget_code(source_of(plan), device);
  return ready().kernels.emplace(std::pair(device.index, key), *kernel).first->second;
}

int clusters_at_once(const Plan& plan, const TrainKernel& kernel) {
  if (plan.team == 0) return 1;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(plan.team), 1, 1};
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(plan.team));
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = static_cast<std::size_t>(plan.shared_bytes());
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  int most = 1;
  if (cudaOccupancyMaxActiveClusters(&most, kernel.function, &launch) != cudaSuccess) cudaGetLastError();
  return most;
}

void compile_ahead(const Plan& plan, Device device, const StopSignal& stop) {
  if (gpu_of(device).capability < 80 || built_in_kernel(plan) != nullptr) return;
  if (ready().find(device, key_of(plan, device))) return;
  code_for(source_of(plan), device, stop);
}

}  // namespace stoker::fused
