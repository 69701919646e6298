#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/epoch_sums.h"
#include "fused/cuda/flat.h"
#include "fused/cuda/group.h"

// What a group gives, takes and goes back to.
namespace stoker::fused {

NamedArrays CudaGroup::state(std::size_t i) const {
  NamedArrays state;
  append_from_flat(kernel_.plan, memory_->read(memory_->parameters, i).data(), "parameters.", state);
  append_from_flat(kernel_.plan, memory_->read(memory_->first_moment, i).data(), "first_moment.", state);
  if (kernel_.plan.optimizer != number::sgd)
    append_from_flat(kernel_.plan, memory_->read(memory_->second_moment, i).data(), "second_moment.", state);
  if (models_[i].request.validation.rows() > 0) {
    append_from_flat(kernel_.plan, memory_->read(memory_->best_parameters, i).data(), "best_parameters.",
                     state);
    state.push_back(
        {"best_validation_loss", Array::from<double>(download<double>(memory_->best_loss, i, 1), {1})});
  }
  const auto counters = download<kernels::StepCounters>(memory_->counters, i, 1)[0];
  const std::array<std::int64_t, 4> numbers{counters.step, counters.since_best, models_[i].stopped ? 1 : 0,
                                            kernel_.is_plain ? plain_form : models_[i].lowered};
  state.push_back({"counters", Array::from<std::int64_t>(numbers, {4})});
  state.push_back({"row_sums", Array::from<double>(saved_sums(i), {models_[i].request.batch_size})});
  if (memory_->sizes().counts_hits)
    state.push_back({"train_hits", Array::from<double>(std::array{saved_hits(i)}, {1})});
  return state;
}

double CudaGroup::saved_hits(std::size_t i) const {
  const std::size_t sums = memory_->sizes().sums;
  const std::vector<double> hits = download<double>(memory_->row_hits, i * sums, sums);
  return std::accumulate(hits.begin(), hits.end(), 0.0);
}

void CudaGroup::restore_hits(std::size_t i, double hits) {
  std::vector<double> sums(memory_->sizes().sums, 0.0);
  sums.front() = hits;
  upload(memory_->row_hits, i * sums.size(), sums.data(), sums.size(), stream_->get());
  stream_->wait();
}

std::vector<double> CudaGroup::saved_sums(std::size_t i) const {
  const std::size_t sums = memory_->sizes().sums;
  return sums_by_place(kernel_.spread, download<double>(memory_->row_sums, i * sums, sums),
                       models_[i].request.batch_size);
}

void CudaGroup::restore_sums(std::size_t i, std::span<const double> by_place) {
  const std::vector<double> sums = sums_to_go_on(kernel_.spread, by_place, memory_->sizes().sums);
  upload(memory_->row_sums, i * sums.size(), sums.data(), sums.size(), stream_->get());
  stream_->wait();
}

// The moments are saved as the kernel keeps them, which is the same for all plans but that of fp32 operands:
// the group and the model are made ready for them.
void CudaGroup::take_form(std::size_t i, std::int64_t form) {
  if (form != plain_form && (form < 0 || form > most_lowered)) refuse("the saved state has an unknown form");
  if (form == plain_form && !kernel_.is_plain) {
    if (const std::string why_not = plain_reason(); !why_not.empty())
      refuse(
          "the saved state was trained with fp32 operands, which cannot be used here: {}; train from the "
          "beginning",
          why_not);
    become_plain();
  }
  // A neighbour's overflow may have made the group plain; a request for fp32 is another training.
  if (kernel_.is_plain && form != plain_form && models_[i].request.precision == Precision::fp32)
    refuse("the saved state was trained with a different precision");
  if (kernel_.is_plain) return;
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
    std::vector<float> flat = memory_->read(array, i);
    to_flat(kernel_.plan, state, prefix, flat);
    memory_->write(array, i, flat);
  };
  const auto numbers = checked("counters", DType::int64, {4}).as<std::int64_t>();
  if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state has a negative number of steps");
  const std::int64_t form = numbers[3];
  take_form(i, form);
  restore_flat(memory_->parameters, "parameters.");
  restore_flat(memory_->first_moment, "first_moment.");
  if (kernel_.plan.optimizer != number::sgd) restore_flat(memory_->second_moment, "second_moment.");
  if (kernel_.is_plain && form != plain_form) make_moments_plain(i, static_cast<int>(form));
  if (models_[i].request.validation.rows() > 0) {
    restore_flat(memory_->best_parameters, "best_parameters.");
    upload(memory_->best_loss, i, checked("best_validation_loss", DType::float64, {1}).as<double>().data(), 1,
           stream_->get());
  }
  kernels::StepCounters counters;
  counters.step = numbers[0];
  counters.since_best = numbers[1];
  upload(memory_->counters, i, &counters, 1, stream_->get());
  const float stopped = numbers[2] != 0 ? 1.0F : 0.0F;
  upload(memory_->stopped, i, &stopped, 1, stream_->get());
  restore_sums(i, checked("row_sums", DType::float64, {models_[i].request.batch_size}).as<double>());
  if (memory_->sizes().counts_hits) {
    // Earlier versions did not count: the epoch that is under way has no accuracy.
    const bool is_known = std::ranges::find(state, "train_hits", &NamedArray::name) != state.end();
    restore_hits(i, is_known ? checked("train_hits", DType::float64, {1}).as<double>()[0] : std::nan(""));
  }
  models_[i].next_step = counters.step;
  models_[i].stopped = stopped != 0;
}

NamedArrays CudaGroup::parameters(std::size_t i) const {
  NamedArrays arrays;
  append_from_flat(kernel_.plan, memory_->read(memory_->parameters, i).data(), "", arrays);
  return arrays;
}

NamedArrays CudaGroup::best_parameters(std::size_t i) const {
  const bool has_best = models_[i].request.validation.rows() > 0 &&
                        std::isfinite(download<double>(memory_->best_loss, i, 1)[0]);
  NamedArrays arrays;
  append_from_flat(kernel_.plan,
                   memory_->read(has_best ? memory_->best_parameters : memory_->parameters, i).data(), "",
                   arrays);
  return arrays;
}

void CudaGroup::keep_copy() {
  memory_->keep_copy();
  for (Model& model : models_) {
    model.copied_step = model.next_step;
    model.copied_lowered = model.lowered;
  }
}

std::vector<std::size_t> CudaGroup::out_of_range() {
  check(cudaMemsetAsync(memory_->flags.data(), 0, memory_->flags.bytes(), stream_->get()), "clearing flags");
  check(find_beyond(pointer<float>(memory_->parameters), kernel_.plan.parameters(),
                    static_cast<int>(models_.size()), std::numeric_limits<float>::max(),
                    pointer<std::uint32_t>(memory_->flags), stream_->get()),
        "looking for infinities");
  stream_->wait();
  const std::vector<std::uint32_t> flags = download<std::uint32_t>(memory_->flags, 0, models_.size());
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
  memory_->go_back_to_copy();
  for (const std::size_t i : to_lower) ++models_[i].lowered;
  // The copies have the scale that was theirs, however often it was lowered since.
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i].next_step = models_[i].copied_step;
    if (to_lower.empty())
      models_[i].lowered = models_[i].copied_lowered;
    else
      rescale_moments(i, models_[i].copied_lowered, models_[i].lowered);
  }
  if (to_lower.empty()) become_plain();
  return true;
}

void CudaGroup::rescale_moments(std::size_t i, int from, int to) {
  if (from == to || kernel_.plan.optimizer == number::sgd) return;  // reading and writing them waits
  Moments moments = memory_->read_moments(i);
  rescale(moments, models_[i].request.optimizer, from, to);
  memory_->write_moments(i, moments);
}

void CudaGroup::make_moments_plain(std::size_t i, int lowered) {
  if (kernel_.plan.optimizer == number::sgd) return;
  Moments moments = memory_->read_moments(i);
  make_plain(moments, models_[i].request.optimizer, lowered);
  memory_->write_moments(i, moments);
}

EngineRequest CudaGroup::widest() const {
  std::vector<EngineRequest> requests;
  for (const Model& model : models_) requests.push_back(model.request);
  return widest_of(requests);
}

std::string CudaGroup::plain_reason() const {
  std::string why_not;
  plain_plan_for(widest(), gpu_of(device_), why_not);
  return why_not;
}

// Moments and sums in the form of the fp32 kernels; batches lie in their passes from now on.
void CudaGroup::become_plain() {
  std::vector<std::vector<double>> sums;
  std::vector<double> hits;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    make_moments_plain(i, models_[i].lowered);
    sums.push_back(saved_sums(i));
    if (memory_->sizes().counts_hits) hits.push_back(saved_hits(i));
  }
  take_plain_kernel();
  for (std::size_t i = 0; i < models_.size(); ++i) {
    restore_sums(i, sums[i]);
    if (!hits.empty()) restore_hits(i, hits[i]);
  }
}

void CudaGroup::take_plain_kernel() {
  kernel_.become_plain(widest(), gpu_of(device_));
}

}  // namespace stoker::fused
