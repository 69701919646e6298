#include "fused/cpu/fused_cpu_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "device/flush_to_zero.h"
#include "engine/class_numbers.h"
#include "fused/cpu/layout.h"

namespace stoker::fused_cpu {
namespace {

// Batches of up to this many rows are one slice, whose gradients go straight into the weights.
constexpr std::int64_t most_rows_at_once = 128;
// What the values of a slice may take of the cache in larger batches.
constexpr std::int64_t slice_bytes = 160 * 1024;
constexpr std::int64_t most_benches = 16;
constexpr std::int64_t most_gradient_bytes = 256 << 20;
// Multiply-adds of a step that are worth another thread: some 200 µs.
constexpr std::int64_t work_per_thread = 4'000'000;

std::int64_t rows_per_slice(const Network& network, std::int64_t batch) {
  if (batch <= most_rows_at_once) return padded(batch, row_block);
  std::int64_t row_bytes = 0;
  for (int i = 0; i < network.layer_count; ++i) row_bytes += 8 * network.layers[i].outputs;
  const std::int64_t fitting = slice_bytes / row_bytes / row_block * row_block;
  return std::clamp<std::int64_t>(fitting, 2 * row_block, most_rows_at_once);
}

std::int64_t rows_in_batch(const EngineRequest& request) {
  return std::min(request.batch_size, request.training.rows());
}

// Partial sums of a batch's gradients: a number that follows from the request alone, not from the machine.
std::int64_t bench_count(const Network& network, std::int64_t slices) {
  const std::int64_t fitting = most_gradient_bytes / (4 * network.size);
  return std::min(slices, std::clamp<std::int64_t>(fitting, 1, most_benches));
}

int threads_for(const EngineRequest& request, const Network& network, int wanted) {
  const std::int64_t worth = 3 * rows_in_batch(request) * network.size / work_per_thread;
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::int64_t slices = (rows_in_batch(request) + most_rows_at_once - 1) / most_rows_at_once;
  if (slices == 1) return 1;
  return wanted > 0 ? wanted : static_cast<int>(std::clamp<std::int64_t>(worth, 1, std::min(cores, slices)));
}

void check_class_numbers(const EngineRequest& request) {
  if (request.loss().kind != Loss::cross_entropy) return;
  for (const Dataset* dataset : {&request.training, &request.validation}) {
    if (dataset->rows() == 0) continue;
    const auto classes = dataset->targets().as<std::int64_t>();
    const auto [low, high] = std::ranges::minmax(classes);
    refuse_unknown_classes(low, high, request.network.outputs);
  }
}

Array edges_of(const MlpShape& shape, const NamedArrays& parameters) {
  if (shape.entrance.kind != NumberEmbedding::piecewise_linear) return {};
  return find_array(parameters, "entrance.edges");
}

float* floats(Array& array) {
  return static_cast<float*>(array.data());
}

}  // namespace

FusedCpuEngine::FusedCpuEngine(const EngineRequest& request, const Kernels& kernels, int threads)
    : request_(request),
      shape_(mlp_shape(request.network).value()),
      kernels_(kernels),
      laid_(network_of(shape_)),
      network_(laid_.network),
      edges_(edges_of(shape_, request.initial_parameters)),
      training_rows_(shape_.entrance, request_.training),
      validation_rows_(shape_.entrance, request_.validation),
      slice_rows_(rows_per_slice(network_, rows_in_batch(request))),
      has_validation_(request.validation.rows() > 0),
      best_loss_(std::numeric_limits<double>::infinity()),
      pool_(threads_for(request, network_, threads)) {
  check_class_numbers(request);
  make_buffers();
  make_benches();
  make_losses();
}

void FusedCpuEngine::make_buffers() {
  parameters_ = zeros(network_.size);
  pack(shape_, laid_, request_.initial_parameters, "", parameters_);
  network_.parameters = floats(parameters_);
  if (!edges_.empty()) learnt_.edges = floats(edges_);
  for (const std::int64_t place : laid_.entrance.categories)
    learnt_.categories.push_back(network_.parameters + place);
  if (request_.optimizer.has_first_moment()) {
    first_moment_ = zeros(network_.size);
    network_.first_moment = floats(first_moment_);
  }
  if (request_.optimizer.has_second_moment()) {
    second_moment_ = zeros(network_.size);
    network_.second_moment = floats(second_moment_);
  }
  best_parameters_ = parameters_.clone();
  transposed_ = zeros(transposed_size(network_));
  network_.transposed = floats(transposed_);
  kernels_.transpose(network_);
}

void FusedCpuEngine::make_benches() {
  const std::int64_t batch = rows_in_batch(request_);
  benches_.resize(static_cast<std::size_t>(bench_count(network_, (batch + slice_rows_ - 1) / slice_rows_)));
  for (Bench& bench : benches_) make_bench(bench);
}

void FusedCpuEngine::make_bench(Bench& bench) {
  const auto buffer = [&](std::int64_t width) {
    bench.buffers.push_back(zeros(padded(slice_rows_ * width, panel)));
    return floats(bench.buffers.back());
  };
  bench.space.active[0] = buffer(network_.layers[0].inputs);
  for (int i = 0; i < network_.layer_count; ++i) {
    const std::int64_t width = network_.layers[i].outputs;
    bench.space.active[i + 1] = buffer(width);
    bench.space.deltas[i] = buffer(width);
    bench.space.slopes[i] = shape_.activation == Activation::relu ? nullptr : buffer(width);
  }
  if (!network_.entrance.is_plain) {
    bench.entered.emplace(shape_.entrance, network_, slice_rows_);
    bench.entered->show(bench.space);
  }
  if (rows_in_batch(request_) > slice_rows_ || request_.optimizer.max_grad_norm > 0 || bench.entered) {
    bench.gradients = zeros(network_.size);
    bench.space.gradients = floats(bench.gradients);
  }
  const auto rows = static_cast<std::size_t>(slice_rows_);
  if (request_.loss().kind == Loss::cross_entropy) {
    bench.class_targets.resize(rows);
  } else {
    bench.float_targets.resize(rows * static_cast<std::size_t>(shape_.outputs));
  }
  if (request_.training.find(Role::weights) != nullptr) bench.row_weights.resize(rows);
}

void FusedCpuEngine::make_losses() {
  const Layer& last = network_.layers[network_.layer_count - 1];
  losses_.loss = request_.loss().kind;
  losses_.shape = static_cast<float>(request_.loss().shape());
  losses_.smoothing = static_cast<float>(request_.loss().label_smoothing);
  losses_.width = last.width;
  losses_.stride = last.outputs;
  losses_.stopped = &stopped_;
  row_sums_.resize(static_cast<std::size_t>(request_.batch_size));
  validation_sums_.resize(static_cast<std::size_t>(slice_rows_));
  dropout_.threshold = dropout_threshold(static_cast<float>(shape_.dropout));
  dropout_.is_on = dropout_.threshold > 0;
  dropout_.scale = 1.0F / (1.0F - static_cast<float>(shape_.dropout));
}

std::int64_t FusedCpuEngine::batch_rows(std::int64_t step) const {
  const std::int64_t first = step % request_.steps_per_epoch() * request_.batch_size;
  return std::min(request_.batch_size, request_.training.rows() - first);
}

Dropout FusedCpuEngine::dropout_of(std::int64_t step) const {
  Dropout dropout = dropout_;
  if (!dropout.is_on) return dropout;
  for (int i = 0; i + 1 < network_.layer_count; ++i) {
    const RandomKey key =
        dropout_key(request_.seed, static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(i));
    dropout.key_first[i] = key.first;
    dropout.key_second[i] = key.second;
  }
  return dropout;
}

Update FusedCpuEngine::update_of(std::int64_t step, float rate) const {
  const OptimizerSettings& s = request_.optimizer;
  Update update;
  update.decays = s.weight_decay > 0;
  update.decay = static_cast<float>(s.weight_decay);
  if (s.kind == Optimizer::sgd) {
    update.kind = s.momentum > 0 ? Update::Kind::momentum : Update::Kind::sgd;
    update.first_keep = static_cast<float>(s.momentum);
    update.rate = -rate;
    return update;
  }
  // torch divides both moments by their bias corrections; here the second one's is taken out of the root.
  const auto number = static_cast<double>(step + 1);
  const double first_bias = 1 - std::pow(s.beta1, number);
  const double second_bias = std::sqrt(1 - std::pow(s.beta2, number));
  update.kind = s.kind == Optimizer::adam ? Update::Kind::adam : Update::Kind::adamw;
  update.first_keep = static_cast<float>(1 - s.beta1);
  update.second_take = static_cast<float>(1 - s.beta2);
  update.rate = static_cast<float>(-rate * second_bias / first_bias);
  update.epsilon = static_cast<float>(s.epsilon * second_bias);
  if (s.kind == Optimizer::adamw) update.decay = static_cast<float>(1 - rate * s.weight_decay);
  return update;
}

void FusedCpuEngine::run_slice(Bench& bench, std::int64_t first, std::int64_t count, std::int64_t rows,
                               Gradients what, const Update& update) {
  bench.space.rows = padded(count, row_block);
  bench.dropout = dropout_;
  bench.dropout.first_row = static_cast<std::uint32_t>(first);
  if (network_.entrance.numbers > 0) kernels_.enter(network_, bench.space);
  kernels_.forward(network_, bench.space, bench.dropout, true);

  float* deltas = bench.space.deltas[network_.layer_count - 1];
  kernels::Losses losses = losses_;
  losses.outputs = bench.space.active[network_.layer_count];
  losses.float_targets = bench.float_targets.data();
  losses.class_targets = bench.class_targets.data();
  losses.row_weights = bench.row_weights.empty() ? nullptr : bench.row_weights.data();
  losses.rows = count;
  losses.mean_rows = rows;
  losses.row_sums = row_sums_.data() + first;
  losses.gradients = deltas;
  kernels::losses(losses);
  std::fill_n(deltas + count * losses_.stride, (bench.space.rows - count) * losses_.stride, 0.0F);
  kernels_.backward(network_, bench.space, bench.dropout, what, update);
  if (bench.entered) update_entrance(bench, count, what, update);
}

// Its gradients are kept in any case: they are few, and come from all rows at once.
void FusedCpuEngine::update_entrance(Bench& bench, std::int64_t count, Gradients what, const Update& update) {
  const bool adds = what == Gradients::added;
  if (network_.entrance.numbers > 0) kernels_.enter_backward(network_, bench.space, adds);
  sum_categories(shape_.entrance, network_, laid_.entrance, count, *bench.entered, bench.space, adds);
  if (what == Gradients::updated)
    kernels_.update_from(network_, network_.entrance.begin, bench.space.gradients, update);
}

// Gradients of the batch to the first bench.
void FusedCpuEngine::sum_slices(std::int64_t rows) {
  const std::int64_t slices = (rows + slice_rows_ - 1) / slice_rows_;
  const std::int64_t used = std::min(slices, static_cast<std::int64_t>(benches_.size()));
  auto work = [&](std::int64_t number) {
    Bench& bench = benches_[static_cast<std::size_t>(number)];
    for (std::int64_t slice = number * slices / used; slice < (number + 1) * slices / used; ++slice) {
      const std::int64_t first = slice * slice_rows_;
      const std::int64_t count = std::min(slice_rows_, rows - first);
      gather(bench, first, count);
      run_slice(bench, first, count, rows,
                slice == number * slices / used ? Gradients::stored : Gradients::added, {});
    }
  };
  pool_.share(used, work);
  for (std::int64_t i = 1; i < used; ++i)
    kernels_.add(benches_[0].space.gradients, benches_[static_cast<std::size_t>(i)].space.gradients,
                 network_.size);
}

// As torch.nn.utils.clip_grad_norm_.
void FusedCpuEngine::clip(Update& update) {
  const double limit = request_.optimizer.max_grad_norm;
  if (limit <= 0) return;
  const double norm = std::sqrt(kernels_.squared_norm(benches_[0].space.gradients, network_.size));
  gradient_norms_ += norm;
  const auto factor = static_cast<float>(limit / (norm + 1e-6));
  update.gradient_scale = factor > 1 ? 1 : factor;  // a NaN stays
}

void FusedCpuEngine::run_step(float rate) {
  const std::int64_t step = counters_.step;
  const std::int64_t rows = batch_rows(step);
  choose_rows(step);
  if (rows <= slice_rows_) fetch_rows<3>();
  dropout_ = dropout_of(step);
  Update update = update_of(step, rate);
  if (rows <= slice_rows_ && request_.optimizer.max_grad_norm <= 0) {
    gather(benches_[0], 0, rows);
    choose_rows(step + 1);
    run_slice(benches_[0], 0, rows, rows, Gradients::updated, update);
  } else {
    sum_slices(rows);
    choose_rows(step + 1);
    clip(update);
    kernels_.update(network_, benches_[0].space.gradients, update);
  }
  counters_.current_step = step;
  counters_.step = step + 1;
}

kernels::EndEpoch FusedCpuEngine::end_epoch_work() {
  kernels::EndEpoch end;
  end.row_sums = row_sums_.data();
  end.row_sum_count = static_cast<std::int64_t>(row_sums_.size());
  end.rows = request_.training.rows();
  if (has_validation_) {
    end.validation_sums = validation_sums_.data();
    end.validation_sum_count = static_cast<std::int64_t>(validation_sums_.size());
    end.validation_rows = request_.validation.rows();
  }
  end.steps_per_epoch = request_.steps_per_epoch();
  end.patience = request_.patience;
  end.min_delta = request_.min_delta;
  end.counters = &counters_;
  end.lines = &line_;
  end.line_capacity = 1;
  end.best_loss = &best_loss_;
  end.stopped = &stopped_;
  end.parameters = floats(parameters_);
  end.best_parameters = floats(best_parameters_);
  end.parameter_count = network_.size;
  return end;
}

void FusedCpuEngine::end_epoch(ChunkResult& result) {
  if (has_validation_) validate();
  counters_.record_count = 0;
  kernels::end_epoch(end_epoch_work());
  EpochRecord record;
  record.epoch = line_.epoch;
  record.train_loss = line_.train_loss;
  if (has_validation_) record.validation_loss = line_.validation_loss;
  record.is_best = line_.is_best != 0;
  const double norms = std::exchange(gradient_norms_, 0);
  if (request_.optimizer.max_grad_norm > 0 && !std::isnan(norms))
    record.gradient_norm = norms / static_cast<double>(request_.steps_per_epoch());
  result.finished_epochs.push_back(record);
}

ChunkResult FusedCpuEngine::run(const Chunk& chunk) {
  const FlushToZero flushed;
  ChunkResult result;
  if (stopped_ == 0 && chunk.first_step != counters_.step)
    fail("a chunk that begins with step {} cannot follow step {}", chunk.first_step, counters_.step);
  for (const float rate : chunk.learning_rates) {
    if (stopped_ != 0) break;
    run_step(rate);
    if (counters_.step % request_.steps_per_epoch() == 0) end_epoch(result);
  }
  result.stopped_early = stopped_ != 0;
  return result;
}

EngineMaker maker() {
  return {"fused", refusal, [](const EngineRequest& request) -> std::unique_ptr<Engine> {
            return std::make_unique<FusedCpuEngine>(request, best_kernels(), request.threads);
          }};
}

}  // namespace stoker::fused_cpu
