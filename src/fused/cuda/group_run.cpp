#include <algorithm>
#include <array>

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/random.h"
#include "engine/epoch_hits.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/fp32/plain.h"
#include "fused/cuda/fp32/split.h"
#include "fused/cuda/group.h"

// What a group launches, part by part.
namespace stoker::fused {

ModelWork CudaGroup::model_work(std::size_t i, std::int64_t offset, std::int64_t steps) const {
  const Model& model = models_[i];
  const OptimizerSettings& settings = model.request.optimizer;
  const GroupSizes& sizes = memory_->sizes();
  const std::size_t each = sizes.parameters;
  const std::size_t first = i * sizes.most_steps + static_cast<std::size_t>(offset);
  const float probability = static_cast<float>(model.dropout);
  ModelWork work{};
  work.features = pointer<std::uint16_t>(model.training.half_features);
  work.targets = pointer<RowTarget>(model.training.targets);
  work.order = pointer<std::int32_t>(memory_->order, first * sizes.places);
  work.factors = pointer<StepFactors>(memory_->factors, first);
  work.parameters = pointer<float>(memory_->parameters, i * each);
  work.first_moment = pointer<float>(memory_->first_moment, i * each);
  work.second_moment = pointer<float>(memory_->second_moment, i * each);
  work.row_sums = pointer<double>(memory_->row_sums, i * sizes.sums);
  if (sizes.counts_hits) work.row_hits = pointer<double>(memory_->row_hits, i * sizes.sums);
  work.stopped = pointer<float>(memory_->stopped, i);
  work.seed = model.request.seed;
  work.first_step = model.next_step;
  work.steps = static_cast<std::int32_t>(steps);
  work.dropout_threshold = dropout_threshold(probability);
  work.dropout_scale = 1.0F / (1.0F - probability);
  const bool is_sgd = settings.kind == Optimizer::sgd;
  work.beta1 = static_cast<float>(is_sgd ? settings.momentum : settings.beta1);
  work.beta2 = static_cast<float>(settings.beta2);
  work.epsilon = static_cast<float>(initial_second_moment_of(model) * (1.0 - settings.beta2));
  if (settings.kind == Optimizer::adam)
    work.weight_decay = static_cast<float>(settings.weight_decay * loss_scale_of(model));
  if (is_sgd) work.weight_decay = static_cast<float>(settings.weight_decay);
  work.loss_shape = static_cast<float>(model.request.loss().shape());
  work.unscale = static_cast<float>(1.0 / loss_scale_of(model));
  work.max_grad_norm = static_cast<float>(settings.max_grad_norm);
  work.order_stride = static_cast<std::int32_t>(sizes.places);
  work.passes = kernel_.spread.passes;
  work.clusters = kernel_.spread.clusters;
  work.arrivals = pointer<std::uint32_t>(memory_->arrivals);
  work.exchange = pointer<float4>(memory_->exchange);
  return work;
}

// Blocks that meet in device memory must all be running: a cooperative launch waits until they can.
void CudaGroup::launch_fast(const Models& models, std::size_t count) {
  const bool meets = kernel_.spread.meets_in_memory(kernel_.plan);
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned used = 0;
  if (kernel_.plan.team > 0) {
    attributes[used].id = cudaLaunchAttributeClusterDimension;
    attributes[used++].val.clusterDim = {static_cast<unsigned>(kernel_.plan.team), 1, 1};
  }
  if (meets) {
    attributes[used].id = cudaLaunchAttributeCooperative;
    attributes[used++].val.cooperative = 1;
  }
  cudaLaunchConfig_t launch{};
  launch.gridDim =
      dim3(static_cast<unsigned>(count) * static_cast<unsigned>(kernel_.spread.blocks(kernel_.plan)));
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = static_cast<std::size_t>(kernel_.plan.shared_bytes());
  launch.stream = stream_->get();
  launch.attrs = attributes.data();
  launch.numAttrs = used;
  if (meets)
    check(cudaMemsetAsync(memory_->arrivals.data(), 0, memory_->arrivals.bytes(), stream_->get()),
          "clearing a counter");
  void* arguments[] = {const_cast<Models*>(&models)};
  check(cudaLaunchKernelExC(&launch, kernel_.fast.function, arguments), "starting the fused kernel");
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
    work.gradients = pointer<float>(memory_->gradients, (first + i) * memory_->sizes().parameters);
    work.rates = pointer<float>(memory_->rates, (first + i) * memory_->sizes().most_steps +
                                                    static_cast<std::size_t>(offsets[first + i]));
    work.beta1 = settings.kind == Optimizer::sgd ? settings.momentum : settings.beta1;
    work.beta2 = settings.beta2;
    work.epsilon = settings.epsilon;
    work.weight_decay = settings.weight_decay;
  }
  const auto models_here = static_cast<int>(count);
  check(kernel_.is_split ? train_split(kernel_.plan, kernel_.split, *plain, models_here, stream_->get())
                         : train_plainly(kernel_.plan, *plain, models_here, stream_->get()),
        "starting the fp32 kernel");
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
  const auto most_steps = static_cast<std::int64_t>(memory_->sizes().most_steps);
  std::vector<std::int64_t> counts(models_.size(), 0);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i].stopped) continue;
    const std::int64_t left = static_cast<std::int64_t>(chunks[i].learning_rates.size()) - done[i];
    const std::int64_t by_epochs =
        models_[i].request.steps_per_epoch() * static_cast<std::int64_t>(GroupMemory::most_epochs - 1);
    counts[i] = std::min({left, most_steps, by_epochs});
  }
  if (!kernel_.is_plain) keep_copy();
  prepare_part(chunks, done, counts);
  train_part(counts);
  while (!kernel_.is_plain && go_back(out_of_range())) {
    prepare_part(chunks, done, counts);
    train_part(counts);
  }
  for (std::size_t i = 0; i < models_.size(); ++i) done[i] += counts[i];
  collect(results);
}

StepsWork CudaGroup::steps_work(std::size_t i, std::int64_t steps) {
  const EngineRequest& request = models_[i].request;
  const std::size_t places = memory_->sizes().places;
  const std::size_t first = i * memory_->sizes().most_steps;
  StepsWork work;
  work.seed = request.seed;
  work.rows = request.training.rows();
  work.batch = request.batch_size;
  work.stride = static_cast<std::int64_t>(places);
  work.steps_per_epoch = request.steps_per_epoch();
  work.first_step = models_[i].next_step;
  work.steps = steps;
  work.rates = pointer<float>(memory_->rates, first);
  work.optimizer = kernel_.plan.optimizer;
  work.beta1 = request.optimizer.beta1;
  work.beta2 = request.optimizer.beta2;
  work.weight_decay = request.optimizer.weight_decay;
  work.loss_scale = loss_scale_of(models_[i]);
  work.order = pointer<std::int32_t>(memory_->order, first * places);
  work.factors = pointer<StepFactors>(memory_->factors, first);
  return work;
}

// The host gathers the learning rates while the device lists the rows. Whoever comes here has waited for the
// part before, so the place where they are gathered is free.
void CudaGroup::prepare_part(std::span<const Chunk> chunks, const std::vector<std::int64_t>& done,
                             const std::vector<std::int64_t>& counts) {
  const std::size_t pitch = memory_->sizes().most_steps;
  const int total = static_cast<int>(models_.size());
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<StepsWork> works;
  for (std::size_t i = 0; i < models_.size(); ++i) works.push_back(steps_work(i, counts[i]));
  upload(memory_->steps_works, 0, works.data(), works.size(), stream_->get());
  check(list_rows(pointer<StepsWork>(memory_->steps_works), total, most,
                  static_cast<std::int64_t>(memory_->sizes().places), stream_->get()),
        "listing rows");
  for (std::size_t i = 0; i < models_.size(); ++i)
    std::copy_n(chunks[i].learning_rates.begin() + done[i], counts[i],
                memory_->staged_rates.as<float>().begin() + static_cast<std::ptrdiff_t>(i * pitch));
  check(cudaMemcpy2DAsync(memory_->rates.data(), pitch * sizeof(float), memory_->staged_rates.data(),
                          pitch * sizeof(float), static_cast<std::size_t>(most) * sizeof(float),
                          models_.size(), cudaMemcpyHostToDevice, stream_->get()),
        "copying learning rates to the GPU");
  check(prepare_factors(pointer<StepsWork>(memory_->steps_works), total, most, stream_->get()),
        "preparing steps");
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
  if (kernel_.is_plain) {
    launch_plain(first, count, *works_, offsets);
  } else {
    launch_fast(*works_, count);
  }
  check(judge_epochs(kernel_.plan, pointer<EpochWork>(memory_->epoch_works, first), advance,
                     static_cast<int>(count), validation_rows, stream_->get()),
        "judging an epoch");
}

// Launches run to each model's next epoch end, where its validation is.
void CudaGroup::train_part(const std::vector<std::int64_t>& counts) {
  const std::size_t total = models_.size();
  // Models whose blocks meet in device memory go one by one: the counters are one model's.
  const std::size_t at_once = kernel_.spread.meets_in_memory(kernel_.plan) ? 1
                              : kernel_.is_plain                           ? PlainModels::most
                                                                           : kernel_.at_once;
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
    check(cudaMemcpy2D(lines.data(), most * size, memory_->lines.data(), GroupMemory::most_epochs * size,
                       most * size, models_.size(), cudaMemcpyDeviceToHost),
          "copying epochs from the GPU");
  return lines;
}

void CudaGroup::collect(std::vector<ChunkResult>& results) {
  stream_->wait();
  auto counters = download<kernels::StepCounters>(memory_->counters, 0, models_.size());
  const auto stopped = download<float>(memory_->stopped, 0, models_.size());
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
      add_accuracy(line, models_[i].request, record);
      results[i].finished_epochs.push_back(record);
    }
    counters[i].record_count = 0;
  }
  if (most == 0) return;
  upload(memory_->counters, 0, counters.data(), counters.size(), stream_->get());
  stream_->wait();
}

}  // namespace stoker::fused
