#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/begin_step.h"
#include "kernels/place.h"
#include "model/network.h"

// Families whose gradients LibTorch's autograd finds. One is a file in this folder and a line in modules.cpp.
namespace stoker::torch_door {

// A place of a module where a training step leaves values out.
struct DropoutLayer {
  std::int64_t width = 0;  // values of a row, those of all its moments together
  double probability = 0;
};

// What goes through a module in a training step: a batch, or a part of one.
struct BatchPart {
  std::uint64_t seed = 0;
  const kernels::StepCounters* counters = nullptr;  // where the device keeps them
  kernels::Place place;
  std::int64_t planned_steps = 0;
  std::int64_t steps_per_epoch = 1;
  std::int64_t first_row = 0;  // the row of the batch that it begins with
  bool is_padded = false;      // rows behind those of the batch may follow, which must not count
};

// One way through a module.
struct Pass {
  bool is_training = false;
  std::span<const DropoutLayer> dropout;  // as dropout_layers() has it; none: nothing is left out
  BatchPart part = {};                    // of a training step
  // Segments keep nothing but what enters them, and are computed again on the way back (modules/segment.h).
  bool recomputes = false;
};

class Module {
 public:
  virtual ~Module() = default;
  // [rows, outputs]; the inputs are in the order of the network's.
  virtual at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const = 0;

  virtual std::vector<DropoutLayer> dropout_layers() const = 0;
  virtual std::int64_t widest() const = 0;  // values of a row in its widest layer
  // Whether rows of padding change nothing for the others: rows know of each other only through the batch
  // norm of modules/batch_norm.h, if at all.
  virtual bool takes_padding() const { return false; }
  // Its losses are those of a batch, not of rows: they are validated with batches of training's size.
  virtual bool judges_batches() const { return false; }
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
