#include "torch/gradient_norms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

constexpr const char* norms_in_state = "gradient_norms";
constexpr double added_by_clipping = 1e-6;  // see Update::clip()

}  // namespace

// One line more than epochs: where the next one would be written after stopping.
GradientNorms::GradientNorms(Device device, std::int64_t most_epochs, std::int64_t steps_per_epoch)
    : steps_(static_cast<double>(steps_per_epoch)),
      sum_(at::zeros({1}, doubles_on(device))),
      lines_(at::zeros({most_epochs + 1}, doubles_on(device))) {}

void GradientNorms::add(const at::Tensor& norm, const at::Tensor& skipped) {
  sum_.add_(skipped.defined() ? at::where(skipped.gt(0), 0, norm) : norm);
}

void GradientNorms::end_epoch(const at::Tensor& line) {
  lines_.index_copy_(0, line, sum_);
  sum_.zero_();
}

std::optional<double> GradientNorms::of_line(std::int64_t line) {
  if (line == 0) fetched_ = lines_.to(at::kCPU);
  const double sum = fetched_.const_data_ptr<double>()[line];
  return std::isnan(sum) ? std::nullopt : std::optional(sum / steps_ - added_by_clipping);
}

void GradientNorms::append_to(NamedArrays& state) const {
  state.push_back({norms_in_state, host_array(sum_)});
}

void GradientNorms::restore(const NamedArrays& state) {
  const auto found = std::ranges::find(state, norms_in_state, &NamedArray::name);
  if (found == state.end()) {
    sum_.fill_(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (found->array.type() != DType::float64 || found->array.size() != 1)
    refuse("the array '{}' of the saved state does not fit this training: it belongs to another one",
           norms_in_state);
  sum_.copy_(view_of(found->array).view({1}));
}

}  // namespace stoker::torch_door
