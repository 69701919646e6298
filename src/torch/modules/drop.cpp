#include "torch/modules/drop.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>

#include "kernels/dropout.h"
#include "torch/float_format.h"
#include "torch/modules/way_back.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

constexpr std::int64_t elements_per_thread = 1 << 15;

// Some of the values of one tensor, in the order of its elements.
void drop_run(kernels::Drop work, const at::Tensor& from, const at::Tensor& to, std::int64_t offset,
              std::int64_t element, std::int64_t count, const kernels::Place& place) {
  work.values = static_cast<const char*>(from.const_data_ptr()) + offset * from.element_size();
  work.left = static_cast<char*>(to.mutable_data_ptr()) + offset * to.element_size();
  work.first += element;
  work.elements = count;
  kernels::drop(work, place);
}

// Moments that lie one behind the other, each with all rows, as recurrent layers leave them.
bool lies_by_moments(const at::Tensor& x) {
  return x.is_cpu() && x.dim() == 3 && x.stride(2) == 1 && x.is_non_overlapping_and_dense();
}

at::Tensor left_of(const at::Tensor& x, kernels::Drop work, const kernels::Place& place) {
  const bool is_by_moments = !x.is_contiguous() && lies_by_moments(x);
  const at::Tensor values = is_by_moments ? x : x.contiguous();
  at::Tensor left = at::empty_like(values);
  work.format = float_format_of(values);
  if (is_by_moments) {
    const std::int64_t width = x.size(2);
    at::parallel_for(0, x.size(0), elements_per_thread / (x.size(1) * width) + 1,
                     [&](std::int64_t row, std::int64_t end) {
                       for (; row < end; ++row)
                         for (std::int64_t moment = 0; moment < x.size(1); ++moment)
                           drop_run(work, values, left, row * x.stride(0) + moment * x.stride(1),
                                    (row * x.size(1) + moment) * width, width, place);
                     });
  } else if (x.is_cpu()) {
    at::parallel_for(0, values.numel(), elements_per_thread, [&](std::int64_t first, std::int64_t end) {
      drop_run(work, values, left, first, first, end - first, place);
    });
  } else {
    drop_run(work, values, left, 0, 0, values.numel(), place);
  }
  return left;
}

// What was left out on the way forward has no gradient.
class DropWayBack : public torch::autograd::Node {
 public:
  DropWayBack(const kernels::Drop& work, const kernels::Place& place) : work_(work), place_(place) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (!gradients.front().defined()) return {at::Tensor()};
    const at::NoGradGuard no_autograd;
    return {left_of(gradients.front(), work_, place_)};
  }

 private:
  kernels::Drop work_;
  kernels::Place place_;
};

kernels::Drop drop_work(const Pass& pass, std::size_t number) {
  kernels::Drop work;
  work.first = pass.part.first_row * pass.dropout[number].width;
  work.layer = static_cast<std::uint32_t>(number);
  work.seed = pass.part.seed;
  work.probability = static_cast<float>(pass.dropout[number].probability);
  work.counters = pass.part.counters;
  return work;
}

}  // namespace

bool drops(const Pass& pass, std::size_t number) {
  return !pass.dropout.empty() && pass.dropout[number].probability > 0;
}

at::Tensor drop(const at::Tensor& x, const Pass& pass, std::size_t number) {
  if (!drops(pass, number)) return x;
  const kernels::Drop work = drop_work(pass, number);
  at::Tensor left;
  {
    const at::NoGradGuard no_autograd;
    left = left_of(x.detach(), work, pass.part.place);
  }
  if (at::GradMode::is_enabled() && x.requires_grad())
    record_way_back<DropWayBack>(left, x, work, pass.part.place);
  return left;
}

at::Tensor drawn_mask(const Pass& pass, std::size_t number, std::int64_t rows) {
  if (!drops(pass, number)) return {};
  const at::NoGradGuard no_autograd;
  const at::Tensor ones = at::ones({rows, pass.dropout[number].width}, floats_on(pass.part.place.device));
  return left_of(ones, drop_work(pass, number), pass.part.place);
}

}  // namespace stoker::torch_door
