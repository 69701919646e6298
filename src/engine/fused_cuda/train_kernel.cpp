#include "engine/fused_cuda/train_kernel.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "engine/fused_cuda/built_in.h"
#include "engine/fused_cuda/crowd_layout.h"
#include "engine/fused_cuda/duet_plan.h"
#include "engine/fused_cuda/nvrtc.h"
#include "engine/fused_cuda/plain.h"
#include "engine/fused_cuda/sources.h"

namespace stoker::fused {
namespace {

namespace fs = std::filesystem;

constexpr int most_shared_bytes = 232'448 - 1024;  // of a block; older GPUs have less
constexpr int most_state_registers = 84;           // of 128: the rest is for addresses and operands
constexpr int most_team_registers = 84;
constexpr std::int64_t most_plain_batch = 128;
constexpr std::int64_t most_crowd_batch = 512;  // a thread a row, where losses are made
constexpr int most_crowd_width = 1024;
constexpr long long most_exchange_bytes = 1LL << 30;
constexpr int most_crowd_classes = 64;  // every block computes all of them
constexpr std::size_t most_code_bytes = 64 << 20;

int attribute_of(Device device, cudaDeviceAttr attribute) {
  int value = 0;
  cudaDeviceGetAttribute(&value, attribute, device.index);
  return value;
}

int capability_of(Device device) {
  return attribute_of(device, cudaDevAttrComputeCapabilityMajor) * 10 +
         attribute_of(device, cudaDevAttrComputeCapabilityMinor);
}

int shared_bytes_of(Device device) {
  return attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

std::string architecture_of(Device device) {
  const int capability = capability_of(device);
  return fmt::format("sm_{}{}", capability, capability == 90 ? "a" : "");
}

int state_registers(const Plan& plan) {
  return plan.owned_tiles() * 4 * (plan.optimizer == 2 ? 2 : 3);
}

std::string source_of(const Plan& plan) {
  std::string widths;
  for (int i = 0; i <= plan.layers; ++i) widths += fmt::format("{}{}", i == 0 ? "" : ", ", plan.width[i]);
  const bool is_crowd = plan.crowd.blocks > 0;
  return fmt::format(
      "#include \"engine/fused_cuda/{}\"\n"
      "struct Net {{ static constexpr stoker::fused::Plan plan{{{}, {{{}}}, {}, {}, {}, {}, {}, {}, {}, "
      "{{{}, {}, {}, {}}}, {}}}; }};\n"
      "extern \"C\" __global__ void __launch_bounds__(stoker::fused::threads, 1)\n"
      "stoker_train(const __grid_constant__ stoker::fused::Models models) {{ "
      "stoker::fused::{}<Net>(models); }}\n",
      is_crowd ? "crowd.cuh" : "step.cuh", plan.layers, widths, plan.activation, plan.loss, plan.optimizer,
      plan.has_dropout, plan.has_decay, plan.pitch, plan.team, plan.crowd.blocks, plan.crowd.tiles,
      plan.crowd.clips, plan.crowd.memory, plan.duet, is_crowd ? "train_in_crowd" : "train");
}

// Compiled kernels outlive the program here. No home, no cache: then they are compiled each time.
std::optional<fs::path> cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "stoker" / "kernels";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "stoker" / "kernels";
  return std::nullopt;
}

std::optional<fs::path> kept_at(const std::string& source, const std::string& architecture) {
  const std::optional<fs::path> folder = cache_folder();
  if (!folder) return std::nullopt;
  Sha256 hash;
  hash.add(source);
  hash.add(architecture);
  for (const sources::Text& each : sources::all()) hash.add(each.text);
  return *folder / (hash.finish() + ".cubin");
}

CompiledCode kept_or_compiled(const std::string& source, const std::string& architecture,
                              const StopSignal& stop) {
  const std::optional<fs::path> file = kept_at(source, architecture);
  try {
    std::error_code ignored;
    if (file && fs::exists(*file, ignored)) return {read_file(*file, most_code_bytes), ""};
  } catch (const Error&) {
    // A cache that cannot be read is no cache.
  }
  CompiledCode made = compiled(source, architecture, stop);
  if (file && !made.code.empty()) {
    try {
      make_folder(file->parent_path());
      write_file(*file, made.code);
    } catch (const Error&) {
      // Nor is one that cannot be written.
    }
  }
  return made;
}

CompileOnce& codes() {
  static CompileOnce once;
  return once;
}

// What tells one kernel from another.
std::string key_of(const Plan& plan, Device device) {
  return architecture_of(device) + source_of(plan);
}

CompiledCode code_for(const Plan& plan, Device device, const StopSignal& stop) {
  return codes().get(key_of(plan, device),
                     [&] { return kept_or_compiled(source_of(plan), architecture_of(device), stop); });
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
  if (status != cudaSuccess) fail("CUDA: preparing the fused kernel failed: {}", cudaGetErrorString(status));
}

// Blocks that share a batch: enough for its rows, a power of two, at most a cluster. Sixteen where one
// cluster is enough for the batch; clusters of eight find more room when there are several.
int team_for(std::int64_t batch) {
  const std::int64_t tiles = (batch + rows - 1) / rows;
  if (tiles > 16) return 8;
  int team = 1;
  while (team < tiles) team *= 2;
  return team;
}

// Registers of a thread that its share of the parameters takes in a team.
int team_registers(const Plan& plan) {
  return plan.thread_share() * 4 * (plan.optimizer == 2 ? 2 : 3);
}

// The shape of the network as kernels know it.
std::optional<Plan> shape_of(const EngineRequest& request, std::string& why_not) {
  const auto no = [&](std::string reason) {
    why_not = std::move(reason);
    return std::nullopt;
  };
  const MlpShape& shape = request.shape;
  if (shape.layer_count() > Plan::most_layers)
    return no(fmt::format("{} hidden layers; it knows up to 8", shape.hidden_layers.size()));
  if (request.loss != Loss::cross_entropy && shape.outputs != 1) return no("several targets");
  Plan plan{};
  plan.layers = static_cast<int>(shape.layer_count());
  for (std::size_t i = 0; i <= shape.layer_count(); ++i) {
    const std::int64_t width = i == 0 ? shape.inputs : shape.layer_outputs(i - 1);
    if (width > 2048) return no(fmt::format("a layer of {} is wider than a block can hold", width));
    plan.width[i] = static_cast<int>(width);
  }
  plan.activation = static_cast<int>(shape.activation);
  plan.loss = static_cast<int>(request.loss);
  plan.optimizer = static_cast<int>(request.optimizer.kind);
  plan.has_dropout = shape.dropout > 0;
  plan.has_decay = request.optimizer.weight_decay > 0;
  return plan;
}

// Over all multiprocessors, for what fits neither a block nor a cluster, for the reason in `why_not`: as many
// blocks as give every one the same number of slabs of the widest layer.
std::optional<Plan> crowd_plan_for(const EngineRequest& request, Plan plan, std::string& why_not) {
  const auto no = [&](const std::string& reason) {
    why_not += ", and for all multiprocessors together: " + reason;
    return std::nullopt;
  };
  if (request.batch_size > most_crowd_batch)
    return no(fmt::format("batches of {} rows; they take up to {}", request.batch_size, most_crowd_batch));
  if (plan.width[plan.layers] > most_crowd_classes)
    return no(fmt::format("{} classes; they take up to {}", plan.width[plan.layers], most_crowd_classes));
  for (int i = 0; i < plan.layers; ++i)
    if (plan.width[i] > most_crowd_width)
      return no(fmt::format("a layer of {}; they take up to {}", plan.width[i], most_crowd_width));
  if (attribute_of(request.device, cudaDevAttrCooperativeLaunch) == 0)
    return no("their blocks cannot wait for each other on this GPU");
  const int processors = attribute_of(request.device, cudaDevAttrMultiProcessorCount);
  int slabs = 1;
  for (int h = 1; h <= plan.hidden(); ++h) slabs = std::max(slabs, divide_up(plan.width[h], 8));
  plan.team = 0;
  plan.pitch = 0;
  plan.crowd.blocks = divide_up(slabs, divide_up(slabs, processors));
  plan.crowd.tiles = divide_up(static_cast<int>(request.batch_size), 16);
  plan.crowd.clips = request.optimizer.max_grad_norm > 0;
  plan.crowd.memory = std::min(shared_bytes_of(request.device), most_shared_bytes);
  const CrowdLayout layout{plan};
  if (layout.needed_bytes() > plan.crowd.memory || layout.exchange_bytes() > most_exchange_bytes)
    return no("they have not enough memory either");
  return plan;
}

}  // namespace

EngineRequest widest_of(std::span<const EngineRequest> group) {
  EngineRequest widest = group.front();
  for (const EngineRequest& request : group) {
    widest.batch_size = std::max(widest.batch_size, request.batch_size);
    widest.shape.dropout = std::max(widest.shape.dropout, request.shape.dropout);
    widest.optimizer.weight_decay = std::max(widest.optimizer.weight_decay, request.optimizer.weight_decay);
    widest.optimizer.max_grad_norm =
        std::max(widest.optimizer.max_grad_norm, request.optimizer.max_grad_norm);
  }
  return widest;
}

std::optional<Plan> plain_plan_for(const EngineRequest& request, std::string& why_not) {
  std::optional<Plan> plan = shape_of(request, why_not);
  if (!plan) return std::nullopt;
  if (plain_shared_bytes(*plan) > shared_bytes_of(request.device)) {
    why_not = fmt::format("{} weights do not fit a multiprocessor's memory as fp32",
                          request.shape.parameter_count());
    return std::nullopt;
  }
  if (request.batch_size > most_plain_batch) {
    why_not = fmt::format("fp32 operands and batches of {} rows, which the graph engine is faster with",
                          request.batch_size);
    return std::nullopt;
  }
  return plan;
}

std::optional<Plan> plan_for(const EngineRequest& request, std::string& why_not) {
  if (request.precision == Precision::fp32) return plain_plan_for(request, why_not);
  const std::optional<Plan> shape = shape_of(request, why_not);
  if (!shape) return std::nullopt;
  Plan plan = *shape;
  const bool is_alone = request.batch_size <= rows && request.optimizer.max_grad_norm == 0;
  if (is_alone && DuetPlan{plan}.fits() && capability_of(request.device) == 90) {
    plan.duet = DuetPlan{plan}.shared_bytes();
    return plan;
  }
  const int most = std::min(shared_bytes_of(request.device), most_shared_bytes);
  plan.pitch = plan.widest() + 8;
  if (plan.shared_bytes() > most) plan.pitch = 0;
  const bool one_block =
      is_alone && state_registers(plan) <= most_state_registers && plan.shared_bytes() <= most;
  if (one_block) return plan;
  plan.team = team_for(request.batch_size);
  plan.pitch = 0;
  // A larger network than one block can update takes more blocks than its batch needs.
  while (team_registers(plan) > most_team_registers && plan.team < 16) plan.team *= 2;
  const bool has_clusters = capability_of(request.device) >= 90;
  if (has_clusters && plan.shared_bytes() <= most && team_registers(plan) <= most_team_registers) return plan;
  why_not =
      has_clusters
          ? fmt::format("{} weights do not fit a multiprocessor's memory", request.shape.parameter_count())
          : fmt::format(
                "batches of {} rows, clipping or {} weights need clusters of blocks, which this GPU has not",
                request.batch_size, request.shape.parameter_count());
  return crowd_plan_for(request, *shape, why_not);
}

std::int64_t Spread::exchange_bytes(const Plan& plan) const {
  if (plan.crowd.blocks > 0) return CrowdLayout{plan}.exchange_bytes();
  return clusters > 1 ? 2LL * clusters * plan.team * (plan.share() + plan.vector_fours()) * 16 : 0;
}

Spread spread_of(const Plan& plan, const void* kernel, std::int64_t batch) {
  Spread spread;
  if (plan.team == 0) return spread;
  const std::int64_t tiles = (batch + rows - 1) / rows;
  const std::int64_t wanted = (tiles + plan.team - 1) / plan.team;
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
  if (cudaOccupancyMaxActiveClusters(&most, kernel, &launch) != cudaSuccess) cudaGetLastError();
  // Beyond eight clusters their meeting costs more than a second pass.
  most = std::clamp(most, 1, 8);
  spread.clusters = static_cast<int>(std::min<std::int64_t>(wanted, most));
  spread.passes = static_cast<int>((wanted + spread.clusters - 1) / spread.clusters);
  return spread;
}

namespace {

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
    const CompiledCode made = code_for(plan, device, StopSignal());
    why_not = made.why_not;
    if (made.code.empty()) return std::nullopt;
    if (std::optional<TrainKernel> kernel = loaded(made.code)) return kernel;
    codes().forget(key_of(plan, device));
    std::error_code ignored;
    if (const auto file = kept_at(source_of(plan), architecture_of(device))) fs::remove(*file, ignored);
  }
  why_not = "the compiled kernel does not load on this GPU";
  return std::nullopt;
}

}  // namespace

std::optional<TrainKernel> kernel_for(const Plan& plan, Device device, std::string& why_not) {
  if (capability_of(device) < 80) {
    why_not =
        fmt::format("it needs compute capability 8.0, this GPU has {:.1f}", capability_of(device) / 10.0);
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
  codes().forget(key);
  return ready().kernels.emplace(std::pair(device.index, key), *kernel).first->second;
}

void compile_ahead(const Plan& plan, Device device, const StopSignal& stop) {
  if (capability_of(device) < 80 || built_in_kernel(plan) != nullptr) return;
  if (ready().find(device, key_of(plan, device))) return;
  code_for(plan, device, stop);
}

}  // namespace stoker::fused
