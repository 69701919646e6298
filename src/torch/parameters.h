#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "device/array.h"

namespace stoker::torch_door {

// How named parameters lie in one flat buffer. With all of them in one tensor, an update, a norm or a copy is
// one operation, however many layers there are. Gradients and moments are laid out the same way.
class ParameterLayout {
 public:
  explicit ParameterLayout(const NamedArrays& parameters);

  std::int64_t size() const { return size_; }  // with the gaps between parameters, which stay 0

  // A flat host tensor from the arrays called prefix + name; refuses missing ones and other shapes.
  at::Tensor flat_from(const NamedArrays& arrays, const std::string& prefix) const;
  // The reverse: host arrays called prefix + name, appended.
  void append_to(NamedArrays& arrays, const std::string& prefix, const at::Tensor& flat) const;
  std::int64_t offset_of(const std::string& name) const;
  // The part of a flat buffer that is one parameter.
  at::Tensor view(const at::Tensor& flat, const std::string& name) const;

 private:
  struct Slot {
    std::string name;
    Shape shape;
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };
  const Slot& slot_of(const std::string& name) const;

  std::vector<Slot> slots_;
  std::int64_t size_ = 0;
};

}  // namespace stoker::torch_door
