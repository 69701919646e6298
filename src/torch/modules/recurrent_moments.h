#pragma once

#include <algorithm>
#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/InferenceMode.h>

// What recurrent layers have in common whose way back is written out for CPUs (lstm_layer.h, gru_layer.h).
namespace stoker::torch_door {

// What enters and leaves a layer; moments lie one behind the other, each with all rows.
struct RecurrentMoments {
  RecurrentMoments(const at::Tensor& x, std::int64_t direction_count, std::int64_t hidden_size)
      : inputs(x.detach().transpose(0, 1).contiguous()),
        outputs(at::empty({inputs.size(0), inputs.size(1), direction_count * hidden_size}, inputs.options())),
        directions(direction_count),
        hidden(hidden_size) {}

  std::int64_t length() const { return inputs.size(0); }
  std::int64_t rows() const { return inputs.size(1); }
  std::int64_t all() const { return length() * rows(); }
  std::int64_t width() const { return directions * hidden; }
  at::Tensor flat_inputs() const { return inputs.view({all(), -1}); }

  // The moments in the order in which a direction comes to them.
  std::int64_t moment(std::int64_t direction, std::int64_t step) const {
    return direction == 0 ? step : length() - 1 - step;
  }
  // Of an array that lies as the outputs do.
  std::int64_t place(std::int64_t direction, std::int64_t moment) const {
    return moment * rows() * width() + direction * hidden;
  }
  float* output(std::int64_t direction, std::int64_t moment) const {
    return outputs.mutable_data_ptr<float>() + place(direction, moment);
  }

  // work(direction) for each, on threads of their own. The modes of LibTorch are those of a thread.
  template <class Work>
  void in_all_directions(Work work) const {
    const bool in_inference = c10::InferenceMode::is_enabled();
    at::parallel_for(0, directions, 1, [&](std::int64_t first, std::int64_t end) {
      const c10::InferenceMode same(in_inference);
      const at::NoGradGuard no_autograd;
      for (std::int64_t direction = first; direction < end; ++direction) work(direction);
    });
  }

  at::Tensor inputs;   // [length, rows, columns]
  at::Tensor outputs;  // [length, rows, directions * hidden]
  std::int64_t directions;
  std::int64_t hidden;
};

// A gradient of what a layer puts out, [rows, length, width], by moments, beginning at a whole vector.
inline at::Tensor gradient_by_moments(const at::Tensor& gradient) {
  constexpr std::uintptr_t vector_bytes = 64;
  at::Tensor by_moment = gradient.transpose(0, 1).contiguous();
  // A part of something larger need not begin at a vector.
  if (reinterpret_cast<std::uintptr_t>(by_moment.const_data_ptr()) % vector_bytes != 0)
    by_moment = by_moment.clone();
  return by_moment;
}

// left^T * right, some hundred rows at a time: of many rows at once, libraries leave the cache.
inline at::Tensor product_over_rows(const at::Tensor& left, const at::Tensor& right) {
  constexpr std::int64_t together = 256;
  at::Tensor product = at::empty({left.size(1), right.size(1)}, left.options());
  if (left.size(0) == 0) return product.zero_();
  for (std::int64_t first = 0; first < left.size(0); first += together) {
    const std::int64_t count = std::min(together, left.size(0) - first);
    const at::Tensor turned = left.narrow(0, first, count).t();
    const at::Tensor rows = right.narrow(0, first, count);
    if (first == 0) {
      at::mm_out(product, turned, rows);
    } else {
      at::addmm_out(product, product, turned, rows);
    }
  }
  return product;
}

// The gradient of a direction's recurrent weights, from that of what they put out, [length * rows, gates].
// Its first moment has none before it.
inline at::Tensor recurrent_weight_gradient(const RecurrentMoments& moments, std::int64_t direction,
                                            const at::Tensor& gradient) {
  const std::int64_t rest = moments.all() - moments.rows();
  const at::Tensor states = moments.outputs.narrow(2, direction * moments.hidden, moments.hidden)
                                .view({moments.all(), moments.hidden});
  const std::int64_t later = direction == 0 ? moments.rows() : 0;
  const std::int64_t earlier = moments.rows() - later;
  return product_over_rows(gradient.narrow(0, later, rest), states.narrow(0, earlier, rest));
}

}  // namespace stoker::torch_door
