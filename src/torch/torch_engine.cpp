#include "torch/torch_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include "model/family.h"
#include "torch/cpu_settings.h"
#include "torch/gpu.h"
#include "torch/mlp_step.h"
#include "torch/module_step.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// What the device keeps between two looks of the host. Chunks beyond are run in parts with a wait in between;
// the trainer's chunks of about 100 ms stay far below.
constexpr std::int64_t most_steps = 65'536;
constexpr std::int64_t most_epochs = 4'096;

constexpr std::int64_t counter_words = sizeof(kernels::StepCounters) / sizeof(std::int64_t);
constexpr std::int64_t line_words = sizeof(kernels::EpochLine) / sizeof(std::int64_t);

bool is_named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

enum class Part { trained, frozen, buffers };

Part part_of(const ParameterSpec& spec, const std::vector<std::string>& unfrozen) {
  if (!spec.is_trained) return Part::buffers;
  return unfrozen.empty() || is_named(unfrozen, spec.name) ? Part::trained : Part::frozen;
}

NamedArrays parameters_of(const EngineRequest& request, std::initializer_list<Part> parts) {
  const std::vector<ParameterSpec> specs = parameter_specs(request.network);
  NamedArrays all;
  for (const Part part : parts)
    for (const NamedArray& each : request.initial_parameters)
      for (const ParameterSpec& spec : specs)
        if (spec.name == each.name && part_of(spec, request.unfrozen) == part) all.push_back(each);
  return all;
}

}  // namespace

// Around everything that touches LibTorch: its errors become ours, no autograd where a step does not ask for
// it, work goes to our stream.
template <class Work>
auto TorchEngine::on_stream(const char* what, Work&& work) const {
  return translated(what, [&] {
    const c10::InferenceMode no_autograd_at_all(!records_gradients_);
    const at::NoGradGuard no_autograd;
    c10::OptionalStreamGuard guard;
    if (stream_) guard.reset_stream(*stream_);
    return work();
  });
}

TorchEngine::TorchEngine(const EngineRequest& request, Kind kind)
    : request_(request),
      kind_(kind),
      trained_parameters_(parameters_of(request, {Part::trained})),
      layout_(parameters_of(request, {Part::trained, Part::frozen, Part::buffers})),
      trained_(ParameterLayout(trained_parameters_).size()),
      buffers_from_(ParameterLayout(parameters_of(request, {Part::trained, Part::frozen})).size()),
      records_gradients_(has_module(request.network)),
      profile_(request.device.is_cuda() && Trace::current() != nullptr ? gpu::make_clock() : nullptr) {
  place_.device = request.device;
  translated("setting up an engine", [&] {
    if (!request.device.is_cuda()) return;
    stream_ = gpu::make_stream(torch_device(request.device));
    place_.stream = gpu::handle_of(*stream_);
  });
  on_stream("setting up an engine", [&] {
    make_tensors();
    make_work();
    const auto work = [this](Piece piece) { do_piece(piece); };
    if (kind == Kind::graph) {
      runner_ = gpu::make_graph_runner(work, changing_tensors());
    } else {
      runner_ = std::make_unique<EagerRunner>(work);
    }
  });
}

void TorchEngine::make_tensors() {
  const Device device = request_.device;
  const auto floats = floats_on(device);
  parameters_ = layout_.flat_from(request_.initial_parameters, "").to(torch_device(device));
  gradients_ = at::zeros({layout_.size()}, floats);
  if (request_.optimizer.has_first_moment()) first_moment_ = at::zeros({layout_.size()}, floats);
  if (request_.optimizer.has_second_moment()) second_moment_ = at::zeros({layout_.size()}, floats);
  best_parameters_ = parameters_.clone();
  best_loss_ = at::full({}, std::numeric_limits<double>::infinity(), doubles_on(device));
  counters_ = at::zeros({counter_words}, integers_on(device));
  stopped_ = at::zeros({}, floats);
  losses_.emplace(request_, request_.batch_size, device, stopped_.const_data_ptr<float>());
  rates_ = at::zeros({most_steps}, floats);
  learning_rate_ = at::zeros({}, floats);
  update_number_ = at::zeros({}, floats);
  lines_ = at::zeros({most_epochs, line_words}, integers_on(device));
  // One line more than epochs: where the next one would be written after stopping.
  if (losses_->are_several())
    loss_lines_ = at::zeros({most_epochs + 1, 2 * static_cast<std::int64_t>(request_.losses.size())},
                            doubles_on(device));
  batch_.emplace(request_);
}

std::unique_ptr<Trainee> TorchEngine::make_trainee() const {
  if (records_gradients_)
    return std::make_unique<ModuleTrainee>(
        request_.network,
        FlatValues{layout_, parameters_, gradients_, trained_parameters_, buffers_from_, stopped_},
        request_.device);
  const MlpShape shape = mlp_shape(request_.network).value();
  return std::make_unique<MlpTrainee>(shape, mlp_layers(shape, layout_, parameters_, gradients_),
                                      request_.batch_size, request_.device);
}

void TorchEngine::make_work() {
  trainee_ = make_trainee();
  const auto* counters = reinterpret_cast<const kernels::StepCounters*>(counters_.const_data_ptr());
  const auto fill = [&](BatchWork& work, std::int64_t rows) {
    const Rows batch = batch_->first_rows(rows);
    work.begin = begin_step_of(rows);
    work.step = trainee_->make_step(rows, batch.inputs);
    work.masks = work.step->dropout_masks(request_.seed, counters);
    work.losses = losses_->work_for(batch, rows, work.step->outputs(), work.step->output_gradient());
  };
  const std::int64_t rows = request_.rows_per_epoch();
  if (rows >= request_.batch_size) fill(full_, request_.batch_size);
  if (rows % request_.batch_size != 0) fill(last_, rows % request_.batch_size);
  if (request_.validation.rows() > 0) {
    validation_.emplace(request_, *trainee_, place_, stopped_.const_data_ptr<float>());
  }
  const auto trained = [&](const at::Tensor& flat) {
    return flat.defined() ? flat.narrow(0, 0, trained_) : flat;
  };
  update_.emplace(request_.optimizer,
                  Update::Tensors{trained(parameters_), trained(gradients_), trained(first_moment_),
                                  trained(second_moment_), learning_rate_, update_number_, stopped_});
  end_epoch_ = end_epoch_work();
  if (request_.optimizer.max_grad_norm > 0)
    norms_.emplace(request_.device, most_epochs, request_.steps_per_epoch());
}

kernels::BeginStep TorchEngine::begin_step_of(std::int64_t rows) const {
  kernels::BeginStep begin;
  batch_->gather_in(begin);
  begin.order = request_.order;
  begin.seed = request_.seed;
  begin.rows = request_.training.rows();
  begin.epoch_rows = request_.rows_per_epoch();
  begin.batch_size = request_.batch_size;
  begin.batch_rows = rows;
  begin.steps_per_epoch = request_.steps_per_epoch();
  begin.first_update = request_.first_update;
  begin.rates = rates_.const_data_ptr<float>();
  begin.rate_count = most_steps;
  begin.stopped = stopped_.const_data_ptr<float>();
  begin.counters = reinterpret_cast<kernels::StepCounters*>(counters_.mutable_data_ptr());
  begin.learning_rate = learning_rate_.mutable_data_ptr<float>();
  begin.update_number = update_number_.mutable_data_ptr<float>();
  return begin;
}

kernels::EndEpoch TorchEngine::end_epoch_work() {
  kernels::EndEpoch end;
  end.row_sums = losses_->totals().mutable_data_ptr<double>();
  end.row_sum_count = losses_->totals().numel();
  end.rows = request_.rows_per_epoch();
  if (validation_) {
    end.validation_sums = validation_->losses().totals().mutable_data_ptr<double>();
    end.validation_sum_count = validation_->losses().totals().numel();
    end.validation_rows = validation_->rows();
  }
  end.steps_per_epoch = request_.steps_per_epoch();
  end.patience = request_.patience;
  end.min_delta = request_.min_delta;
  end.counters = reinterpret_cast<kernels::StepCounters*>(counters_.mutable_data_ptr());
  end.lines = reinterpret_cast<kernels::EpochLine*>(lines_.mutable_data_ptr());
  end.line_capacity = most_epochs;
  end.best_loss = best_loss_.mutable_data_ptr<double>();
  end.stopped = stopped_.mutable_data_ptr<float>();
  end.parameters = parameters_.const_data_ptr<float>();
  end.best_parameters = best_parameters_.mutable_data_ptr<float>();
  end.parameter_count = parameters_.numel();
  return end;
}

std::vector<at::Tensor> TorchEngine::changing_tensors() const {
  std::vector<at::Tensor> tensors{parameters_,     best_parameters_, best_loss_, counters_,
                                  losses_->sums(), stopped_,         lines_};
  if (first_moment_.defined()) tensors.push_back(first_moment_);
  if (second_moment_.defined()) tensors.push_back(second_moment_);
  if (norms_) tensors.push_back(norms_->sum());
  return tensors;
}

void TorchEngine::do_piece(Piece piece) {
  if (piece == Piece::epoch_end) {
    end_epoch();
    return;
  }
  BatchWork& work = piece == Piece::full_batch ? full_ : last_;
  kernels::begin_step(work.begin, place_);
  for (const kernels::DropoutMasks& masks : work.masks) kernels::dropout_masks(masks, place_);
  profile_.ended("data");
  work.step->forward();
  for (const kernels::Losses& losses : work.losses) kernels::losses(losses, place_);
  profile_.ended("forward");
  work.step->backward();
  profile_.ended("backward");
  if (request_.collective != nullptr) average_gradients();
  update_->run();
  if (norms_) norms_->add(update_->norm());
  profile_.ended("optimiser");
}

void TorchEngine::end_epoch() {
  constexpr std::int64_t word = offsetof(kernels::StepCounters, record_count) / sizeof(std::int64_t);
  if (norms_) norms_->end_epoch(counters_.narrow(0, word, 1));
  if (request_.collective != nullptr) average_buffers();
  if (validation_) validation_->run();
  if (losses_->are_several()) {
    losses_->add_up();
    at::Tensor means = at::div(losses_->sum_of_each(), static_cast<double>(request_.rows_per_epoch()));
    at::Tensor validated = at::zeros_like(means);
    if (validation_) {
      validation_->losses().add_up();
      validated = at::div(validation_->losses().sum_of_each(), static_cast<double>(validation_->rows()));
      validation_->losses().begin_epoch();
    }
    loss_lines_.index_copy_(0, counters_.narrow(0, word, 1), at::cat({means, validated}).view({1, -1}));
    losses_->begin_epoch();
  }
  kernels::end_epoch(end_epoch_, place_);
}

ChunkResult TorchEngine::run(const Chunk& chunk) {
  return on_stream("training", [&] {
    std::optional<FlushAllToZero> flushed;
    if (!place_.device.is_cuda()) {
      settle_cpu_for(request_);
      flushed.emplace();
    }
    ChunkResult result;
    result.stopped_early = has_stopped();
    if (!result.stopped_early && chunk.first_step != next_step_) {
      fail("a chunk that begins with step {} cannot follow step {}", chunk.first_step, next_step_);
    }
    const auto total = static_cast<std::int64_t>(chunk.learning_rates.size());
    for (std::int64_t done = 0; done < total && !result.stopped_early;) {
      const std::int64_t count = steps_in_one_go(total - done);
      begin_part(chunk.first_step + done, chunk.learning_rates.data() + done, count);
      run_steps(count);
      collect(result);
      done += count;
    }
    return result;
  });
}

std::int64_t TorchEngine::steps_in_one_go(std::int64_t wanted) const {
  const std::int64_t per_epoch = request_.steps_per_epoch();
  const std::int64_t by_epochs = per_epoch > most_steps / most_epochs ? most_steps : per_epoch * most_epochs;
  return std::min({wanted, most_steps, by_epochs});
}

void TorchEngine::begin_part(std::int64_t first_step, const float* rates, std::int64_t count) {
  rates_.narrow(0, 0, count)
      .copy_(at::from_blob(const_cast<float*>(rates), {count}, floats_on(Device::cpu())));
  kernels::StepCounters counters = host_counters();
  counters.rate_origin = first_step;
  counters.record_count = 0;
  set_counters(counters);
}

// Returns how often it was run: a step that is looked at runs by itself, operation by operation.
std::int64_t TorchEngine::run_piece(Piece piece, std::int64_t times) {
  if (!profile_.begin_step()) {
    runner_->run(piece, times);
    return times;
  }
  if (kind_ == Kind::graph) Trace::current()->note(graph_is_looked_at);
  do_piece(piece);
  profile_.end_step();
  return 1;
}

void TorchEngine::run_steps(std::int64_t count) {
  const std::int64_t per_epoch = request_.steps_per_epoch();
  const std::int64_t full_batches = request_.rows_per_epoch() / request_.batch_size;
  while (count > 0) {
    const std::int64_t full_left = full_batches - next_step_ % per_epoch;
    const std::int64_t times = full_left > 0 ? std::min(count, full_left) : 1;
    const std::int64_t times_now = run_piece(full_left > 0 ? Piece::full_batch : Piece::last_batch, times);
    count -= times_now;
    next_step_ += times_now;
    if (next_step_ % per_epoch != 0) continue;
    runner_->run(Piece::epoch_end, 1);
    profile_.interrupt();
    // Looking costs nothing on the CPU. A GPU is not waited for: after stopping, its steps change nothing.
    if (!place_.device.is_cuda() && has_stopped()) return;
  }
}

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
      result.finished_epochs.push_back(record);
    }
  }
  result.stopped_early = has_stopped();
}

// Of one line of loss_lines_.
std::vector<NamedValue> TorchEngine::loss_values(const double* means) const {
  std::vector<NamedValue> values;
  const std::size_t count = request_.losses.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = request_.losses[i].name;
    values.push_back({"train_" + name, means[i]});
    if (validation_) values.push_back({"validation_" + name, means[count + i]});
  }
  return values;
}

bool TorchEngine::has_stopped() const {
  return stopped_.to(at::kCPU).const_data_ptr<float>()[0] != 0;
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

NamedArrays TorchEngine::state() const {
  return on_stream("reading the engine's state", [&] {
    NamedArrays state;
    layout_.append_to(state, "parameters.", parameters_);
    if (first_moment_.defined()) layout_.append_to(state, "first_moment.", first_moment_);
    if (second_moment_.defined()) layout_.append_to(state, "second_moment.", second_moment_);
    if (validation_) {
      layout_.append_to(state, "best_parameters.", best_parameters_);
      state.push_back({"best_validation_loss", host_array(best_loss_.view({1}))});
    }
    const kernels::StepCounters counters = host_counters();
    const std::array<std::int64_t, 3> numbers{counters.step, counters.since_best, has_stopped() ? 1 : 0};
    state.push_back({"counters", Array::from<std::int64_t>(numbers, {3})});
    state.push_back({"row_sums", host_array(losses_->sums())});
    if (norms_) norms_->append_to(state);
    return state;
  });
}

void TorchEngine::restore(const NamedArrays& state) {
  on_stream("restoring the engine's state", [&] {
    const auto checked = [&](const std::string& name, DType type, const Shape& shape) -> const Array& {
      const Array& array = find_array(state, name);
      if (array.type() != type || array.shape() != shape) {
        refuse("the array '{}' of the saved state does not fit this training: it belongs to another one",
               name);
      }
      return array;
    };
    parameters_.copy_(layout_.flat_from(state, "parameters."));
    if (first_moment_.defined()) first_moment_.copy_(layout_.flat_from(state, "first_moment."));
    if (second_moment_.defined()) second_moment_.copy_(layout_.flat_from(state, "second_moment."));
    if (validation_) {
      best_parameters_.copy_(layout_.flat_from(state, "best_parameters."));
      best_loss_.copy_(view_of(checked("best_validation_loss", DType::float64, {1})).squeeze(0));
    }
    const auto numbers = checked("counters", DType::int64, {3}).as<std::int64_t>();
    if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state has a negative number of steps");
    kernels::StepCounters counters;
    counters.step = numbers[0];
    counters.since_best = numbers[1];
    set_counters(counters);
    stopped_.fill_(numbers[2] != 0 ? 1 : 0);
    const at::Tensor& sums = losses_->sums();
    sums.copy_(view_of(checked("row_sums", DType::float64, sums.sizes().vec())));
    if (norms_) norms_->restore(state);
    next_step_ = counters.step;
  });
}

NamedArrays TorchEngine::parameters() const {
  return on_stream("reading the parameters", [&] {
    NamedArrays arrays;
    layout_.append_to(arrays, "", parameters_);
    return arrays;
  });
}

NamedArrays TorchEngine::best_parameters() const {
  return on_stream("reading the best parameters", [&] {
    // A run without validation has no best; nor has one whose every validation loss was not a number.
    const bool has_best = validation_ && std::isfinite(best_loss_.to(at::kCPU).const_data_ptr<double>()[0]);
    NamedArrays arrays;
    layout_.append_to(arrays, "", has_best ? best_parameters_ : parameters_);
    return arrays;
  });
}

}  // namespace stoker::torch_door
