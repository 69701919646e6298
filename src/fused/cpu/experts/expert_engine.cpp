#include "fused/cpu/experts/expert_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "engine/class_numbers.h"
#include "engine/request_check.h"
#include "fused/cpu/layout.h"
#include "model/family.h"

namespace stoker::fused_cpu {
namespace {

constexpr std::int64_t most_threads_of_experts = 64;

Slices one_slice(const EngineRequest& request) {
  const std::int64_t batch = std::min(request.batch_size, request.training.rows());
  return {.rows = padded(batch, row_block),
          .can_update = true,
          .most_benches = 1,
          .multiply_adds = multiply_adds(request.network),
          .most_threads = most_threads_of_experts};
}

void check_classes(const EngineRequest& request) {
  if (request.loss().kind != Loss::cross_entropy) return;
  for (const Dataset* dataset : {&request.training, &request.validation}) {
    if (dataset->rows() == 0) continue;
    const auto [low, high] = std::ranges::minmax(dataset->targets().as<std::int64_t>());
    refuse_unknown_classes(low, high, width_of(request.loss(), request.network));
  }
}

}  // namespace

bool trains_all_but_inner_router(const EngineRequest& request) {
  if (request.unfrozen.empty()) return false;
  const auto is_trained = [&](const std::string& name) {
    return std::ranges::find(request.unfrozen, name) != request.unfrozen.end();
  };
  for (const ParameterSpec& each : parameter_specs(request.network))
    if (each.is_trained && is_trained(each.name) == each.name.starts_with("router.inner.")) return false;
  return true;
}

ExpertEngine::ExpertEngine(const EngineRequest& request, const Kernels& kernels, int threads)
    : ExpertEngine(request, ExpertLayout(expert_shape(request.network).value()), kernels, threads) {}

ExpertEngine::ExpertEngine(const EngineRequest& request, const ExpertLayout& layout, const Kernels& kernels,
                           int threads)
    : FramedEngine(request, kernels, layout.whole(), one_slice(request), threads),
      layout_(layout),
      training_rows_(rows_of(request_.training)),
      validation_rows_(rows_of(request_.validation)),
      dropout_(dropout_leaving_out(layout.shape.settings.dropout)),
      losses_(losses_of(layout.shape.outputs)),
      loss_sums_(request.losses.size()) {
  losses_.width = layout_.shape.outputs;
  check_classes(request);
  make_buffers();
  router_ = layout_.router_in(network_);
  learning_router_ = router_;
  inner_is_frozen_ = trains_all_but_inner_router(request);
  if (inner_is_frozen_) {
    learning_router_.layer_count = 1;
    learning_router_.layers[0] = router_.layers[1];
  }
  for (std::int64_t e = 0; e < layout_.shape.room(); ++e) experts_.push_back(layout_.expert_in(network_, e));
  make_bench();
  find_living();
  validation_sums_.resize(static_cast<std::size_t>(slices_.rows));
  count_hits();
}

ExpertEngine::Rows ExpertEngine::rows_of(const Dataset& dataset) {
  Rows rows;
  if (dataset.rows() == 0) return rows;
  rows.features = dataset.features().as<float>().data();
  const Array& targets = dataset.targets();
  if (targets.type() == DType::int64) {
    rows.classes = targets.as<std::int64_t>().data();
  } else {
    rows.targets = targets.as<float>().data();
  }
  if (const Array* weights = dataset.find(Role::weights)) rows.weights = weights->as<float>().data();
  return rows;
}

float* ExpertEngine::buffer(std::int64_t numbers) {
  buffers_.push_back(zeros(padded(numbers, panel)));
  return floats(buffers_.back());
}

void ExpertEngine::make_bench() {
  const std::int64_t rows = slices_.rows;
  const std::int64_t room = layout_.shape.room();
  const std::int64_t answers = padded(rows * top_k(), row_block) + room * row_block;
  const auto make = [&](const Network& network, std::int64_t count, Workspace& space) {
    space.active[0] = buffer(count * network.layers[0].inputs);
    for (int i = 0; i < network.layer_count; ++i) {
      space.active[i + 1] = buffer(count * network.layers[i].outputs);
      space.deltas[i] = buffer(count * network.layers[i].outputs);
      space.slopes[i] = nullptr;
    }
  };
  make(router_, rows, routed_);
  make(layout_.expert, answers, asked_);
  if (keeps_gradients()) gradients_ = buffer(network_.size);
  no_gradients_ = buffer(layout_.expert.size);
  const auto count = static_cast<std::size_t>(rows);
  const auto choices = static_cast<std::size_t>(rows * top_k());
  const auto width = static_cast<std::size_t>(layout_.shape.outputs);
  chosen_ones_.resize(choices);
  if (draws_experts()) liked_ones_.resize(choices);
  liked_rows_.resize(static_cast<std::size_t>(room));
  shares_.resize(choices);
  places_.resize(choices);
  sources_.resize(static_cast<std::size_t>(answers));
  numbers_.resize(static_cast<std::size_t>(answers));
  mixed_.resize(count * width);
  mixed_gradient_.resize(count * width);
  probabilities_.resize(static_cast<std::size_t>(room));
  if (training_rows_.classes != nullptr) {
    class_targets_.resize(count);
  } else {
    float_targets_.resize(count * width);
  }
  if (training_rows_.weights != nullptr || validation_rows_.weights != nullptr) row_weights_.resize(count);
}

// After every change from outside: who lives, and what follows from the weights.
void ExpertEngine::find_living() {
  living_.clear();
  const float* alive = network_.parameters + layout_.alive;
  for (std::int64_t e = 0; e < layout_.shape.room(); ++e) {
    if (alive[e] == 0) continue;
    living_.push_back(static_cast<std::int32_t>(e));
    kernels_.transpose(experts_[static_cast<std::size_t>(e)]);
  }
  kernels_.transpose(router_);
  if (gradients_ != nullptr) std::fill_n(gradients_, network_.size, 0.0F);
  if (std::ssize(living_) < top_k())
    refuse("only {} experts are alive, but {} have to answer for each row", living_.size(), top_k());
}

void ExpertEngine::pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const {
  pack_experts(layout_, arrays, prefix, flat);
}

void ExpertEngine::append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const {
  append_unpacked_experts(layout_, flat, prefix, arrays);
}

NamedArrays ExpertEngine::state() const {
  NamedArrays all = FramedEngine::state();
  if (loss_sums_.size() > 1)
    all.push_back({"loss_sums", Array::from<double>(loss_sums_, {std::ssize(loss_sums_)})});
  return all;
}

void ExpertEngine::restore(const NamedArrays& state) {
  FramedEngine::restore(state);
  find_living();
  if (loss_sums_.size() < 2) return;
  const Array& sums = find_array(state, "loss_sums");
  if (sums.type() != DType::float64 || sums.shape() != Shape{std::ssize(loss_sums_)})
    refuse("the array 'loss_sums' of the saved state does not fit this training: it belongs to another one");
  std::ranges::copy(sums.as<double>(), loss_sums_.begin());
}

void ExpertEngine::begin_step(std::int64_t step) {
  step_ = step;
  if (!dropout_.is_on) return;
  for (int i = 0; i + 1 < layout_.expert.layer_count; ++i) {
    const RandomKey key =
        dropout_key(request_.seed, static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(i));
    dropout_.key_first[i] = key.first;
    dropout_.key_second[i] = key.second;
  }
}

// The features follow when the router reads them.
void ExpertEngine::gather(std::int64_t, std::int64_t first, std::int64_t count) {
  const std::int64_t width = layout_.shape.outputs;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t source = chosen_[static_cast<std::size_t>(first + row)];
    const auto place = static_cast<std::size_t>(row);
    if (training_rows_.classes != nullptr) {
      class_targets_[place] = training_rows_.classes[source];
    } else {
      copy_row(training_rows_.targets + source * width, width,
               &float_targets_[place * static_cast<std::size_t>(width)]);
    }
    if (training_rows_.weights != nullptr) row_weights_[place] = training_rows_.weights[source];
    put_row(training_rows_, source, row);
  }
}

void ExpertEngine::put_row(const Rows& rows, std::int64_t source, std::int64_t row) {
  const std::int64_t inputs = layout_.shape.inputs;
  std::memcpy(routed_.active[0] + row * router_.layers[0].inputs, rows.features + source * inputs,
              static_cast<std::size_t>(inputs) * sizeof(float));
}

void ExpertEngine::sum_gradients(std::int64_t rows) {
  gather(0, 0, rows);
  run_slice(0, 0, rows, rows, Gradients::stored, {});
}

void ExpertEngine::change_weights(const Update& update) {
  auto work = [&](std::int64_t item) {
    if (item == 0) return kernels_.update(learning_router_, gradients_, update);
    const std::int32_t expert = living_[static_cast<std::size_t>(item - 1)];
    kernels_.update(experts_[static_cast<std::size_t>(expert)], gradients_ + layout_.expert_at(expert),
                    update);
  };
  pool_.share(std::ssize(living_) + 1, work);
}

void ExpertEngine::append_values(EpochRecord& record) {
  if (loss_sums_.size() < 2) return;
  const auto rows = static_cast<double>(request_.training.rows());
  for (std::size_t i = 0; i < loss_sums_.size(); ++i) {
    const LossTerm& term = request_.losses[i];
    record.values.push_back({"train_" + term.name, std::exchange(loss_sums_[i], 0) / rows});
    if (has_validation_ && !term.is_of_training_alone)
      record.values.push_back({"validation_" + term.name, record.validation_loss.value()});
  }
}

// All of it is there from the beginning to the end.
MemoryUse ExpertEngine::memory() const {
  std::uint64_t bytes = frame_bytes();
  for (const Array& each : buffers_) bytes += each.bytes();
  bytes += (shares_.size() + mixed_.size() + mixed_gradient_.size() + float_targets_.size() +
            row_weights_.size() + chosen_ones_.size() + liked_ones_.size() + numbers_.size()) *
               sizeof(float) +
           (places_.size() + sources_.size() + class_targets_.size()) * sizeof(std::int64_t);
  return {bytes, bytes, bytes};
}

}  // namespace stoker::fused_cpu
