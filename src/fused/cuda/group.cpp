#include "fused/cuda/group.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "engine/class_numbers.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/flat.h"

namespace stoker::fused {
OwnStream::OwnStream(Device device) {
  check(cudaSetDevice(device.index), "choosing a GPU");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}
OwnStream::~OwnStream() {
  cudaStreamDestroy(stream_);
}
void OwnStream::wait() const {
  check(cudaStreamSynchronize(stream_), "training");
}

namespace {

double dropout_of(const EngineRequest& request) {
  return mlp_shape(request.network).value().dropout;
}

}  // namespace

CudaGroup::CudaGroup(std::span<const EngineRequest> requests) {
  if (requests.empty()) fail("a group without models");
  device_ = requests[0].device;
  stream_ = std::make_unique<OwnStream>(device_);
  std::string why_not;
  const EngineRequest widest = widest_of(requests);
  const Gpu gpu = gpu_of(device_);
  const std::optional<Plan> plan = plan_for(widest, gpu, why_not);
  if (!plan) refuse("engine fused: {}", why_not);
  plan_ = *plan;
  is_plain_ = widest.precision == Precision::fp32;
  for (const EngineRequest& request : requests)
    models_.push_back({request, dropout_of(request), {}, {}, 0, false});
  if (is_plain_) {
    spread_ = plain_spread_of(widest.batch_size);
  } else {
    const std::optional<TrainKernel> kernel = kernel_for(*plan, device_, why_not);
    if (!kernel) refuse("engine fused: {}", why_not);
    kernel_ = *kernel;
    spread_ = spread_of(plan_, clusters_at_once(plan_, kernel_), widest.batch_size);
  }
  places_ = static_cast<std::size_t>(spread_.batch_places(plan_));
  sums_ = static_cast<std::size_t>(spread_.sums(plan_));
  // A launch fills the multiprocessors once: a few models more would take as long as as many again.
  at_once_ = std::clamp<std::size_t>(static_cast<std::size_t>(gpu.processors / spread_.blocks(plan_)), 1,
                                     Models::most);
  make_memory();
}

void CudaGroup::make_memory() {
  const std::size_t count = models_.size();
  const auto each = static_cast<std::size_t>(plan_.parameters());
  // Steps that a part may have: their rows are listed beforehand, in at most 256 MiB for all models.
  most_steps_ = std::clamp<std::int64_t>(
      (std::int64_t{64} << 20) / static_cast<std::int64_t>(places_ * count), 256, 65'536);
  parameters_ = device_memory<float>(count * each, device_, stream_->get());
  first_moment_ = device_memory<float>(count * each, device_, stream_->get());
  second_moment_ = device_memory<float>(count * each, device_, stream_->get());
  best_parameters_ = device_memory<float>(count * each, device_, stream_->get());
  row_sums_ = device_memory<double>(count * sums_, device_, stream_->get());
  best_loss_ = device_memory<double>(count, device_, stream_->get());
  stopped_ = device_memory<float>(count, device_, stream_->get());
  counters_ = device_memory<kernels::StepCounters>(count, device_, stream_->get());
  lines_ = device_memory<kernels::EpochLine>(count * most_epochs, device_, stream_->get());
  rates_ = device_memory<float>(count * static_cast<std::size_t>(most_steps_), device_, stream_->get());
  staged_rates_ = Array(DType::float32, {static_cast<std::int64_t>(count), most_steps_}, Memory::pinned);
  order_ = device_memory<std::int32_t>(count * static_cast<std::size_t>(most_steps_) * places_, device_,
                                       stream_->get());
  steps_works_ = device_memory<StepsWork>(count, device_, stream_->get());
  arrivals_ = device_memory<std::uint32_t>(16, device_, stream_->get());
  exchange_ = device_memory<std::uint8_t>(static_cast<std::size_t>(spread_.exchange_bytes(plan_)), device_,
                                          stream_->get());
  factors_ =
      device_memory<StepFactors>(count * static_cast<std::size_t>(most_steps_), device_, stream_->get());
  flags_ = device_memory<std::uint32_t>(count, device_, stream_->get());
  gradients_ = device_memory<float>(count * each, device_, stream_->get());
  for (const Model& model : models_)
    most_validation_rows_ = std::max(most_validation_rows_, model.request.validation.rows());
  const std::int64_t tiles =
      (most_validation_rows_ + validation_rows_of_a_block - 1) / validation_rows_of_a_block;
  validation_parts_ = device_memory<double>(count * static_cast<std::size_t>(tiles), device_, stream_->get());
  epoch_works_ = device_memory<EpochWork>(count, device_, stream_->get());

  // Rows first: what they hold may decide on the kernel, and that on the form of the moments.
  for (Model& model : models_) {
    model.training = convert_rows(model.request, model.request.training, true);
    if (model.request.validation.rows() > 0)
      model.validation = convert_rows(model.request, model.request.validation, false);
  }
  write_initial_state();
}

void CudaGroup::write_initial_state() {
  const std::size_t count = models_.size();
  const auto each = static_cast<std::size_t>(plan_.parameters());
  std::vector<EpochWork> works;
  std::vector<float> parameters, second_moments;
  for (std::size_t i = 0; i < count; ++i) {
    const EngineRequest& request = models_[i].request;
    std::vector<float> flat(each, 0.0F);
    to_flat(plan_, request.initial_parameters, "", flat);
    parameters.insert(parameters.end(), flat.begin(), flat.end());
    second_moments.insert(second_moments.end(), each, static_cast<float>(initial_second_moment(models_[i])));
    works.push_back(epoch_work(i));
  }
  const std::vector<double> best_losses(count, std::numeric_limits<double>::infinity());
  upload(parameters_, 0, parameters.data(), count * each, stream_->get());
  upload(best_parameters_, 0, parameters.data(), count * each, stream_->get());
  upload(second_moment_, 0, second_moments.data(), count * each, stream_->get());
  upload(best_loss_, 0, best_losses.data(), count, stream_->get());
  upload(epoch_works_, 0, works.data(), count, stream_->get());
  stream_->wait();
}

// Keeps fp16's gradients in its range: what is smaller than 6e-8 / 1024 counts as 0.
double CudaGroup::loss_scale(const Model& model) const {
  return is_plain_ ? 1 : loss_scale(model.lowered);
}
double CudaGroup::loss_scale(int lowered) {
  return std::ldexp(1.0, 10 - 10 * lowered);
}

// The fast kernels carry Adam's epsilon within the second moment: v / (1 - beta2) + epsilon^2 / (1 - beta2),
// both times the loss scale squared.
double CudaGroup::initial_second_moment(const Model& model) const {
  return is_plain_ ? 0 : initial_second_moment(model.request.optimizer, loss_scale(model));
}
double CudaGroup::initial_second_moment(const OptimizerSettings& settings, double scale) {
  if (settings.kind == Optimizer::sgd) return 0;
  const double scaled = settings.epsilon * scale;
  return std::max(scaled * scaled / (1.0 - settings.beta2), 1e-30);
}

void CudaGroup::become_plain_for_large_features() {
  if (const std::string why_not = plain_reason(); !why_not.empty())
    refuse(
        "engine fused: a feature is larger than 32,768, which fp16 operands cannot hold, and with fp32 ones: "
        "{}; choose engine graph",
        why_not);
  take_plain_kernel();
}

// Once, before a kernel takes them for the places of outputs.
void CudaGroup::check_classes(const EngineRequest& request, const Dataset& dataset) const {
  const ClassRange none{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  Array range = device_memory<ClassRange>(1, device_, stream_->get());
  upload(range, 0, &none, 1, stream_->get());
  check(find_class_range(pointer<std::int64_t>(dataset.targets()), dataset.rows(), pointer<ClassRange>(range),
                         stream_->get()),
        "looking at the classes");
  stream_->wait();
  const ClassRange found = download<ClassRange>(range, 0, 1)[0];
  refuse_unknown_classes(found.least, found.most, request.network.outputs);
}

CudaGroup::Rows CudaGroup::convert_rows(const EngineRequest& request, const Dataset& dataset,
                                        bool for_training) {
  const Array* weights = dataset.find(Role::weights);
  const auto key = std::make_tuple(dataset.features().data(), dataset.targets().data(),
                                   weights == nullptr ? nullptr : weights->data(), for_training);
  if (const auto found = shared_rows_.find(key); found != shared_rows_.end()) return found->second;
  if (request.loss().kind == Loss::cross_entropy) check_classes(request, dataset);
  const auto count = static_cast<std::size_t>(dataset.rows());
  Rows made;
  made.targets = device_memory<RowTarget>(count, device_, stream_->get());
  const bool as_half = for_training && !is_plain_;
  if (as_half)
    made.half_features = device_memory<std::uint16_t>(count * static_cast<std::size_t>(plan_.depth(0)),
                                                      device_, stream_->get());
  RowsWork work;
  work.features = pointer<float>(dataset.features());
  if (request.loss().kind == Loss::cross_entropy) {
    work.class_targets = pointer<std::int64_t>(dataset.targets());
  } else {
    work.float_targets = pointer<float>(dataset.targets());
  }
  work.weights = weights == nullptr ? nullptr : pointer<float>(*weights);
  work.rows = dataset.rows();
  work.columns = plan_.width[0];
  work.depth = plan_.depth(0);
  work.half_features = as_half ? pointer<std::uint16_t>(made.half_features) : nullptr;
  work.targets = pointer<RowTarget>(made.targets);
  work.beyond = pointer<std::uint32_t>(flags_);
  check(prepare_rows(work, stream_->get()), "preparing rows");
  stream_->wait();
  if (download<std::uint32_t>(flags_, 0, 1)[0] != 0) become_plain_for_large_features();
  shared_rows_.emplace(key, made);
  return made;
}

EpochWork CudaGroup::epoch_work(std::size_t i) {
  const EngineRequest& request = models_[i].request;
  const auto each = static_cast<std::size_t>(plan_.parameters());
  EpochWork work;
  kernels::EndEpoch& end = work.end;
  end.row_sums = pointer<double>(row_sums_, i * sums_);
  end.row_sum_count = static_cast<std::int64_t>(sums_);
  end.rows = request.training.rows();
  end.steps_per_epoch = request.steps_per_epoch();
  end.patience = request.patience;
  end.min_delta = request.min_delta;
  end.counters = pointer<kernels::StepCounters>(counters_, i);
  end.lines = pointer<kernels::EpochLine>(lines_, i * most_epochs);
  end.line_capacity = most_epochs;
  end.best_loss = pointer<double>(best_loss_, i);
  end.stopped = pointer<float>(stopped_, i);
  end.parameters = pointer<float>(parameters_, i * each);
  end.best_parameters = pointer<float>(best_parameters_, i * each);
  end.parameter_count = plan_.parameters();
  end.validation_rows = request.validation.rows();
  if (end.validation_rows > 0) {
    const std::int64_t most =
        (most_validation_rows_ + validation_rows_of_a_block - 1) / validation_rows_of_a_block;
    end.validation_sum_count =
        (end.validation_rows + validation_rows_of_a_block - 1) / validation_rows_of_a_block;
    work.validation_parts = pointer<double>(validation_parts_, i * static_cast<std::size_t>(most));
    work.features = pointer<float>(request.validation.features());
    work.targets = pointer<RowTarget>(models_[i].validation.targets);
  }
  work.huber_delta = static_cast<float>(request.loss().huber_delta);
  return work;
}

}  // namespace stoker::fused
