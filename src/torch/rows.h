#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/engine.h"
#include "kernels/begin_step.h"
#include "kernels/place.h"

// Rows of a dataset as an engine's steps and predictions read them.
namespace stoker::torch_door {

// In the order of a network's inputs, each [rows, ...].
using Inputs = std::vector<at::Tensor>;

// Where some rows lie.
struct Rows {
  Inputs inputs;
  std::vector<const void*> targets;  // one per loss; null where it has none
  const float* weights = nullptr;    // null where rows have none
};

// The rows of a step, or of a part of one, gathered to where a captured step finds them again.
class Batch {
 public:
  // `rows` are the training rows, or slots for some of them.
  Batch(const EngineRequest& request, const Dataset& rows);

  void gather_in(kernels::BeginStep& begin) const;
  Rows first_rows(std::int64_t count) const;

 private:
  struct Part {
    const DatasetArray* source;
    at::Tensor batch;
  };
  at::Tensor add(const DatasetArray& source);

  std::int64_t size_;
  Device device_;
  std::vector<Part> parts_;  // each array once, though several losses may read it
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> targets_;
  at::Tensor weights_;
};

using Arrays = std::vector<const DatasetArray*>;
Arrays inputs_of(const Network& network, const Dataset& dataset);  // refuses a dataset that lacks one

// Some arrays of a dataset, a slice of their rows at a time.
class Slices {
 public:
  Slices(const Arrays& arrays, std::int64_t most_rows, const kernels::Place& place);

  // [count, ...] of each array, undefined where it is null; valid until the next call.
  std::vector<at::Tensor> rows(std::int64_t first, std::int64_t count);

 private:
  struct Part {
    const DatasetArray* source;
    at::Tensor all;     // undefined where rows are windows
    at::Tensor buffer;  // undefined where rows are read where they lie
  };
  kernels::Place place_;
  std::vector<Part> parts_;
};

}  // namespace stoker::torch_door
