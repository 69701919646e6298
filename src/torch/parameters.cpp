#include "torch/parameters.h"

#include <algorithm>
#include <cstring>

#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Every parameter starts on a cache line, which is also what vector loads and cuBLAS like best.
constexpr std::int64_t alignment = 16;  // floats

}  // namespace

ParameterLayout::ParameterLayout(const NamedArrays& parameters) {
  for (const NamedArray& parameter : parameters) {
    slots_.push_back({parameter.name, parameter.array.shape(), size_, parameter.array.size()});
    size_ += (parameter.array.size() + alignment - 1) / alignment * alignment;
  }
}

at::Tensor ParameterLayout::flat_from(const NamedArrays& arrays, const std::string& prefix) const {
  at::Tensor flat = at::zeros({size_}, floats_on(Device::cpu()));
  auto* values = flat.mutable_data_ptr<float>();
  for (const Slot& slot : slots_) {
    const Array array = find_array(arrays, prefix + slot.name).to_host();
    if (array.type() != DType::float32 || array.shape() != slot.shape) {
      refuse("the array '{}' does not fit this network: it belongs to another one", prefix + slot.name);
    }
    std::memcpy(values + slot.offset, array.data(), array.bytes());
  }
  return flat;
}

void ParameterLayout::append_to(NamedArrays& arrays, const std::string& prefix,
                                const at::Tensor& flat) const {
  const at::Tensor host = flat.to(at::kCPU);
  const auto* values = host.const_data_ptr<float>();
  for (const Slot& slot : slots_) {
    Array array(DType::float32, slot.shape);
    array.copy_from_host(values + slot.offset, array.bytes());
    arrays.push_back({prefix + slot.name, std::move(array)});
  }
}

const ParameterLayout::Slot& ParameterLayout::slot_of(const std::string& name) const {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& candidate) { return candidate.name == name; });
  if (slot == slots_.end()) refuse("the network's initial parameters lack '{}'", name);
  return *slot;
}

std::int64_t ParameterLayout::offset_of(const std::string& name) const {
  return slot_of(name).offset;
}

at::Tensor ParameterLayout::view(const at::Tensor& flat, const std::string& name) const {
  const Slot& slot = slot_of(name);
  return flat.narrow(0, slot.offset, slot.size).view(slot.shape);
}

}  // namespace stoker::torch_door
