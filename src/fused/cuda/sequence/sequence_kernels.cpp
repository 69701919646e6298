#include "fused/cuda/sequence/sequence_kernels.h"

#include <array>
#include <string_view>

#include "base/error.h"
#include "fused/cuda/sequence/kernel_set.h"
#include "fused/cuda/sequence/network_kinds.h"

namespace stoker::fused::sequence {
namespace {

struct Kind {
  std::string_view family;
  std::string (*refusal)(const Network& network, const Gpu& gpu);
  std::string (*source)(const Network& network);
  std::unique_ptr<SequenceKernels> (*make)(const Network& network, const Places& places);
};

constexpr std::array<Kind, 2> kinds{{
    {"lstm", lstm_refusal, lstm_source, make_lstm},
    {"transformer", transformer_refusal, transformer_source, make_transformer},
}};

const Kind* find_kind(const Network& network) {
  for (const Kind& each : kinds)
    if (each.family == network.family) return &each;
  return nullptr;
}

}  // namespace

bool has_kernels_for(const Network& network) {
  return find_kind(network) != nullptr;
}

std::string refusal(const Network& network, Device device) {
  const Kind* kind = find_kind(network);
  if (kind == nullptr) return fmt::format("it has no kernels for {}", network.family);
  if (!device.is_cuda()) return "its kernels for sequences need a GPU";
  const Gpu gpu = gpu_of(device);
  // They copy in bulk, and meet in clusters.
  if (gpu.capability < 90)
    return fmt::format("its kernels for {} need compute capability 9.0, but this GPU has {:.1f}",
                       network.family, gpu.capability / 10.0);
  std::string problem = kind->refusal(network, gpu);
  if (problem.empty()) find_kernels(kind->source(network), device, problem);
  return problem;
}

std::unique_ptr<SequenceKernels> make_kernels(const Network& network, const Places& places) {
  const Kind* kind = find_kind(network);
  if (kind == nullptr) fail("there are no kernels for {}", network.family);
  return kind->make(network, places);
}

}  // namespace stoker::fused::sequence
