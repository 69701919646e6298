#include "fused/cpu/framed_engine.h"

#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "device/device.h"
#include "device/flush_to_zero.h"
#include "engine/epoch_hits.h"
#include "fused/cpu/layout.h"
#include "fused/cpu/row_order.h"

namespace stoker::fused_cpu {
namespace {

constexpr std::int64_t most_gradient_bytes = 256 << 20;
// Multiply-adds of a step that are worth another thread: some 200 µs.
constexpr std::int64_t work_per_thread = 4'000'000;
constexpr std::int64_t ordered_at_once = 512;  // rows

}  // namespace

FramedEngine::FramedEngine(const EngineRequest& request, const Kernels& kernels, const Network& laid,
                           const Slices& slices, int threads)
    : request_(request),
      kernels_(kernels),
      network_(laid),
      slices_(slices),
      has_validation_(request.validation.rows() > 0),
      row_sums_(static_cast<std::size_t>(request.batch_size)),
      pool_(threads_for(request, slices, threads)),
      best_loss_(std::numeric_limits<double>::infinity()),
      shards_(request_) {}

int FramedEngine::threads_for(const EngineRequest& request, const Slices& slices, int wanted) {
  if (slices.most_threads == 1) return 1;
  if (wanted > 0) return wanted;
  const std::int64_t rows = std::min(request.batch_size, request.training.rows());
  const std::int64_t worth = 3 * rows * slices.multiply_adds / work_per_thread;
  const auto cores = static_cast<std::int64_t>(std::max(1, cpu_cores()));
  return static_cast<int>(std::clamp<std::int64_t>(worth, 1, std::min(cores, slices.most_threads)));
}

std::int64_t FramedEngine::bench_count() const {
  const std::int64_t slices = (batch_rows() + slices_.rows - 1) / slices_.rows;
  const std::int64_t fitting = most_gradient_bytes / (4 * network_.size);
  return std::min(slices, std::clamp<std::int64_t>(fitting, 1, slices_.most_benches));
}

bool FramedEngine::keeps_gradients() const {
  return !slices_.can_update || batch_rows() > slices_.rows || request_.optimizer.max_grad_norm > 0;
}

void FramedEngine::make_buffers() {
  parameters_ = zeros(network_.size);
  pack_named(request_.initial_parameters, "", parameters_);
  network_.parameters = floats(parameters_);
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

void FramedEngine::count_hits() {
  if (term_of_classes(request_) == nullptr) return;
  train_hits_.assign(row_sums_.size(), 0);
  validation_hits_.assign(validation_sums_.size(), 0);
}

kernels::Losses FramedEngine::losses_of(std::int64_t stride) const {
  kernels::Losses losses;
  losses.loss = request_.loss().kind;
  losses.shape = static_cast<float>(request_.loss().shape());
  losses.smoothing = static_cast<float>(request_.loss().label_smoothing);
  losses.width = request_.network.outputs;
  losses.stride = stride;
  losses.stopped = &stopped_;
  return losses;
}

Dropout FramedEngine::dropout_leaving_out(double share) {
  Dropout dropout;
  dropout.threshold = dropout_threshold(static_cast<float>(share));
  dropout.is_on = dropout.threshold > 0;
  dropout.scale = 1.0F / (1.0F - static_cast<float>(share));
  return dropout;
}

std::int64_t FramedEngine::rows_of_step(std::int64_t step) const {
  const std::int64_t first = step % request_.steps_per_epoch() * request_.batch_size;
  return std::min(request_.batch_size, request_.training.rows() - first);
}

// Rows of an epoch from its place `first` on, for several steps at once: some must be drawn again and again,
// and few are drawn as slowly as many.
void FramedEngine::order_rows(std::int64_t epoch, std::int64_t first) {
  const std::int64_t rows = request_.training.rows();
  const std::int64_t steps = std::max<std::int64_t>(1, ordered_at_once / request_.batch_size);
  order_.resize(static_cast<std::size_t>(std::min(steps * request_.batch_size, rows - first)));
  order_epoch_ = epoch;
  order_first_ = first;
  if (request_.order.is_sharded()) return order_by_shards(epoch, first);
  const RandomKey key = random_key(request_.seed, Purpose::shuffle, static_cast<std::uint64_t>(epoch));
  permuted_rows(key, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(first), order_);
}

// As row_at() has it, a stretch of a shard at a time.
void FramedEngine::order_by_shards(std::int64_t epoch, std::int64_t first) {
  const std::int64_t size = request_.order.rows_per_shard;
  const std::int64_t rows = request_.training.rows();
  const EpochOrder order(request_.order, request_.seed, rows, epoch);
  for (std::span<std::int64_t> left(order_); !left.empty();) {
    const std::int64_t shard = order.shard_at(first / size);
    const std::int64_t of_shard = std::min(size, rows - shard * size);
    const std::int64_t begin = first % size;
    const auto stretch = left.first(static_cast<std::size_t>(std::min(std::ssize(left), of_shard - begin)));
    permuted_rows(order.key_of(shard), static_cast<std::uint64_t>(of_shard),
                  static_cast<std::uint64_t>(begin), stretch);
    for (std::int64_t& row : stretch) row += shard * size;
    first += std::ssize(stretch);
    left = left.subspan(stretch.size());
  }
}

// Which rows a step takes; called for the next step while this one runs, so that they are on their way to the
// cache.
void FramedEngine::choose_rows(std::int64_t step) {
  if (chosen_step_ == step) return;
  const std::int64_t per_epoch = request_.steps_per_epoch();
  const std::int64_t first = step % per_epoch * request_.batch_size;
  if (step / per_epoch != order_epoch_ || first < order_first_ ||
      first + rows_of_step(step) > order_first_ + static_cast<std::int64_t>(order_.size())) {
    order_rows(step / per_epoch, first);
  }
  chosen_ = std::span(order_).subspan(static_cast<std::size_t>(first - order_first_),
                                      static_cast<std::size_t>(rows_of_step(step)));
  chosen_step_ = step;
  fetch_rows(true);
}

Update FramedEngine::update_of(std::int64_t step, float rate) const {
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

// Gradients of the batch to the first bench.
void FramedEngine::sum_slices(std::int64_t rows) {
  const std::int64_t slices = (rows + slices_.rows - 1) / slices_.rows;
  const std::int64_t used = std::min(slices, bench_count());
  auto work = [&](std::int64_t bench) {
    for (std::int64_t slice = bench * slices / used; slice < (bench + 1) * slices / used; ++slice) {
      const std::int64_t first = slice * slices_.rows;
      const std::int64_t count = std::min(slices_.rows, rows - first);
      gather(bench, first, count);
      run_slice(bench, first, count, rows,
                slice == bench * slices / used ? Gradients::stored : Gradients::added, {});
    }
  };
  pool_.share(used, work);
  for (std::int64_t i = 1; i < used; ++i) kernels_.add(gradients_of(0), gradients_of(i), network_.size);
}

// As torch.nn.utils.clip_grad_norm_.
void FramedEngine::clip(Update& update) {
  const double limit = request_.optimizer.max_grad_norm;
  if (limit <= 0) return;
  const double norm = std::sqrt(kernels_.squared_norm(gradients_of(0), network_.size));
  gradient_norms_ += norm;
  const auto factor = static_cast<float>(limit / (norm + 1e-6));
  update.gradient_scale = factor > 1 ? 1 : factor;  // a NaN stays
}

void FramedEngine::run_step(float rate) {
  const std::int64_t step = counters_.step;
  const std::int64_t rows = rows_of_step(step);
  choose_rows(step);
  if (rows <= slices_.rows) fetch_rows(false);
  begin_step(step);
  Update update = update_of(step, rate);
  if (slices_.can_update && rows <= slices_.rows && request_.optimizer.max_grad_norm <= 0) {
    gather(0, 0, rows);
    choose_rows(step + 1);
    run_slice(0, 0, rows, rows, Gradients::updated, update);
  } else {
    sum_gradients(rows);
    choose_rows(step + 1);
    clip(update);
    change_weights(update);
  }
  counters_.current_step = step;
  counters_.step = step + 1;
}

kernels::EndEpoch FramedEngine::end_epoch_work() {
  kernels::EndEpoch end;
  end.row_sums = row_sums_.data();
  end.row_sum_count = static_cast<std::int64_t>(row_sums_.size());
  end.rows = request_.training.rows();
  end.train_hits = train_hits();
  if (has_validation_) {
    end.validation_sums = validation_sums_.data();
    end.validation_sum_count = static_cast<std::int64_t>(validation_sums_.size());
    end.validation_rows = request_.validation.rows();
    end.validation_hits = validation_hits();
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

void FramedEngine::end_epoch(ChunkResult& result) {
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
  append_values(record);
  add_accuracy(line_, request_, record);
  result.finished_epochs.push_back(record);
}

ChunkResult FramedEngine::run(const Chunk& chunk) {
  const FlushToZero flushed;
  ChunkResult result;
  if (stopped_ == 0 && chunk.first_step != counters_.step)
    fail("a chunk that begins with step {} cannot follow step {}", chunk.first_step, counters_.step);
  for (const float rate : chunk.learning_rates) {
    if (stopped_ != 0) break;
    shards_.before(counters_.step, 1);
    run_step(rate);
    if (counters_.step % request_.steps_per_epoch() == 0) end_epoch(result);
  }
  result.stopped_early = stopped_ != 0;
  result.waiting_seconds = shards_.take_waiting();
  return result;
}

std::uint64_t FramedEngine::frame_bytes() const {
  std::uint64_t bytes = 0;
  for (const Array* each : {&parameters_, &first_moment_, &second_moment_, &best_parameters_, &transposed_})
    bytes += each->bytes();
  for (const Dataset* rows : {&request_.training, &request_.validation})
    for (const DatasetArray& each : rows->arrays) bytes += each.array.bytes();
  return bytes + (row_sums_.size() + validation_sums_.size()) * sizeof(double) +
         order_.size() * sizeof(std::int64_t);
}

}  // namespace stoker::fused_cpu
