#include "train/choose/device_of_training.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/time/elapsed.h"
#include "base/time/trace.h"
#include "device/device.h"
#include "train/checkpoint/checkpoints.h"
#include "train/choose/choose_batch.h"
#include "train/choose/measured_figures.h"
#include "train/choose/recorded_figures.h"
#include "train/choose/step_estimate.h"
#include "train/rows/place_data.h"

namespace stoker {
namespace {

// Until an engine's first step is done, beside the rows that it copies.
constexpr double gpu_ready_seconds = 0.05;

// An engine that is asked for by name is the only one whose figures count: another device may have others
// alone.
std::vector<StepFigures> figures_that_count(const EngineRequest& wanted, EngineChoice engine) {
  std::vector<StepFigures> figures = recorded_figures(figures_key(wanted), true);
  if (engine != EngineChoice::automatic)
    std::erase_if(figures, [&](const StepFigures& each) { return each.engine != config::name_of(engine); });
  return figures;
}

bool reads_a_file(const Dataset& dataset) {
  return std::ranges::any_of(dataset.arrays,
                             [](const DatasetArray& each) { return each.array.lies_in_file(); });
}

// Rows that lie where they usually do, with much room to spare, are placed as quickly as is predicted.
bool lie_as_usual(const PlacementConfig& placement, const PreparedData& data, const DeviceInfo& gpu) {
  return placement.placement == PlacementChoice::automatic && !placement.preload_to_gpu &&
         placement.gpu_memory_fraction == PlacementConfig{}.gpu_memory_fraction &&
         !reads_a_file(data.training) && data.training.bytes() + data.validation.bytes() < gpu.free_bytes / 4;
}

OpenDevice open_device(const FitRequest& request, const PreparedData& data, const DeviceInfo& gpu,
                       EngineRequest wanted) {
  wanted.training = data.training;
  const StepDemand demand = demand_of_step(wanted);
  OpenDevice open;
  open.gpu = gpu.device;
  open.gpu_model = gpu.model;
  open.steps = wanted.planned_steps();
  open.time_limit = request.config.time_limit;
  // As fast as any: on another one the training takes longer, and less is measured than could be.
  open.on_gpu = {estimated_gpu_step(demand, rates_of_h200, true),
                 gpu_ready_seconds + static_cast<double>(data.training.bytes()) / bus_bytes_a_second};
  open.on_cpu.step_seconds = estimated_cpu_step(demand);
  return open;
}

Trial tried_on(const FitRequest& request, const PreparedData& data, const DeviceInfo& gpu, Device device,
               double seconds) {
  const Traced traced(TraceKind::training, "measuring for device auto");
  const auto make_request = [&] { return engine_request(request.spec, data, device, request.config); };
  return measured_figures(make_request, device == gpu.device ? gpu.model : cpu_model(), seconds);
}

}  // namespace

std::optional<Device> device_to_go_on_with(const FitRequest& request, Device automatic) {
  const std::string before = request.resume ? device_of_newest(request.checkpoints) : "";
  if (before.empty()) return std::nullopt;
  return before == Device::cpu().name() ? Device::cpu() : automatic;
}

bool may_measure_devices(const FitRequest& request, const PreparedData& data, const DeviceInfo& gpu) {
  const FitConfig& config = request.config;
  // What learns from all rows first would do so for every trial.
  return !family_of(request.spec).learns_where_rows_lie && request.heeds_figures && !request.resume &&
         config.device == "auto" && !config.deterministic && config.engine == EngineChoice::automatic &&
         request.spec.training.batch_size != automatic_batch && lie_as_usual(config.placement, data, gpu);
}

Device device_of_training(const FitRequest& request, const PreparedData& data, const DeviceInfo& gpu,
                          const Trials& trials, const Notes& notes) {
  const EngineRequest wanted = request_without_rows(request.spec, data, gpu.device, request.config);
  std::vector<StepFigures> figures = figures_that_count(wanted, request.config.engine);
  const OpenDevice open = open_device(request, data, gpu, wanted);
  const DeviceChoice choice = may_measure_devices(request, data, gpu)
                                  ? choose_open_device(open, std::move(figures), trials)
                                  : choose_known_device(open, figures);
  record_figures(figures_key(wanted), choice.measured);
  if (!choice.told.empty()) notes(Severity::info, choice.told);
  return choice.device;
}

Device device_of_training(const FitRequest& request, const PreparedData& data, Device automatic,
                          const Notes& notes) {
  if (request.config.device != "auto" || !automatic.is_cuda()) return automatic;
  if (const std::optional<Device> before = device_to_go_on_with(request, automatic)) return *before;
  if (asks_for_gpu_memory(request.config.placement)) return automatic;
  if (!request.heeds_figures || request.spec.training.batch_size == automatic_batch) return automatic;
  const std::vector<DeviceInfo> devices = list_devices().devices;
  for (const DeviceInfo& info : devices) {
    if (info.device != automatic) continue;
    const Trials trials{
        [&](Device device, double seconds) { return tried_on(request, data, info, device, seconds); },
        [began = now()] { return seconds_since(began); }};
    return device_of_training(request, data, info, trials, notes);
  }
  return automatic;
}

DeviceChoice device_without_kernels(const FitRequest& request, const PreparedData& data,
                                    const DeviceInfo& gpu, std::span<const StepFigures> figures,
                                    const Refusal& refusal, const std::string& why) {
  const auto on_cpu = [&](const std::string& reason) {
    return DeviceChoice{Device::cpu(),
                        fmt::format("{} is trained on the CPU although {} is there: {}", request.spec.family,
                                    gpu.device.name(), reason),
                        {}};
  };
  if (request.resume) {
    const std::optional<Device> before = device_to_go_on_with(request, gpu.device);
    if (before && before->is_cuda()) return {*before, "", {}};
    // The steps of a checkpoint that names no device were taken before GPUs took such networks.
    return on_cpu(before ? "it began on the CPU" : why);
  }
  if (asks_for_gpu_memory(request.config.placement)) return {gpu.device, "", {}};
  if (!request.heeds_figures || request.spec.training.batch_size == automatic_batch ||
      request.config.engine == EngineChoice::fused || !lie_as_usual(request.config.placement, data, gpu))
    return on_cpu(why);
  EngineRequest wanted = request_without_rows(request.spec, data, gpu.device, request.config);
  wanted.training = data.training;
  wanted.validation = data.validation;
  wanted.is_placed = false;
  const GpuByFigures found = gpu_by_figures(gpu.device, figures, wanted.planned_steps());
  if (found.told.empty()) return on_cpu(why + "; `stoker advise` measures whether LibTorch is faster there");
  if (!found.is_faster) return on_cpu(why + "; with LibTorch, " + found.told);
  if (const std::string problem = refusal(wanted); !problem.empty()) return on_cpu(problem);
  return {gpu.device, fmt::format("training on {}: {}", gpu.model, found.told), {}};
}

Device device_without_kernels(const FitRequest& request, const PreparedData& data, Device automatic,
                              const std::string& why, const Notes& notes) {
  if (!automatic.is_cuda()) return automatic;
  DeviceInfo gpu;
  gpu.device = automatic;
  for (DeviceInfo& info : list_devices().devices)
    if (info.device == automatic) gpu = std::move(info);
  const EngineRequest wanted = request_without_rows(request.spec, data, automatic, request.config);
  const DeviceChoice choice =
      device_without_kernels(request, data, gpu, figures_that_count(wanted, request.config.engine),
                             asking_engines(request.config.engine, std::nullopt, libtorch_engines()), why);
  if (!choice.told.empty()) notes(Severity::info, choice.told);
  return choice.device;
}

bool asks_for_gpu_memory(const PlacementConfig& config) {
  return config.placement == PlacementChoice::vram || config.placement == PlacementChoice::pinned ||
         config.preload_to_gpu.value_or(false);
}

}  // namespace stoker
