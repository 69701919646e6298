#include "fused/cuda/group_memory.h"

#include "fused/cuda/device_memory.h"
#include "fused/cuda/kernels.h"

namespace stoker::fused {

GroupMemory::GroupMemory(const GroupSizes& sizes, Device device, std::shared_ptr<const OwnStream> stream)
    : sizes_(sizes), device_(device), stream_(std::move(stream)) {
  const Stream in = stream_->get();
  const std::size_t all_parameters = sizes.models * sizes.parameters;
  const std::size_t all_steps = sizes.models * sizes.most_steps;
  parameters = device_memory<float>(all_parameters, device, in);
  first_moment = device_memory<float>(all_parameters, device, in);
  second_moment = device_memory<float>(all_parameters, device, in);
  best_parameters = device_memory<float>(all_parameters, device, in);
  row_sums = device_memory<double>(sizes.models * sizes.sums, device, in);
  row_hits = device_memory<double>(sizes.counts_hits ? sizes.models * sizes.sums : 0, device, in);
  best_loss = device_memory<double>(sizes.models, device, in);
  stopped = device_memory<float>(sizes.models, device, in);
  counters = device_memory<kernels::StepCounters>(sizes.models, device, in);
  lines = device_memory<kernels::EpochLine>(sizes.models * most_epochs, device, in);
  rates = device_memory<float>(all_steps, device, in);
  staged_rates = Array(DType::float32,
                       {static_cast<std::int64_t>(sizes.models), static_cast<std::int64_t>(sizes.most_steps)},
                       Memory::pinned);
  order = device_memory<std::int32_t>(all_steps * sizes.places, device, in);
  steps_works = device_memory<StepsWork>(sizes.models, device, in);
  arrivals = device_memory<std::uint32_t>(16, device, in);
  exchange = device_memory<std::uint8_t>(sizes.exchange_bytes, device, in);
  factors = device_memory<StepFactors>(all_steps, device, in);
  flags = device_memory<std::uint32_t>(sizes.models, device, in);
  gradients = device_memory<float>(all_parameters, device, in);
  validation_parts = device_memory<double>(sizes.models * sizes.validation_parts, device, in);
  validation_hits =
      device_memory<double>(sizes.counts_hits ? sizes.models * sizes.validation_parts : 0, device, in);
  epoch_works = device_memory<EpochWork>(sizes.models, device, in);
}

std::vector<float> GroupMemory::read(const Array& array, std::size_t model) const {
  return download<float>(array, model * sizes_.parameters, sizes_.parameters);
}

void GroupMemory::write(Array& array, std::size_t model, const std::vector<float>& values) {
  upload(array, model * sizes_.parameters, values.data(), values.size(), stream_->get());
  stream_->wait();
}

Moments GroupMemory::read_moments(std::size_t model) const {
  return {read(first_moment, model), read(second_moment, model)};
}

void GroupMemory::write_moments(std::size_t model, const Moments& moments) {
  write(first_moment, model, moments.first);
  write(second_moment, model, moments.second);
}

std::vector<Array*> GroupMemory::changing() {
  return {&parameters, &first_moment, &second_moment, &best_parameters, &row_sums,
          &row_hits,   &best_loss,    &stopped,       &counters};
}

void GroupMemory::keep_copy() {
  const std::vector<Array*> arrays = changing();
  if (copies_.empty())
    for (const Array* array : arrays)
      copies_.push_back(device_memory<std::uint8_t>(array->bytes(), device_, stream_->get()));
  for (std::size_t i = 0; i < arrays.size(); ++i)
    check(cudaMemcpyAsync(copies_[i].data(), arrays[i]->data(), arrays[i]->bytes(), cudaMemcpyDeviceToDevice,
                          stream_->get()),
          "keeping a copy");
}

void GroupMemory::go_back_to_copy() {
  const std::vector<Array*> arrays = changing();
  for (std::size_t i = 0; i < arrays.size(); ++i)
    check(cudaMemcpyAsync(arrays[i]->data(), copies_[i].data(), arrays[i]->bytes(), cudaMemcpyDeviceToDevice,
                          stream_->get()),
          "going back to a copy");
  stream_->wait();
}

}  // namespace stoker::fused
