#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/epoch_sums.h"
#include "fused/cuda/flat.h"
#include "fused/cuda/group.h"

// What a group gives, takes and goes back to.
namespace stoker::fused {

std::vector<float> CudaGroup::read_flat(const Array& array, std::size_t model) const {
  const auto each = static_cast<std::size_t>(plan_.parameters());
  return download<float>(array, model * each, each);
}

void CudaGroup::write_flat(Array& array, std::size_t model, const std::vector<float>& flat) {
  upload(array, model * flat.size(), flat.data(), flat.size(), stream_->get());
  stream_->wait();
}

NamedArrays CudaGroup::state(std::size_t i) const {
  NamedArrays state;
  append_from_flat(plan_, read_flat(parameters_, i).data(), "parameters.", state);
  append_from_flat(plan_, read_flat(first_moment_, i).data(), "first_moment.", state);
  if (plan_.optimizer != number::sgd)
    append_from_flat(plan_, read_flat(second_moment_, i).data(), "second_moment.", state);
  if (models_[i].request.validation.rows() > 0) {
    append_from_flat(plan_, read_flat(best_parameters_, i).data(), "best_parameters.", state);
    state.push_back({"best_validation_loss", Array::from<double>(download<double>(best_loss_, i, 1), {1})});
  }
  const auto counters = download<kernels::StepCounters>(counters_, i, 1)[0];
  const std::array<std::int64_t, 4> numbers{counters.step, counters.since_best, models_[i].stopped ? 1 : 0,
                                            is_plain_ ? plain_form : models_[i].lowered};
  state.push_back({"counters", Array::from<std::int64_t>(numbers, {4})});
  state.push_back({"row_sums", Array::from<double>(saved_sums(i), {models_[i].request.batch_size})});
  return state;
}

std::vector<double> CudaGroup::saved_sums(std::size_t i) const {
  return sums_by_place(spread_, download<double>(row_sums_, i * sums_, sums_), models_[i].request.batch_size);
}

void CudaGroup::restore_sums(std::size_t i, std::span<const double> by_place) {
  const std::vector<double> sums = sums_to_go_on(spread_, by_place, sums_);
  upload(row_sums_, i * sums_, sums.data(), sums_, stream_->get());
  stream_->wait();
}

// The moments are saved as the kernel keeps them, which is the same for all plans but that of fp32 operands:
// the group and the model are made ready for them.
void CudaGroup::take_form(std::size_t i, std::int64_t form) {
  if (form != plain_form && (form < 0 || form > most_lowered)) refuse("the saved state has an unknown form");
  if (form == plain_form && !is_plain_) {
    if (const std::string why_not = plain_reason(); !why_not.empty())
      refuse("the saved state was trained with fp32 operands, and here: {}; train from the beginning",
             why_not);
    become_plain();
  }
  // A neighbour's overflow may have made the group plain; a request for fp32 is another training.
  if (is_plain_ && form != plain_form && models_[i].request.precision == Precision::fp32)
    refuse("the saved state was trained with another precision");
  if (is_plain_) return;
  // What is not saved, the padding, takes the form too.
  rescale_moments(i, models_[i].lowered, static_cast<int>(form));
  models_[i].lowered = static_cast<int>(form);
}

void CudaGroup::restore(std::size_t i, const NamedArrays& state) {
  const auto checked = [&](const std::string& name, DType type, const Shape& shape) -> const Array& {
    const Array& array = find_array(state, name);
    if (array.type() != type || array.shape() != shape)
      refuse(
          "the array '{}' of the saved state does not fit this training: it belongs to another one, or to an "
          "earlier version of the program; train from the beginning",
          name);
    return array;
  };
  const auto restore_flat = [&](Array& array, const std::string& prefix) {
    std::vector<float> flat = read_flat(array, i);
    to_flat(plan_, state, prefix, flat);
    write_flat(array, i, flat);
  };
  const auto numbers = checked("counters", DType::int64, {4}).as<std::int64_t>();
  if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state counts negative steps");
  const std::int64_t form = numbers[3];
  take_form(i, form);
  restore_flat(parameters_, "parameters.");
  restore_flat(first_moment_, "first_moment.");
  if (plan_.optimizer != number::sgd) restore_flat(second_moment_, "second_moment.");
  if (is_plain_ && form != plain_form) make_moments_plain(i, static_cast<int>(form));
  if (models_[i].request.validation.rows() > 0) {
    restore_flat(best_parameters_, "best_parameters.");
    upload(best_loss_, i, checked("best_validation_loss", DType::float64, {1}).as<double>().data(), 1,
           stream_->get());
  }
  kernels::StepCounters counters;
  counters.step = numbers[0];
  counters.since_best = numbers[1];
  upload(counters_, i, &counters, 1, stream_->get());
  const float stopped = numbers[2] != 0 ? 1.0F : 0.0F;
  upload(stopped_, i, &stopped, 1, stream_->get());
  restore_sums(i, checked("row_sums", DType::float64, {models_[i].request.batch_size}).as<double>());
  models_[i].next_step = counters.step;
  models_[i].stopped = stopped != 0;
}

NamedArrays CudaGroup::parameters(std::size_t i) const {
  NamedArrays arrays;
  append_from_flat(plan_, read_flat(parameters_, i).data(), "", arrays);
  return arrays;
}

NamedArrays CudaGroup::best_parameters(std::size_t i) const {
  const bool has_best =
      models_[i].request.validation.rows() > 0 && std::isfinite(download<double>(best_loss_, i, 1)[0]);
  NamedArrays arrays;
  append_from_flat(plan_, read_flat(has_best ? best_parameters_ : parameters_, i).data(), "", arrays);
  return arrays;
}

// ---- out of fp16's range
// Not the lines of epochs: a part begins with none.
std::vector<Array*> CudaGroup::changing_arrays() {
  return {&parameters_, &first_moment_, &second_moment_, &best_parameters_,
          &row_sums_,   &best_loss_,    &stopped_,       &counters_};
}

void CudaGroup::keep_copy() {
  const std::vector<Array*> arrays = changing_arrays();
  if (copies_.empty())
    for (const Array* array : arrays)
      copies_.push_back(device_memory<std::uint8_t>(array->bytes(), device_, stream_->get()));
  for (std::size_t i = 0; i < arrays.size(); ++i)
    check(cudaMemcpyAsync(copies_[i].data(), arrays[i]->data(), arrays[i]->bytes(), cudaMemcpyDeviceToDevice,
                          stream_->get()),
          "keeping a copy");
  copied_models_.clear();
  for (const Model& model : models_) copied_models_.push_back({model.next_step, model.lowered});
}

std::vector<std::size_t> CudaGroup::out_of_range() {
  check(cudaMemsetAsync(flags_.data(), 0, flags_.bytes(), stream_->get()), "clearing flags");
  check(find_beyond(pointer<float>(parameters_), plan_.parameters(), static_cast<int>(models_.size()),
                    std::numeric_limits<float>::max(), pointer<std::uint32_t>(flags_), stream_->get()),
        "looking for infinities");
  stream_->wait();
  const std::vector<std::uint32_t> flags = download<std::uint32_t>(flags_, 0, models_.size());
  std::vector<std::size_t> models;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != 0) models.push_back(i);
  return models;
}

// Others of the group train as they did: one that diverges must not cost its neighbours their small
// gradients.
bool CudaGroup::go_back(const std::vector<std::size_t>& models) {
  if (models.empty()) return false;
  const bool has_plain = plain_reason().empty();
  std::vector<std::size_t> to_lower = models;
  // fp32 is better than the smallest scale, where there is a kernel for it.
  const int most = has_plain ? most_lowered - 1 : most_lowered;
  std::erase_if(to_lower, [&](std::size_t i) { return models_[i].lowered >= most; });
  // Without fp32 there is no way on: they have diverged. So has a model where most of its group train well,
  // as in a sweep with a learning rate too many: fp32 would slow down all of them.
  if (to_lower.empty() && (!has_plain || 2 * models.size() <= models_.size())) return false;
  const std::vector<Array*> arrays = changing_arrays();
  for (std::size_t i = 0; i < arrays.size(); ++i)
    check(cudaMemcpyAsync(arrays[i]->data(), copies_[i].data(), arrays[i]->bytes(), cudaMemcpyDeviceToDevice,
                          stream_->get()),
          "going back to a copy");
  stream_->wait();
  for (const std::size_t i : to_lower) ++models_[i].lowered;
  // The copies have the scale that was theirs, however often it was lowered since.
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i].next_step = copied_models_[i].next_step;
    if (to_lower.empty())
      models_[i].lowered = copied_models_[i].lowered;
    else
      rescale_moments(i, copied_models_[i].lowered, models_[i].lowered);
  }
  if (to_lower.empty()) become_plain();
  return true;
}

void CudaGroup::rescale_moments(std::size_t i, int from, int to) {
  if (from == to || plan_.optimizer == number::sgd) return;
  const OptimizerSettings& settings = models_[i].request.optimizer;
  const double before = initial_second_moment(settings, loss_scale(from));
  const double after = initial_second_moment(settings, loss_scale(to));
  const double factor = loss_scale(to) / loss_scale(from);
  std::vector<float> first = read_flat(first_moment_, i), second = read_flat(second_moment_, i);
  for (float& value : first) value = static_cast<float>(value * factor);
  for (float& value : second)
    value = static_cast<float>(std::max(0.0, value - before) * factor * factor + after);
  write_flat(first_moment_, i, first);
  write_flat(second_moment_, i, second);
}

std::string CudaGroup::plain_reason() const {
  std::vector<EngineRequest> requests;
  for (const Model& model : models_) requests.push_back(model.request);
  std::string why_not;
  plain_plan_for(widest_of(requests), gpu_of(device_), why_not);
  return why_not;
}

// Moments and sums in the form of the plain kernel; batches lie in its passes from now on.
void CudaGroup::become_plain() {
  std::vector<std::vector<double>> sums;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    make_moments_plain(i, models_[i].lowered);
    sums.push_back(saved_sums(i));
  }
  take_plain_kernel();
  for (std::size_t i = 0; i < models_.size(); ++i) restore_sums(i, sums[i]);
}

void CudaGroup::make_moments_plain(std::size_t i, int lowered) {
  if (plan_.optimizer == number::sgd) return;
  const OptimizerSettings& settings = models_[i].request.optimizer;
  const double scale = loss_scale(lowered);
  const double offset = initial_second_moment(settings, scale);
  std::vector<float> first = read_flat(first_moment_, i), second = read_flat(second_moment_, i);
  for (float& value : first) value = static_cast<float>(value * (1.0 - settings.beta1) / scale);
  for (float& value : second)
    value = static_cast<float>(std::max(0.0, value - offset) * (1.0 - settings.beta2) / (scale * scale));
  write_flat(first_moment_, i, first);
  write_flat(second_moment_, i, second);
}

void CudaGroup::take_plain_kernel() {
  is_plain_ = true;
  plan_.team = 0;
  plan_.crowd = {};
  plan_.duet = 0;
  std::int64_t batch = 1;
  for (const Model& model : models_) batch = std::max(batch, model.request.batch_size);
  spread_ = plain_spread_of(batch);
}

}  // namespace stoker::fused
