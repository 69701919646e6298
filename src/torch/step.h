#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "torch/rows.h"

namespace stoker::torch_door {

// Gradients of a network over a batch of one number of rows. The batch lies in a buffer of its engine, and
// what is computed between forward() and backward() is the gradient of the outputs.
class Step {
 public:
  virtual ~Step() = default;

  // Of a batch that is taken in parts: `first_row` is the one that this part begins with.
  virtual void forward(std::int64_t first_row) = 0;
  // Leaves the gradients of all trained parameters in the flat buffer, or adds them to what is there: those
  // of the parts of a batch before this one.
  virtual void backward(bool adds) = 0;

  // Both [rows, outputs], at the same place for as long as the step lives.
  virtual const at::Tensor& outputs() const = 0;
  virtual const at::Tensor& output_gradient() const = 0;
  virtual std::uint64_t own_bytes() const { return 0; }  // of device memory that is not LibTorch's
};

// What a network is to an engine, however its steps are computed.
class Trainee {
 public:
  virtual ~Trainee() = default;

  // `inputs` have so many rows, and hold those of each step in turn. Where they are padded, those behind the
  // rows of a batch have an output gradient of 0 and must leave no trace.
  virtual std::unique_ptr<Step> make_step(std::int64_t rows, const Inputs& inputs, bool is_padded) = 0;
  virtual bool takes_padding() const = 0;
  // Makes room for predictions of so many rows at once.
  virtual void reserve(std::int64_t rows) = 0;
  // As in a prediction: [rows, outputs], one row behind the other, valid until the next call.
  virtual at::Tensor predict(const Inputs& inputs) = 0;
  // Values of the widest layer, which bounds how many rows are predicted at once.
  virtual std::int64_t widest() const = 0;
  virtual bool judges_batches() const { return false; }  // as its module says
  virtual std::uint64_t own_bytes() const { return 0; }  // as of a step, those of its steps apart
};

}  // namespace stoker::torch_door
