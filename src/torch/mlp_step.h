#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/dropout.h"
#include "kernels/place.h"
#include "model/network/mlp.h"
#include "torch/parameters.h"
#include "torch/step.h"

namespace stoker::torch_door {

// What one layer of the network is made of, as views of the flat parameters and gradients.
struct MlpLayer {
  at::Tensor weight;
  at::Tensor weight_transposed;
  at::Tensor bias;
  at::Tensor weight_gradient;
  at::Tensor bias_gradient;
};
std::vector<MlpLayer> mlp_layers(const MlpShape& shape, const ParameterLayout& layout,
                                 const at::Tensor& parameters, const at::Tensor& gradients);

// Where the values of a batch lie between the layers. The buffers are made once for the largest batch; a
// smaller one uses their first rows.
struct MlpBuffers {
  MlpBuffers(const MlpShape& shape, std::int64_t rows, Device device);
  MlpBuffers first_rows(std::int64_t rows) const;

  struct Hidden {
    at::Tensor linear;           // before the activation
    at::Tensor active;           // after it
    at::Tensor dropped;          // what dropout leaves of it, which the next layer reads
    at::Tensor gradient;         // of dropped, then of active
    at::Tensor linear_gradient;  // of linear
  };
  std::vector<Hidden> hidden;
  at::Tensor outputs;
  at::Tensor output_gradient;

 private:
  MlpBuffers() = default;
};

// What a step leaves out of its hidden layers depends on these alone.
struct MlpDropout {
  std::uint64_t seed = 0;
  const kernels::StepCounters* counters = nullptr;
  kernels::Place place;
};

// Gradients of an MLP over a batch, written out by hand. LibTorch's autograd would do the same products;
// without it a step builds no graph, allocates nothing and writes each gradient straight to its place in the
// flat buffer. On small batches that is most of a step's time. Other families have their module's autograd.
class MlpStep : public Step {
 public:
  MlpStep(const MlpShape& shape, std::vector<MlpLayer> layers, MlpBuffers buffers, at::Tensor features,
          const MlpDropout& dropout);

  void forward(std::int64_t first_row) override;
  void backward(bool adds) override;
  const at::Tensor& outputs() const override { return buffers_.outputs; }
  const at::Tensor& output_gradient() const override { return buffers_.output_gradient; }

 private:
  const at::Tensor& input_of(std::size_t layer) const;
  void drop(std::size_t layer, const at::Tensor& values, const at::Tensor& left) const;

  MlpShape shape_;
  std::vector<MlpLayer> layers_;
  MlpBuffers buffers_;
  at::Tensor features_;
  MlpDropout dropout_;
  std::int64_t first_row_ = 0;
  std::vector<at::Tensor> transposed_gradients_;  // of each layer's linear part, made once
};

// A multi-layer perceptron. Its buffers are shared by all steps and made for the largest batch.
class MlpTrainee : public Trainee {
 public:
  MlpTrainee(const MlpShape& shape, std::vector<MlpLayer> layers, std::int64_t most_rows,
             const MlpDropout& dropout);

  std::unique_ptr<Step> make_step(std::int64_t rows, const Inputs& inputs, bool is_padded) override;
  bool takes_padding() const override { return true; }
  void reserve(std::int64_t rows) override;
  at::Tensor predict(const Inputs& inputs) override;
  std::int64_t widest() const override;

 private:
  MlpShape shape_;
  std::vector<MlpLayer> layers_;
  MlpBuffers buffers_;
  MlpDropout dropout_;
  at::Tensor even_;  // of a prediction: what a layer reads and what it writes take turns
  at::Tensor odd_;
};

}  // namespace stoker::torch_door
