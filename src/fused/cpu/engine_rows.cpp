#include <algorithm>
#include <span>

#include "fused/cpu/fused_cpu_engine.h"

// How rows come to the benches of a multi-layer perceptron.
namespace stoker::fused_cpu {
namespace {

template <int nearness>
void fetch(const float* features, std::int64_t columns, const Array& targets,
           std::span<const std::int64_t> rows) {
  const std::int64_t target_bytes = static_cast<std::int64_t>(targets.bytes()) / targets.dimension(0);
  for (const std::int64_t row : rows) {
    __builtin_prefetch(features + row * columns, 0, nearness);
    __builtin_prefetch(features + (row + 1) * columns - 1, 0, nearness);
    __builtin_prefetch(static_cast<const char*>(targets.data()) + row * target_bytes, 0, nearness);
  }
}

}  // namespace

// A step ahead to the second cache, since the step fills the first one with other things and the processor
// drops requests for it when there are many; to the first one when they are about to be read.
void FusedCpuEngine::fetch_rows(bool are_next) const {
  if (!network_.entrance.is_plain) return;
  const auto* features = static_cast<const float*>(request_.training.features().data());
  const Array& targets = request_.training.targets();
  if (are_next) {
    fetch<2>(features, shape_.inputs, targets, chosen_);
  } else {
    fetch<3>(features, shape_.inputs, targets, chosen_);
  }
}

// Rows first .. first + count of the batch to the bench.
void FusedCpuEngine::gather(std::int64_t number, std::int64_t first, std::int64_t count) {
  Bench& bench = bench_at(number);
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
  for (std::int64_t first = 0; first < dataset.rows(); first += slices_.rows) {
    const std::int64_t count = std::min(slices_.rows, dataset.rows() - first);
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
    losses.hit_sums = validation_hits();
    kernels::losses(losses);
  }
}

}  // namespace stoker::fused_cpu
