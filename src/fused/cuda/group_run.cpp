#include <algorithm>
#include <array>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/random.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/fp32/plain.h"
#include "fused/cuda/group.h"

// What a group launches, part by part.
namespace stoker::fused {

ModelWork CudaGroup::model_work(std::size_t i, std::int64_t offset, std::int64_t steps) const {
  const Model& model = models_[i];
  const OptimizerSettings& settings = model.request.optimizer;
  const auto each = static_cast<std::size_t>(plan_.parameters());
  const auto first = i * static_cast<std::size_t>(most_steps_) + static_cast<std::size_t>(offset);
  const float probability = static_cast<float>(model.dropout);
  ModelWork work{};
  work.features = pointer<std::uint16_t>(model.training.half_features);
  work.targets = pointer<RowTarget>(model.training.targets);
  work.order = pointer<std::int32_t>(order_, first * places_);
  work.factors = pointer<StepFactors>(factors_, first);
  work.parameters = const_cast<float*>(pointer<float>(parameters_, i * each));
  work.first_moment = const_cast<float*>(pointer<float>(first_moment_, i * each));
  work.second_moment = const_cast<float*>(pointer<float>(second_moment_, i * each));
  work.row_sums = const_cast<double*>(pointer<double>(row_sums_, i * sums_));
  work.stopped = pointer<float>(stopped_, i);
  work.seed = model.request.seed;
  work.first_step = model.next_step;
  work.steps = static_cast<std::int32_t>(steps);
  work.dropout_threshold = dropout_threshold(probability);
  work.dropout_scale = 1.0F / (1.0F - probability);
  const bool is_sgd = settings.kind == Optimizer::sgd;
  work.beta1 = static_cast<float>(is_sgd ? settings.momentum : settings.beta1);
  work.beta2 = static_cast<float>(settings.beta2);
  work.epsilon = static_cast<float>(initial_second_moment(model) * (1.0 - settings.beta2));
  if (settings.kind == Optimizer::adam)
    work.weight_decay = static_cast<float>(settings.weight_decay * loss_scale(model));
  if (is_sgd) work.weight_decay = static_cast<float>(settings.weight_decay);
  work.huber_delta = static_cast<float>(model.request.loss().huber_delta);
  work.unscale = static_cast<float>(1.0 / loss_scale(model));
  work.max_grad_norm = static_cast<float>(settings.max_grad_norm);
  work.order_stride = static_cast<std::int32_t>(places_);
  work.passes = spread_.passes;
  work.clusters = spread_.clusters;
  work.arrivals = const_cast<std::uint32_t*>(pointer<std::uint32_t>(arrivals_));
  work.exchange = reinterpret_cast<float4*>(const_cast<std::uint8_t*>(pointer<std::uint8_t>(exchange_)));
  return work;
}

// Blocks that meet in device memory must all be running: a cooperative launch waits until they can.
void CudaGroup::launch_fast(const Models& models, std::size_t count) {
  const bool meets = spread_.meets_in_memory(plan_);
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned used = 0;
  if (plan_.team > 0) {
    attributes[used].id = cudaLaunchAttributeClusterDimension;
    attributes[used++].val.clusterDim = {static_cast<unsigned>(plan_.team), 1, 1};
  }
  if (meets) {
    attributes[used].id = cudaLaunchAttributeCooperative;
    attributes[used++].val.cooperative = 1;
  }
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(count) * static_cast<unsigned>(spread_.blocks(plan_)));
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = static_cast<std::size_t>(plan_.shared_bytes());
  launch.stream = stream_->get();
  launch.attrs = attributes.data();
  launch.numAttrs = used;
  if (meets)
    check(cudaMemsetAsync(arrivals_.data(), 0, arrivals_.bytes(), stream_->get()), "clearing a counter");
  void* arguments[] = {const_cast<Models*>(&models)};
  check(cudaLaunchKernelExC(&launch, kernel_.function, arguments), "starting the fused kernel");
}

void CudaGroup::launch_plain(std::size_t first, std::size_t count, const Models& models,
                             const std::vector<std::int64_t>& offsets) {
  auto plain = std::make_unique<PlainModels>();
  for (std::size_t i = 0; i < count; ++i) {
    const EngineRequest& request = models_[first + i].request;
    const OptimizerSettings& settings = request.optimizer;
    PlainWork& work = plain->model[i];
    work.model = models.model[i];
    work.features = pointer<float>(request.training.features());
    work.gradients = pointer<float>(gradients_, (first + i) * static_cast<std::size_t>(plan_.parameters()));
    work.rates = pointer<float>(rates_, (first + i) * static_cast<std::size_t>(most_steps_) +
                                            static_cast<std::size_t>(offsets[first + i]));
    work.beta1 = settings.kind == Optimizer::sgd ? settings.momentum : settings.beta1;
    work.beta2 = settings.beta2;
    work.epsilon = settings.epsilon;
    work.weight_decay = settings.weight_decay;
  }
  check(train_plainly(plan_, *plain, static_cast<int>(count), stream_->get()), "starting the plain kernel");
}

std::vector<ChunkResult> CudaGroup::run(std::span<const Chunk> chunks) {
  if (chunks.size() != models_.size()) fail("{} chunks for {} models", chunks.size(), models_.size());
  check(cudaSetDevice(device_.index), "choosing a GPU");
  std::vector<ChunkResult> results(models_.size());
  std::vector<std::int64_t> done(models_.size(), 0);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    results[i].stopped_early = models_[i].stopped;
    if (!models_[i].stopped && !chunks[i].learning_rates.empty() &&
        chunks[i].first_step != models_[i].next_step)
      fail("a chunk that begins with step {} cannot follow step {}", chunks[i].first_step,
           models_[i].next_step);
  }
  const auto is_left = [&](std::size_t i) {
    return !models_[i].stopped && done[i] < static_cast<std::int64_t>(chunks[i].learning_rates.size());
  };
  const auto any_left = [&] {
    for (std::size_t i = 0; i < models_.size(); ++i)
      if (is_left(i)) return true;
    return false;
  };
  while (any_left()) run_part(chunks, done, results);
  return results;
}

// A part is what the device's lists hold: the host waits once, at its end.
void CudaGroup::run_part(std::span<const Chunk> chunks, std::vector<std::int64_t>& done,
                         std::vector<ChunkResult>& results) {
  std::vector<std::int64_t> counts(models_.size(), 0);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i].stopped) continue;
    const std::int64_t left = static_cast<std::int64_t>(chunks[i].learning_rates.size()) - done[i];
    const std::int64_t by_epochs = models_[i].request.steps_per_epoch() * (most_epochs - 1);
    counts[i] = std::min({left, most_steps_, by_epochs});
  }
  if (!is_plain_) keep_copy();
  prepare_part(chunks, done, counts);
  train_part(counts);
  while (!is_plain_ && go_back(out_of_range())) {
    prepare_part(chunks, done, counts);
    train_part(counts);
  }
  for (std::size_t i = 0; i < models_.size(); ++i) done[i] += counts[i];
  collect(results);
}

StepsWork CudaGroup::steps_work(std::size_t i, std::int64_t steps) {
  const EngineRequest& request = models_[i].request;
  const auto first = i * static_cast<std::size_t>(most_steps_);
  StepsWork work;
  work.seed = request.seed;
  work.rows = request.training.rows();
  work.batch = request.batch_size;
  work.stride = static_cast<std::int64_t>(places_);
  work.steps_per_epoch = request.steps_per_epoch();
  work.first_step = models_[i].next_step;
  work.steps = steps;
  work.rates = pointer<float>(rates_, first);
  work.optimizer = plan_.optimizer;
  work.beta1 = request.optimizer.beta1;
  work.beta2 = request.optimizer.beta2;
  work.weight_decay = request.optimizer.weight_decay;
  work.loss_scale = loss_scale(models_[i]);
  work.order = pointer<std::int32_t>(order_, first * places_);
  work.factors = pointer<StepFactors>(factors_, first);
  return work;
}

// The host gathers the learning rates while the device lists the rows. Whoever comes here has waited for the
// part before, so the place where they are gathered is free.
void CudaGroup::prepare_part(std::span<const Chunk> chunks, const std::vector<std::int64_t>& done,
                             const std::vector<std::int64_t>& counts) {
  const auto pitch = static_cast<std::size_t>(most_steps_);
  const int total = static_cast<int>(models_.size());
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<StepsWork> works;
  for (std::size_t i = 0; i < models_.size(); ++i) works.push_back(steps_work(i, counts[i]));
  upload(steps_works_, 0, works.data(), works.size(), stream_->get());
  check(list_rows(pointer<StepsWork>(steps_works_), total, most, static_cast<std::int64_t>(places_),
                  stream_->get()),
        "listing rows");
  for (std::size_t i = 0; i < models_.size(); ++i)
    std::copy_n(chunks[i].learning_rates.begin() + done[i], counts[i],
                staged_rates_.as<float>().begin() + static_cast<std::ptrdiff_t>(i * pitch));
  check(cudaMemcpy2DAsync(rates_.data(), pitch * sizeof(float), staged_rates_.data(), pitch * sizeof(float),
                          static_cast<std::size_t>(most) * sizeof(float), models_.size(),
                          cudaMemcpyHostToDevice, stream_->get()),
        "copying learning rates to the GPU");
  check(prepare_factors(pointer<StepsWork>(steps_works_), total, most, stream_->get()), "preparing steps");
}

void CudaGroup::launch(std::size_t first, std::size_t count, const std::vector<std::int64_t>& offsets,
                       const std::vector<std::int64_t>& steps) {
  Advance advance{};
  bool any = false;
  std::int64_t validation_rows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Model& model = models_[first + i];
    const std::int64_t taken = steps[first + i];
    works_->model[i] = model_work(first + i, offsets[first + i], taken);
    advance.steps[i] = static_cast<std::int32_t>(taken);
    any = any || taken > 0;
    if (taken > 0 && (model.next_step + taken) % model.request.steps_per_epoch() == 0)
      validation_rows = std::max(validation_rows, model.request.validation.rows());
  }
  if (!any) return;
  if (is_plain_) {
    launch_plain(first, count, *works_, offsets);
  } else {
    launch_fast(*works_, count);
  }
  check(judge_epochs(plan_, pointer<EpochWork>(epoch_works_, first), advance, static_cast<int>(count),
                     validation_rows, stream_->get()),
        "judging an epoch");
}

// Launches run to each model's next epoch end, where its validation is.
void CudaGroup::train_part(const std::vector<std::int64_t>& counts) {
  const std::size_t total = models_.size();
  // Models whose blocks meet in device memory go one by one: the counters are one model's.
  const std::size_t at_once = spread_.meets_in_memory(plan_) ? 1 : is_plain_ ? PlainModels::most : at_once_;
  std::vector<std::int64_t> offsets(total, 0), steps(total, 0);
  for (;;) {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < total; ++i) {
      const std::int64_t per_epoch = models_[i].request.steps_per_epoch();
      steps[i] = std::min(counts[i] - offsets[i], per_epoch - models_[i].next_step % per_epoch);
      most = std::max(most, steps[i]);
    }
    if (most == 0) return;
    for (std::size_t first = 0; first < total; first += at_once)
      launch(first, std::min(total - first, at_once), offsets, steps);
    for (std::size_t i = 0; i < total; ++i) {
      offsets[i] += steps[i];
      models_[i].next_step += steps[i];
    }
  }
}

// Of all models at once; they lie most_epochs apart on the device and `most` apart here.
std::vector<kernels::EpochLine> CudaGroup::download_lines(std::size_t most) const {
  constexpr std::size_t size = sizeof(kernels::EpochLine);
  std::vector<kernels::EpochLine> lines(models_.size() * most);
  if (most > 0)
    check(cudaMemcpy2D(lines.data(), most * size, lines_.data(), most_epochs * size, most * size,
                       models_.size(), cudaMemcpyDeviceToHost),
          "copying epochs from the GPU");
  return lines;
}

void CudaGroup::collect(std::vector<ChunkResult>& results) {
  stream_->wait();
  auto counters = download<kernels::StepCounters>(counters_, 0, models_.size());
  const auto stopped = download<float>(stopped_, 0, models_.size());
  std::size_t most = 0;
  for (const kernels::StepCounters& each : counters)
    most = std::max(most, static_cast<std::size_t>(each.record_count));
  const std::vector<kernels::EpochLine> lines = download_lines(most);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i].next_step = counters[i].step;
    models_[i].stopped = stopped[i] != 0;
    results[i].stopped_early = models_[i].stopped;
    for (std::size_t j = 0; j < static_cast<std::size_t>(counters[i].record_count); ++j) {
      const kernels::EpochLine& line = lines[i * most + j];
      EpochRecord record;
      record.epoch = line.epoch;
      record.train_loss = line.train_loss;
      if (models_[i].request.validation.rows() > 0) record.validation_loss = line.validation_loss;
      record.is_best = line.is_best != 0;
      results[i].finished_epochs.push_back(record);
    }
    counters[i].record_count = 0;
  }
  if (most == 0) return;
  upload(counters_, 0, counters.data(), counters.size(), stream_->get());
  stream_->wait();
}

}  // namespace stoker::fused
