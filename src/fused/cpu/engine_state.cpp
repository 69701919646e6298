#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cpu/layout.h"

// What an engine gives and takes of itself.
namespace stoker::fused_cpu {

NamedArrays FusedCpuEngine::state() const {
  NamedArrays state;
  append_unpacked(shape_, laid_, parameters_, "parameters.", state);
  if (!edges_.empty()) state.push_back({"parameters.entrance.edges", edges_});
  if (network_.first_moment != nullptr) append_unpacked(shape_, laid_, first_moment_, "first_moment.", state);
  if (network_.second_moment != nullptr)
    append_unpacked(shape_, laid_, second_moment_, "second_moment.", state);
  if (has_validation_) {
    append_unpacked(shape_, laid_, best_parameters_, "best_parameters.", state);
    state.push_back({"best_validation_loss", Array::from<double>(std::array{best_loss_}, {1})});
  }
  const std::array<std::int64_t, 3> numbers{counters_.step, counters_.since_best, stopped_ != 0 ? 1 : 0};
  state.push_back({"counters", Array::from<std::int64_t>(numbers, {3})});
  state.push_back({"row_sums", Array::from<double>(row_sums_, {request_.batch_size})});
  if (request_.optimizer.max_grad_norm > 0)
    state.push_back({"gradient_norms", Array::from<double>(std::array{gradient_norms_}, {1})});
  return state;
}

void FusedCpuEngine::restore(const NamedArrays& state) {
  const auto checked = [&](const std::string& name, DType type, const Shape& shape) -> const Array& {
    const Array& array = find_array(state, name);
    if (array.type() != type || array.shape() != shape)
      refuse("the array '{}' of the saved state does not fit this training: it belongs to another one", name);
    return array;
  };
  pack(shape_, laid_, state, "parameters.", parameters_);
  // Where the rows are the same, so are these.
  if (!edges_.empty()) {
    const Array& kept = checked("parameters.entrance.edges", DType::float32, edges_.shape());
    if (!std::ranges::equal(kept.as<float>(), std::as_const(edges_).as<float>()))
      refuse(
          "the bins of the saved state are not those of the training rows: it belongs to another training");
  }
  if (network_.first_moment != nullptr) pack(shape_, laid_, state, "first_moment.", first_moment_);
  if (network_.second_moment != nullptr) pack(shape_, laid_, state, "second_moment.", second_moment_);
  if (has_validation_) {
    pack(shape_, laid_, state, "best_parameters.", best_parameters_);
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
  // Checkpoints of earlier versions have none: then that of the unfinished epoch is not known.
  const bool has_norms =
      std::ranges::any_of(state, [](const NamedArray& each) { return each.name == "gradient_norms"; });
  gradient_norms_ = has_norms ? checked("gradient_norms", DType::float64, {1}).as<double>()[0]
                              : std::numeric_limits<double>::quiet_NaN();
  kernels_.transpose(network_);
}

NamedArrays FusedCpuEngine::parameters() const {
  NamedArrays arrays;
  append_unpacked(shape_, laid_, parameters_, "", arrays);
  if (!edges_.empty()) arrays.push_back({"entrance.edges", edges_});
  return arrays;
}

NamedArrays FusedCpuEngine::best_parameters() const {
  // A run without validation has no best; nor has one whose every validation loss was not a number.
  const bool has_best = has_validation_ && std::isfinite(best_loss_);
  NamedArrays arrays;
  append_unpacked(shape_, laid_, has_best ? best_parameters_ : parameters_, "", arrays);
  if (!edges_.empty()) arrays.push_back({"entrance.edges", edges_});
  return arrays;
}

}  // namespace stoker::fused_cpu
