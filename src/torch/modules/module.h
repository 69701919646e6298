#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/network.h"

// Families whose gradients LibTorch's autograd finds. One is a file in this folder and a line in modules.cpp.
namespace stoker::torch_door {

// A place of a module where a training step leaves values out.
struct DropoutLayer {
  std::int64_t width = 0;  // values of a row, those of all its moments together
  double probability = 0;
};

// One way through a module.
struct Pass {
  bool is_training = false;
  // Of dropout, one per entry of dropout_layers(), undefined where nothing is left out; none: no dropout.
  std::span<const at::Tensor> masks;
  // Segments keep nothing but what enters them, and are computed again on the way back (modules/segment.h).
  bool recomputes = false;
};

class Module {
 public:
  virtual ~Module() = default;
  // [rows, outputs]; the inputs are in the order of the network's.
  virtual at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const = 0;

  virtual std::vector<DropoutLayer> dropout_layers() const = 0;  // their masks are [rows, width]
  virtual std::int64_t widest() const = 0;                       // values of a row in its widest layer
};

// The tensor of a parameter or buffer, by its name; one that stays the same while its values change.
using Parameters = std::function<at::Tensor(const std::string& name)>;

using MakeModule = std::unique_ptr<Module> (*)(const Network& network, const Parameters& parameters);
// For programs that bring families of their own, before the first use of the table.
void add_module(std::string family, MakeModule make);

// Null for a family that has no module.
std::unique_ptr<Module> make_module(const Network& network, const Parameters& parameters);
bool has_module(const Network& network);

}  // namespace stoker::torch_door
