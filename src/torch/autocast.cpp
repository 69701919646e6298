#include "torch/autocast.h"

#include <ATen/autocast_mode.h>

namespace stoker::torch_door {
namespace {

at::DeviceType type_of(Device device) {
  return device.is_cuda() ? at::kCUDA : at::kCPU;
}

}  // namespace

Autocast::Autocast(Device device, Precision precision) : device_(device), is_on_(has_16_bits(precision)) {
  if (!is_on_) return;
  kept_casts_ = at::autocast::is_autocast_cache_enabled();
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_dtype(type_of(device), precision == Precision::bf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::set_autocast_enabled(type_of(device), true);
}

Autocast::~Autocast() {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(type_of(device_), false);
  at::autocast::set_autocast_cache_enabled(kept_casts_);
}

}  // namespace stoker::torch_door
