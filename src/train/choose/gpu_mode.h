#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/notes.h"
#include "config/field.h"

namespace stoker {

// On what a training runs, in the words of scripts that know several GPUs. A training here has one device,
// which `device` names; these say the same, or contradict it.
enum class GpuMode { automatic, cpu, single_gpu, multi_gpu };
enum class ParallelStrategy { data_parallel, expert_parallel };

struct GpuModeConfig {
  GpuMode gpu_mode = GpuMode::automatic;
  ParallelStrategy parallel_strategy = ParallelStrategy::data_parallel;
};

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::GpuMode>{
    "auto", "cpu", "single_gpu", "multi_gpu"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::ParallelStrategy>{
    "data_parallel", "expert_parallel"};

namespace stoker {

inline config::Fields fields(GpuModeConfig& c) {
  return {
      config::field(
          "gpu_mode", c.gpu_mode,
          "Another way to say device: cpu, single_gpu for cuda, multi_gpu for cuda as well, since a "
          "training takes one GPU; auto: as device says")
          .changes_conditions(),
      config::field("parallel_strategy", c.parallel_strategy,
                    "How multi_gpu would divide the work of a step; on one GPU it changes nothing")
          .changes_conditions(),
  };
}

// Why they contradict each other, or "".
std::string problem_of(const GpuModeConfig& mode, const std::string& device);
// The device that both together ask for.
std::string device_asked_for(const GpuModeConfig& mode, const std::string& device);
// What becomes of several GPUs.
void tell_of_gpu_mode(const GpuModeConfig& mode, const Notes& notes);

}  // namespace stoker
