#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cpu/row_order.h"

// How rows come to an engine's benches.
namespace stoker::fused_cpu {
namespace {

constexpr std::int64_t ordered_at_once = 512;  // rows

// A row of a table; rows are short, and a call of memcpy costs more than they do.
void copy_row(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace

// Rows of an epoch from its place `first` on, for several steps at once: some must be drawn again and again,
// and few are drawn as slowly as many.
void FusedCpuEngine::order_rows(std::int64_t epoch, std::int64_t first) {
  const std::int64_t rows = request_.training.rows();
  const std::int64_t steps = std::max<std::int64_t>(1, ordered_at_once / request_.batch_size);
  order_.resize(static_cast<std::size_t>(std::min(steps * request_.batch_size, rows - first)));
  const RandomKey key = random_key(request_.seed, Purpose::shuffle, static_cast<std::uint64_t>(epoch));
  permuted_rows(key, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(first), order_);
  order_epoch_ = epoch;
  order_first_ = first;
}

// Which rows a step takes; called for the next step while this one runs, so that they are on their way to the
// cache.
void FusedCpuEngine::choose_rows(std::int64_t step) {
  if (chosen_step_ == step) return;
  const std::int64_t per_epoch = request_.steps_per_epoch();
  const std::int64_t first = step % per_epoch * request_.batch_size;
  if (step / per_epoch != order_epoch_ || first < order_first_ ||
      first + batch_rows(step) > order_first_ + static_cast<std::int64_t>(order_.size())) {
    order_rows(step / per_epoch, first);
  }
  chosen_ = std::span(order_).subspan(static_cast<std::size_t>(first - order_first_),
                                      static_cast<std::size_t>(batch_rows(step)));
  chosen_step_ = step;
  fetch_rows<2>();
}

// Asks for the chosen rows: a step ahead to the second cache, since the step fills the first one with other
// things and the processor drops requests for it when there are many; to the first one (`nearness` 3) when
// they are about to be read.
template <int nearness>
void FusedCpuEngine::fetch_rows() const {
  if (!network_.entrance.is_plain) return;
  const auto* features = static_cast<const float*>(request_.training.features().data());
  const Array& targets = request_.training.targets();
  const std::int64_t target_bytes = static_cast<std::int64_t>(targets.bytes()) / targets.dimension(0);
  for (const std::int64_t row : chosen_) {
    __builtin_prefetch(features + row * shape_.inputs, 0, nearness);
    __builtin_prefetch(features + (row + 1) * shape_.inputs - 1, 0, nearness);
    __builtin_prefetch(static_cast<const char*>(targets.data()) + row * target_bytes, 0, nearness);
  }
}

template void FusedCpuEngine::fetch_rows<3>() const;

// Rows first .. first + count of the batch to the bench.
void FusedCpuEngine::gather(Bench& bench, std::int64_t first, std::int64_t count) const {
  const std::int64_t columns = shape_.inputs;
  const std::int64_t stride = network_.layers[0].inputs;
  const auto* features = static_cast<const float*>(request_.training.features().data());
  const bool is_plain = network_.entrance.is_plain;
  const void* targets = request_.training.targets().data();
  const Array* weights = request_.training.find(Role::weights);
  const std::int64_t width = shape_.outputs;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t source = chosen_[static_cast<std::size_t>(first + row)];
    if (is_plain) {
      copy_row(features + source * columns, columns, bench.space.active[0] + row * stride);
    } else {
      enter(bench, training_rows_, source, row);
    }
    if (request_.loss().kind == Loss::cross_entropy) {
      bench.class_targets[static_cast<std::size_t>(row)] = static_cast<const std::int64_t*>(targets)[source];
    } else {
      copy_row(static_cast<const float*>(targets) + source * width, width,
               bench.float_targets.data() + row * width);
    }
    if (weights != nullptr)
      bench.row_weights[static_cast<std::size_t>(row)] = static_cast<const float*>(weights->data())[source];
  }
  const std::int64_t rest = padded(count, row_block) - count;
  std::fill_n(bench.space.active[0] + count * stride, rest * stride, 0.0F);
}

void FusedCpuEngine::enter(Bench& bench, const EnteringRows& rows, std::int64_t source,
                           std::int64_t row) const {
  put_row(rows, learnt_, source, row, network_.layers[0].inputs, *bench.entered, bench.space);
}

void FusedCpuEngine::validate() {
  const Dataset& dataset = request_.validation;
  const std::int64_t columns = shape_.inputs;
  const std::int64_t stride = network_.layers[0].inputs;
  const auto* features = static_cast<const float*>(dataset.features().data());
  const Array* weights = dataset.find(Role::weights);
  Workspace& space = benches_[0].space;
  for (std::int64_t first = 0; first < dataset.rows(); first += slice_rows_) {
    const std::int64_t count = std::min(slice_rows_, dataset.rows() - first);
    for (std::int64_t row = 0; row < count; ++row) {
      if (network_.entrance.is_plain) {
        copy_row(features + (first + row) * columns, columns, space.active[0] + row * stride);
      } else {
        enter(benches_[0], validation_rows_, first + row, row);
      }
    }
    space.rows = padded(count, row_block);
    if (network_.entrance.numbers > 0) kernels_.enter(network_, space);
    kernels_.forward(network_, space, dropout_, false);
    kernels::Losses losses = losses_;
    losses.smoothing = 0;
    losses.outputs = space.active[network_.layer_count];
    if (request_.loss().kind == Loss::cross_entropy) {
      losses.class_targets = static_cast<const std::int64_t*>(dataset.targets().data()) + first;
    } else {
      losses.float_targets = static_cast<const float*>(dataset.targets().data()) + first * losses.width;
    }
    if (weights != nullptr) losses.row_weights = static_cast<const float*>(weights->data()) + first;
    losses.rows = count;
    losses.row_sums = validation_sums_.data();
    kernels::losses(losses);
  }
}

}  // namespace stoker::fused_cpu
