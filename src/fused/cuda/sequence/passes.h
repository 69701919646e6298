#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/device.h"
#include "kernels/launch.h"

// Kernels of our own for networks over windows of a series: forward and backward passes in bfloat16 with fp32
// sums. Whoever trains with them keeps parameters, gradients and everything else.
namespace stoker::fused::sequence {

// Where a network's numbers lie on the device. Every parameter begins at a multiple of 16 bytes.
struct Places {
  const float* parameters = nullptr;
  float* gradients = nullptr;
  std::function<std::int64_t(const std::string& parameter)> offset_of;  // in both
  std::uint64_t seed = 0;
  const std::int64_t* step = nullptr;  // that dropout is drawn for
  Device device;
};

struct Batch {
  const float* windows = nullptr;  // [rows, length, columns]
  std::int64_t rows = 0;
  float* outputs = nullptr;          // [rows, outputs]
  const float* d_outputs = nullptr;  // read by the backward pass
};

// The passes over batches of one size.
class Passes {
 public:
  virtual ~Passes() = default;
  virtual void forward(kernels::Stream stream) = 0;
  virtual void backward(kernels::Stream stream) = 0;  // all gradients, in place of what was there
  virtual std::uint64_t bytes() const = 0;            // of device memory that they hold
};

class SequenceKernels {
 public:
  virtual ~SequenceKernels() = default;
  virtual std::unique_ptr<Passes> make_passes(const Batch& batch) = 0;
  // Room for predictions of so many rows at once.
  virtual void reserve(std::int64_t rows) = 0;
  virtual void predict(const float* windows, std::int64_t rows, float* outputs, kernels::Stream stream) = 0;
  virtual std::uint64_t bytes() const = 0;  // of device memory, that of its passes apart
};

}  // namespace stoker::fused::sequence
