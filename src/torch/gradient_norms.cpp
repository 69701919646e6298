#include "torch/gradient_norms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

constexpr std::array<const char*, 2> names_in_state{"gradient_norms", "gradient_norm_steps"};
constexpr double added_by_clipping = 1e-6;  // see Update::clip()

}  // namespace

// One line more than epochs: where the next one would be written after stopping.
GradientNorms::GradientNorms(Device device, std::int64_t most_epochs)
    : sum_(at::zeros({1, 2}, doubles_on(device))),
      lines_(at::zeros({most_epochs + 1, 2}, doubles_on(device))) {}

void GradientNorms::add(const at::Tensor& norm, const at::Tensor& skipped) {
  const at::Tensor sum = sum_.select(1, 0);
  const at::Tensor steps = sum_.select(1, 1);
  if (!skipped.defined()) {
    sum.add_(norm);
    steps.add_(1);
    return;
  }
  const at::Tensor is_skipped = skipped.gt(0);
  sum.add_(at::where(is_skipped, 0, norm));
  steps.add_(is_skipped.logical_not());
}

void GradientNorms::end_epoch(const at::Tensor& line) {
  lines_.index_copy_(0, line, sum_);
  sum_.zero_();
}

std::optional<double> GradientNorms::of_line(std::int64_t line) {
  if (line == 0) fetched_ = lines_.to(at::kCPU);
  const double* of_epoch = fetched_.const_data_ptr<double>() + 2 * line;
  const double mean = of_epoch[0] / of_epoch[1];  // none where all steps were skipped
  return std::isnan(mean) ? std::nullopt : std::optional(mean - added_by_clipping);
}

void GradientNorms::append_to(NamedArrays& state) const {
  for (std::size_t i = 0; i < names_in_state.size(); ++i)
    state.push_back({names_in_state[i], host_array(sum_.select(1, static_cast<std::int64_t>(i)))});
}

void GradientNorms::restore(const NamedArrays& state) {
  for (std::size_t i = 0; i < names_in_state.size(); ++i) {
    const at::Tensor part = sum_.select(1, static_cast<std::int64_t>(i));
    const auto found = std::ranges::find(state, names_in_state[i], &NamedArray::name);
    if (found == state.end()) {
      part.fill_(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    if (found->array.type() != DType::float64 || found->array.size() != 1)
      refuse("the array '{}' of the saved state does not fit this training: it belongs to another one",
             names_in_state[i]);
    part.copy_(view_of(found->array).view({1}));
  }
}

}  // namespace stoker::torch_door
