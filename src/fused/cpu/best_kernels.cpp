#include <array>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "fused/cpu/step.h"

namespace stoker::fused_cpu {
namespace {

// An instruction set by the name that STOKER_CPU has for it.
struct InstructionSet {
  std::string_view name;
  const Kernels& (*kernels)();  // null where this processor cannot run them
};

// The best first.
std::array<InstructionSet, 3> instruction_sets() {
  std::array<InstructionSet, 3> sets{
      {{"avx512", nullptr}, {"avx2", nullptr}, {"baseline", kernels_baseline}}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    sets[0].kernels = kernels_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets[1].kernels = kernels_avx2;
#endif
  return sets;
}

std::string_view best_here() {
  for (const InstructionSet& set : instruction_sets())
    if (set.kernels != nullptr) return set.name;
  return "baseline";
}

}  // namespace

const Kernels& best_kernels() {
  const char* asked = std::getenv("STOKER_CPU");
  const std::string_view wanted = asked == nullptr || *asked == '\0' ? best_here() : asked;
  for (const InstructionSet& set : instruction_sets()) {
    if (set.name != wanted) continue;
    if (set.kernels == nullptr)
      refuse("STOKER_CPU asks for {}, which this processor does not support; the best it supports is {}",
             wanted, best_here());
    return set.kernels();
  }
  refuse("STOKER_CPU is '{}'; it must be baseline, avx2 or avx512", wanted);
}

}  // namespace stoker::fused_cpu
