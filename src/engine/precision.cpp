#include "engine/precision.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker {
namespace {

// Compute capabilities from which on GPUs multiply matrices of these formats.
constexpr int first_with_fp16 = 70;
constexpr int first_with_bf16 = 80;  // and with tf32

std::string capability_of(const DeviceInfo& device) {
  return fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10);
}

bool reads_tables_alone(const Network& network) {
  return std::ranges::all_of(network.inputs, [](const ArraySpec& input) { return input.shape.size() <= 1; });
}

std::string cpu_problem(Precision precision) {
  if (precision == Precision::tf32) return "tf32 is a format of NVIDIA GPUs; on a CPU use fp32 or bf16";
  if (precision == Precision::fp16)
    return "a CPU computes with fp16 more slowly than with fp32 and loses range; use fp32 or bf16";
  return "";
}

}  // namespace

std::string precision_problem(Precision precision, const DeviceInfo& device) {
  if (!device.device.is_cuda()) return cpu_problem(precision);
  const bool is_late = precision == Precision::bf16 || precision == Precision::tf32;
  if (is_late && device.compute_capability < first_with_bf16)
    return fmt::format("{} has no {}, which needs compute capability {}.{} and not {}; use {}", device.model,
                       config::name_of(precision), first_with_bf16 / 10, first_with_bf16 % 10,
                       capability_of(device),
                       device.compute_capability >= first_with_fp16 ? "fp16 or fp32" : "fp32");
  if (precision == Precision::fp16 && device.compute_capability < first_with_fp16)
    return fmt::format("{} has no fast fp16, which needs compute capability {}.{} and not {}; use fp32",
                       device.model, first_with_fp16 / 10, first_with_fp16 % 10, capability_of(device));
  return "";
}

Precision automatic_precision(const Network& network, const DeviceInfo& device) {
  if (!device.device.is_cuda() || reads_tables_alone(network)) return Precision::fp32;
  if (precision_problem(Precision::bf16, device).empty()) return Precision::bf16;
  return precision_problem(Precision::fp16, device).empty() ? Precision::fp16 : Precision::fp32;
}

}  // namespace stoker
