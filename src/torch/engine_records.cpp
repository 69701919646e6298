#include <algorithm>
#include <cmath>
#include <cstring>

#include <ATen/ops/all.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>

#include "engine/epoch_hits.h"
#include "torch/torch_engine.h"

// What the host learns of a chunk of steps when it has waited for the device.
namespace stoker::torch_door {

void TorchEngine::collect(ChunkResult& result) {
  const kernels::StepCounters counters = host_counters();
  next_step_ = counters.step;
  profile_.collect();
  if (counters.record_count > 0) {
    const at::Tensor host = lines_.narrow(0, 0, counters.record_count).to(at::kCPU);
    at::Tensor losses;
    if (loss_lines_.defined()) losses = loss_lines_.narrow(0, 0, counters.record_count).to(at::kCPU);
    for (std::int64_t i = 0; i < counters.record_count; ++i) {
      kernels::EpochLine line;
      std::memcpy(static_cast<void*>(&line), host.const_data_ptr<std::int64_t>() + i * line_words,
                  sizeof line);
      EpochRecord record;
      record.epoch = line.epoch;
      record.train_loss = line.train_loss;
      if (validation_) record.validation_loss = line.validation_loss;
      record.is_best = line.is_best != 0;
      if (norms_) record.gradient_norm = norms_->of_line(i);
      if (losses.defined()) record.values = loss_values(losses.const_data_ptr<double>() + i * losses.size(1));
      add_accuracy(line, request_, record);
      result.finished_epochs.push_back(record);
    }
  }
  result.stopped_early = has_stopped();
  result.waiting_seconds += window_ ? window_->take_waiting() : shards_.take_waiting();
  if (precision_ != Precision::fp32 && !is_sound(result)) result.is_sound = false;
}

// A weight that is not finite shows in the loss of the next step.
bool TorchEngine::is_sound(const ChunkResult& result) const {
  const bool are_finite = std::all_of(result.finished_epochs.begin(), result.finished_epochs.end(),
                                      [](const EpochRecord& each) { return std::isfinite(each.train_loss); });
  return are_finite && at::all(at::isfinite(losses_->sums())).item<bool>() &&
         (!scaling_ || scaling_->is_enough());
}

// Of one line of loss_lines_.
std::vector<NamedValue> TorchEngine::loss_values(const double* means) const {
  std::vector<NamedValue> values;
  const std::size_t count = request_.losses.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = request_.losses[i].name;
    values.push_back({"train_" + name, means[i]});
    if (validation_ && !request_.losses[i].is_of_training_alone)
      values.push_back({"validation_" + name, means[count + i]});
  }
  return values;
}

bool TorchEngine::has_stopped() const {
  return stopped_.to(at::kCPU).const_data_ptr<float>()[0] != 0;
}

const kernels::StepCounters* TorchEngine::device_counters() const {
  return reinterpret_cast<const kernels::StepCounters*>(counters_.const_data_ptr());
}

kernels::StepCounters TorchEngine::host_counters() const {
  kernels::StepCounters counters;
  const at::Tensor host = counters_.to(at::kCPU);
  std::memcpy(static_cast<void*>(&counters), host.const_data_ptr(), sizeof counters);
  return counters;
}

void TorchEngine::set_counters(const kernels::StepCounters& counters) {
  at::Tensor host = at::empty({counter_words}, integers_on(Device::cpu()));
  std::memcpy(host.mutable_data_ptr(), &counters, sizeof counters);
  counters_.copy_(host);
}

}  // namespace stoker::torch_door
