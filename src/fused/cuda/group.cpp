#include "fused/cuda/group.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/flat.h"

namespace stoker::fused {
namespace {

double dropout_of(const EngineRequest& request) {
  return mlp_shape(request.network).value().dropout;
}

std::int64_t validation_parts_of(std::int64_t rows) {
  return (rows + validation_rows_of_a_block - 1) / validation_rows_of_a_block;
}

}  // namespace

GroupKernel GroupKernel::for_models(const EngineRequest& widest) {
  std::string why_not;
  const Gpu gpu = gpu_of(widest.device);
  const std::optional<Plan> plan = plan_for(widest, gpu, why_not);
  if (!plan) refuse("engine fused: {}", why_not);
  GroupKernel made;
  made.plan = *plan;
  if (widest.precision == Precision::fp32) {
    made.become_plain(widest, gpu);
  } else {
    const std::optional<TrainKernel> kernel = kernel_for(*plan, widest.device, why_not);
    if (!kernel) refuse("engine fused: {}", why_not);
    made.fast = *kernel;
    made.spread = spread_of(*plan, clusters_at_once(*plan, *kernel), widest.batch_size);
  }
  // A launch fills the multiprocessors once: a few models more would take as long as as many again.
  made.at_once = std::clamp<std::size_t>(
      static_cast<std::size_t>(gpu.processors / made.spread.blocks(made.plan)), 1, Models::most);
  return made;
}

void GroupKernel::become_plain(const EngineRequest& widest, const Gpu& gpu) {
  is_plain = true;
  plan.team = 0;
  plan.crowd = {};
  plan.duet = 0;
  spread = plain_spread_of(widest.batch_size);
  is_split = splits_operands(plan, gpu);
  if (is_split)
    split = SplitLayout(plan, spread.passes > 1 || widest.optimizer.max_grad_norm > 0, gpu.block_bytes);
}

CudaGroup::CudaGroup(std::span<const EngineRequest> requests) {
  if (requests.empty()) fail("a group has no models");
  device_ = requests[0].device;
  stream_ = std::make_shared<OwnStream>(device_);
  kernel_ = GroupKernel::for_models(widest_of(requests));
  for (const EngineRequest& request : requests) models_.push_back({request, dropout_of(request), {}, {}});
  memory_ = std::make_unique<GroupMemory>(sizes(), device_, stream_);
  convert_rows();
  write_initial_state();
}

GroupSizes CudaGroup::sizes() const {
  GroupSizes sizes;
  sizes.models = models_.size();
  sizes.parameters = static_cast<std::size_t>(kernel_.plan.parameters());
  sizes.places = static_cast<std::size_t>(kernel_.spread.batch_places(kernel_.plan));
  sizes.sums = static_cast<std::size_t>(kernel_.spread.sums(kernel_.plan));
  sizes.counts_hits = kernel_.plan.counts_hits();
  // Steps that a part may have: their rows are listed beforehand, in at most 256 MiB for all models.
  sizes.most_steps =
      std::clamp<std::size_t>((std::size_t{64} << 20) / (sizes.places * sizes.models), 256, 65'536);
  sizes.exchange_bytes = static_cast<std::size_t>(kernel_.spread.exchange_bytes(kernel_.plan));
  std::int64_t most_validation_rows = 0;
  for (const Model& model : models_)
    most_validation_rows = std::max(most_validation_rows, model.request.validation.rows());
  sizes.validation_parts = static_cast<std::size_t>(validation_parts_of(most_validation_rows));
  return sizes;
}

// Before the state: what the rows hold may decide on the kernel, and that on the form of the moments.
void CudaGroup::convert_rows() {
  const auto convert = [&](const EngineRequest& request, const Dataset& dataset, bool for_training) {
    const Rows made =
        rows_.convert(request, dataset, kernel_.plan, for_training && !kernel_.is_plain, *stream_);
    if (!rows_.has_large_feature() || kernel_.is_plain) return made;
    if (const std::string why_not = plain_reason(); !why_not.empty())
      refuse(
          "engine fused: a feature is larger than 32,768, which fp16 operands cannot hold, and with fp32 "
          "ones: "
          "{}; choose engine graph",
          why_not);
    take_plain_kernel();
    return made;
  };
  for (Model& model : models_) {
    model.training = convert(model.request, model.request.training, true);
    if (model.request.validation.rows() > 0)
      model.validation = convert(model.request, model.request.validation, false);
  }
}

void CudaGroup::write_initial_state() {
  const std::size_t count = models_.size();
  const std::size_t each = memory_->sizes().parameters;
  std::vector<EpochWork> works;
  std::vector<float> parameters, second_moments;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> flat(each, 0.0F);
    to_flat(kernel_.plan, models_[i].request.initial_parameters, "", flat);
    parameters.insert(parameters.end(), flat.begin(), flat.end());
    second_moments.insert(second_moments.end(), each,
                          static_cast<float>(initial_second_moment_of(models_[i])));
    works.push_back(epoch_work(i));
  }
  const std::vector<double> best_losses(count, std::numeric_limits<double>::infinity());
  upload(memory_->parameters, 0, parameters.data(), count * each, stream_->get());
  upload(memory_->best_parameters, 0, parameters.data(), count * each, stream_->get());
  upload(memory_->second_moment, 0, second_moments.data(), count * each, stream_->get());
  upload(memory_->best_loss, 0, best_losses.data(), count, stream_->get());
  upload(memory_->epoch_works, 0, works.data(), count, stream_->get());
  stream_->wait();
}

double CudaGroup::loss_scale_of(const Model& model) const {
  return kernel_.is_plain ? 1 : loss_scale(model.lowered);
}

double CudaGroup::initial_second_moment_of(const Model& model) const {
  return kernel_.is_plain ? 0 : initial_second_moment(model.request.optimizer, loss_scale(model.lowered));
}

EpochWork CudaGroup::epoch_work(std::size_t i) {
  const EngineRequest& request = models_[i].request;
  const std::size_t each = memory_->sizes().parameters;
  const std::size_t sums = memory_->sizes().sums;
  EpochWork work;
  kernels::EndEpoch& end = work.end;
  end.row_sums = pointer<double>(memory_->row_sums, i * sums);
  end.row_sum_count = static_cast<std::int64_t>(sums);
  const bool counts_hits = memory_->sizes().counts_hits;
  if (counts_hits) end.train_hits = pointer<double>(memory_->row_hits, i * sums);
  end.rows = request.training.rows();
  end.steps_per_epoch = request.steps_per_epoch();
  end.patience = request.patience;
  end.min_delta = request.min_delta;
  end.counters = pointer<kernels::StepCounters>(memory_->counters, i);
  end.lines = pointer<kernels::EpochLine>(memory_->lines, i * GroupMemory::most_epochs);
  end.line_capacity = static_cast<std::int64_t>(GroupMemory::most_epochs);
  end.best_loss = pointer<double>(memory_->best_loss, i);
  end.stopped = pointer<float>(memory_->stopped, i);
  end.parameters = pointer<float>(memory_->parameters, i * each);
  end.best_parameters = pointer<float>(memory_->best_parameters, i * each);
  end.parameter_count = kernel_.plan.parameters();
  end.validation_rows = request.validation.rows();
  if (end.validation_rows > 0) {
    end.validation_sum_count = validation_parts_of(end.validation_rows);
    work.validation_parts = pointer<double>(memory_->validation_parts, i * memory_->sizes().validation_parts);
    if (counts_hits)
      end.validation_hits = pointer<double>(memory_->validation_hits, i * memory_->sizes().validation_parts);
    work.features = pointer<float>(request.validation.features());
    work.targets = pointer<RowTarget>(models_[i].validation.targets);
  }
  work.loss_shape = static_cast<float>(request.loss().shape());
  return work;
}

}  // namespace stoker::fused
