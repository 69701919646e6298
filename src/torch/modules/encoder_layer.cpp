#include "torch/modules/encoder_layer.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <c10/core/InferenceMode.h>

#include "torch/modules/packed_panels.h"
#include "torch/modules/way_back.h"

namespace stoker::torch_door {
namespace {

// Moments that go through a layer together: few enough for their values to stay in the second cache, enough
// for a product to run at its full rate.
constexpr std::int64_t moments_of_slice = 160;
// Gradients are summed in so many parts at most, however many threads there are, so that results do not
// depend on those.
constexpr std::int64_t most_gradient_parts = 4;
// The attention compares each moment with each in loops for few of them.
constexpr std::int64_t most_own_moments = 128;

at::Tensor side_of_product(const float* values, std::int64_t rows, std::int64_t columns, bool is_turned) {
  auto* data = const_cast<float*>(values);  // LibTorch knows no constant tensors
  return is_turned ? at::from_blob(data, {columns, rows}, at::kFloat).t()
                   : at::from_blob(data, {rows, columns}, at::kFloat);
}

void multiply_by_library(const fused_cpu::Product& product) {
  const at::Tensor left = side_of_product(product.left, product.rows, product.depth, product.left_is_turned);
  const at::Tensor right =
      side_of_product(product.right, product.depth, product.columns, product.right_is_turned);
  at::Tensor out = at::from_blob(product.out, {product.rows, product.columns}, at::kFloat);
  if (product.adds) {
    at::addmm_out(out, out, left, right);
  } else {
    at::mm_out(out, left, right);
  }
}

const float* values_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

const float* from_place(const float* values, std::int64_t place) {
  return values == nullptr ? nullptr : values + place;
}

// The gradients of all weights, one behind the other.
struct EncoderGradientBuffer {
  EncoderGradientBuffer(std::span<const at::Tensor> weights, const at::TensorOptions& options) {
    std::int64_t size = 0;
    for (const at::Tensor& weight : weights) size += weight.numel();
    flat = at::empty({size}, options);
    std::int64_t first = 0;
    for (const at::Tensor& weight : weights) {
      at::Tensor gradient = flat.narrow(0, first, weight.numel()).view(weight.sizes());
      if (weight.dim() == 1) gradient.zero_();
      gradients.push_back(std::move(gradient));
      first += weight.numel();
    }
  }

  fused_cpu::EncoderGradients pointers() const {
    const auto at = [this](std::size_t number) { return gradients[number].mutable_data_ptr<float>(); };
    return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11)};
  }

  at::Tensor flat;
  std::vector<at::Tensor> gradients;
};

class EncoderLayerPass {
 public:
  EncoderLayerPass(const at::Tensor& x, std::span<const at::Tensor> weights,
                   const fused_cpu::EncoderShape& shape, const std::array<at::Tensor, 4>& masks)
      : shape_(shape), in_(x.detach().contiguous()), masks_(masks) {
    for (const at::Tensor& weight : weights) weights_.push_back(weight.detach());
    const auto at = [this](std::size_t number) { return weights_[number].const_data_ptr<float>(); };
    pointers_ = {{at(0)}, at(1), {at(2)}, at(3), {at(4)}, at(5),
                 {at(6)}, at(7), at(8),   at(9), at(10),  at(11)};
    if (all_kernels_.panels_suit_many_rows) {
      for (const auto& [matrix, number] : matrices())
        matrix->panels = packed(weights_[number], weights_[number].size(1), /*is_turned=*/true);
    } else {
      pointers_.attended.turned = turned(weights_[2]);
      pointers_.outer.turned = turned(weights_[6]);
    }
    const std::int64_t moments = in_.size(0) * in_.size(1);
    const std::int64_t width = shape.width();
    const auto kept = [&](std::int64_t values) { return at::empty({values}, in_.options()); };
    normed_ = kept(moments * width);
    projected_ = kept(3 * moments * width);
    shares_ = kept(in_.size(0) * shape.attention.shares_of_window());
    context_ = kept(moments * width);
    sum_ = kept(moments * width);
    sum_normed_ = kept(moments * width);
    bent_ = kept(moments * shape.inner);
    slopes_ = kept(moments * shape.inner);
    statistics_ = kept(4 * moments);
  }

  at::Tensor run() {
    at::Tensor out = at::empty_like(in_);
    in_parts(slices(), [&](std::int64_t slice, float* workspace) {
      const fused_cpu::EncoderWork work = work_of(slice, workspace);
      fused_cpu::run_encoder_block(kernels_, work, out.mutable_data_ptr<float>() + first_value(slice));
    });
    return out;
  }

  // Those of what entered come with those of the weights, whether somebody asks or not.
  std::vector<at::Tensor> run_back(const at::Tensor& gradient, bool /*with_inputs*/) {
    if (all_kernels_.panels_suit_many_rows)
      for (const auto& [matrix, number] : matrices())
        matrix->panels_back = packed(weights_[number], weights_[number].size(0), /*is_turned=*/false);
    const at::Tensor of_out = gradient.contiguous();
    at::Tensor of_in = at::empty_like(in_);
    const std::int64_t parts = std::min(most_gradient_parts, slices());
    std::vector<EncoderGradientBuffer> buffers;
    for (std::int64_t part = 0; part < parts; ++part) buffers.emplace_back(weights_, in_.options());
    in_parts(parts, [&](std::int64_t part, float* workspace) {
      const fused_cpu::EncoderGradients gradients = buffers[static_cast<std::size_t>(part)].pointers();
      const std::int64_t begin = slices() * part / parts;
      const std::int64_t end = slices() * (part + 1) / parts;
      for (std::int64_t slice = begin; slice < end; ++slice)
        fused_cpu::run_encoder_block_back(
            kernels_, work_of(slice, workspace), of_out.const_data_ptr<float>() + first_value(slice),
            gradients, slice == begin, of_in.mutable_data_ptr<float>() + first_value(slice));
    });
    for (std::size_t part = 1; part < buffers.size(); ++part) buffers[0].flat.add_(buffers[part].flat);
    std::vector<at::Tensor> all{of_in};
    all.insert(all.end(), buffers[0].gradients.begin(), buffers[0].gradients.end());
    return all;
  }

 private:
  // The matrices that moments are multiplied by, and which weights they are.
  std::array<std::pair<fused_cpu::EncoderMatrix*, std::size_t>, 4> matrices() {
    return {{{&pointers_.projections, 0},
             {&pointers_.attended, 2},
             {&pointers_.inner, 4},
             {&pointers_.outer, 6}}};
  }
  const float* turned(const at::Tensor& weight) {
    return rearranged_.emplace_back(weight.t().contiguous()).const_data_ptr<float>();
  }
  // Once for all slices.
  const float* packed(const at::Tensor& weight, std::int64_t depth, bool is_turned) {
    return rearranged_
        .emplace_back(packed_panels(all_kernels_, weight, depth, weight.numel() / depth, is_turned))
        .const_data_ptr<float>();
  }

  std::int64_t windows_of_slice() const {
    return std::max<std::int64_t>(1, moments_of_slice / shape_.attention.length);
  }
  std::int64_t slices() const { return (in_.size(0) + windows_of_slice() - 1) / windows_of_slice(); }
  std::int64_t first_value(std::int64_t slice) const {
    return slice * windows_of_slice() * shape_.attention.length * shape_.width();
  }

  // Calls work(number, workspace) for each, on all threads. The modes of LibTorch are those of a thread.
  template <class Work>
  void in_parts(std::int64_t count, Work work) const {
    const bool in_inference = c10::InferenceMode::is_enabled();
    at::parallel_for(0, count, 1, [&](std::int64_t first, std::int64_t end) {
      const c10::InferenceMode same(in_inference);
      const at::NoGradGuard no_autograd;
      const auto workspace = std::make_unique_for_overwrite<float[]>(
          static_cast<std::size_t>(shape_.workspace(windows_of_slice())));
      for (std::int64_t number = first; number < end; ++number) work(number, workspace.get());
    });
  }

  fused_cpu::EncoderWork work_of(std::int64_t slice, float* workspace) const {
    const std::int64_t window = slice * windows_of_slice();
    const std::int64_t first = window * shape_.attention.length;
    const std::int64_t width = shape_.width();
    fused_cpu::EncoderWork work;
    work.shape = shape_;
    work.windows = std::min(windows_of_slice(), in_.size(0) - window);
    work.weights = &pointers_;
    work.in = in_.const_data_ptr<float>() + first * width;
    work.workspace = workspace;
    work.multiply = multiply_by_library;
    work.multiply_panels = all_kernels_.multiply_panels;
    const std::int64_t pairs = shape_.attention.heads * shape_.attention.length * shape_.attention.length;
    work.masks = {from_place(values_or_null(masks_[0]), window * pairs),
                  from_place(values_or_null(masks_[1]), first * width),
                  from_place(values_or_null(masks_[2]), first * shape_.inner),
                  from_place(values_or_null(masks_[3]), first * width)};
    const auto kept = [](const at::Tensor& tensor, std::int64_t place) {
      return tensor.mutable_data_ptr<float>() + place;
    };
    work.kept = {kept(normed_, first * width),
                 kept(projected_, 3 * first * width),
                 kept(shares_, window * shape_.attention.shares_of_window()),
                 kept(context_, first * width),
                 kept(sum_, first * width),
                 kept(sum_normed_, first * width),
                 kept(bent_, first * shape_.inner),
                 kept(slopes_, first * shape_.inner),
                 kept(statistics_, 4 * first)};
    return work;
  }

  const fused_cpu::Kernels& all_kernels_ = fused_cpu::best_kernels();
  const fused_cpu::TokenKernels& kernels_ = all_kernels_.tokens;
  fused_cpu::EncoderShape shape_;
  at::Tensor in_;  // [rows, length, width]
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> rearranged_;  // for products: turned round or in panels
  fused_cpu::EncoderWeights pointers_;
  std::array<at::Tensor, 4> masks_;
  // Kept for the way back, as EncoderKept has them.
  at::Tensor normed_;
  at::Tensor projected_;
  at::Tensor shares_;
  at::Tensor context_;
  at::Tensor sum_;
  at::Tensor sum_normed_;
  at::Tensor bent_;
  at::Tensor slopes_;
  at::Tensor statistics_;
};

}  // namespace

bool suits_own_encoder(const at::Tensor& x, const fused_cpu::EncoderShape& shape) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && !at::autocast::is_autocast_enabled(at::kCPU) &&
         shape.attention.share % fused_cpu::token_vector == 0 && shape.inner % fused_cpu::token_vector == 0 &&
         shape.attention.length <= most_own_moments;
}

at::Tensor own_encoder_layer(const at::Tensor& x, const fused_cpu::EncoderShape& shape,
                             std::span<const at::Tensor> weights, const std::array<at::Tensor, 4>& masks) {
  return run_own_layer<EncoderLayerPass>(x, weights, shape, masks);
}

}  // namespace stoker::torch_door
