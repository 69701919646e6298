#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "fused/cpu/framed_engine.h"

// What an engine gives and takes of itself.
namespace stoker::fused_cpu {

NamedArrays FramedEngine::state() const {
  NamedArrays state;
  append_named(parameters_, "parameters.", state);
  append_fixed("parameters.", state);
  if (network_.first_moment != nullptr) append_named(first_moment_, "first_moment.", state);
  if (network_.second_moment != nullptr) append_named(second_moment_, "second_moment.", state);
  if (has_validation_) {
    append_named(best_parameters_, "best_parameters.", state);
    state.push_back({"best_validation_loss", Array::from<double>(std::array{best_loss_}, {1})});
  }
  const std::array<std::int64_t, 3> numbers{counters_.step, counters_.since_best, stopped_ != 0 ? 1 : 0};
  state.push_back({"counters", Array::from<std::int64_t>(numbers, {3})});
  state.push_back({"row_sums", Array::from<double>(row_sums_, {request_.batch_size})});
  if (!train_hits_.empty()) {
    const double hits = std::accumulate(train_hits_.begin(), train_hits_.end(), 0.0);
    state.push_back({"train_hits", Array::from<double>(std::array{hits}, {1})});
  }
  if (request_.optimizer.max_grad_norm > 0)
    state.push_back({"gradient_norms", Array::from<double>(std::array{gradient_norms_}, {1})});
  return state;
}

void FramedEngine::restore(const NamedArrays& state) {
  const auto checked = [&](const std::string& name, DType type, const Shape& shape) -> const Array& {
    const Array& array = find_array(state, name);
    if (array.type() != type || array.shape() != shape)
      refuse("the array '{}' of the saved state does not fit this training: it belongs to another one", name);
    return array;
  };
  pack_named(state, "parameters.", parameters_);
  check_fixed(state);
  if (network_.first_moment != nullptr) pack_named(state, "first_moment.", first_moment_);
  if (network_.second_moment != nullptr) pack_named(state, "second_moment.", second_moment_);
  if (has_validation_) {
    pack_named(state, "best_parameters.", best_parameters_);
    best_loss_ = checked("best_validation_loss", DType::float64, {1}).as<double>()[0];
  }
  const auto numbers = checked("counters", DType::int64, {3}).as<std::int64_t>();
  if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state has a negative number of steps");
  counters_ = {};
  counters_.step = numbers[0];
  counters_.since_best = numbers[1];
  stopped_ = numbers[2] != 0 ? 1.0F : 0.0F;
  std::ranges::copy(checked("row_sums", DType::float64, {request_.batch_size}).as<double>(),
                    row_sums_.begin());
  // Checkpoints of earlier versions have neither: then those of the unfinished epoch are not known.
  const auto has = [&](const char* name) {
    return std::ranges::any_of(state, [&](const NamedArray& each) { return each.name == name; });
  };
  const bool has_norms = has("gradient_norms");
  if (!train_hits_.empty()) {
    std::ranges::fill(train_hits_, 0);
    train_hits_.front() = has("train_hits") ? checked("train_hits", DType::float64, {1}).as<double>()[0]
                                            : std::numeric_limits<double>::quiet_NaN();
  }
  gradient_norms_ = has_norms ? checked("gradient_norms", DType::float64, {1}).as<double>()[0]
                              : std::numeric_limits<double>::quiet_NaN();
  kernels_.transpose(network_);
}

NamedArrays FramedEngine::parameters() const {
  NamedArrays arrays;
  append_named(parameters_, "", arrays);
  append_fixed("", arrays);
  return arrays;
}

NamedArrays FramedEngine::best_parameters() const {
  // A run without validation has no best; nor has one whose every validation loss was not a number.
  const bool has_best = has_validation_ && std::isfinite(best_loss_);
  NamedArrays arrays;
  append_named(has_best ? best_parameters_ : parameters_, "", arrays);
  append_fixed("", arrays);
  return arrays;
}

}  // namespace stoker::fused_cpu
