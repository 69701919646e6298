#include "torch/torch_engine.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "device/host_memory.h"
#include "model/family.h"
#include "model/nodes/node_network.h"
#include "torch/autocast.h"
#include "torch/cpu_settings.h"
#include "torch/gpu.h"
#include "torch/modules/module.h"
#include "torch/request_check.h"

namespace stoker::torch_door {
namespace {

// What the device keeps between two looks of the host. Chunks beyond are run in parts with a wait in between;
// the trainer's chunks of about 100 ms stay far below.
constexpr std::int64_t most_steps = 65'536;
constexpr std::int64_t most_epochs = 4'096;

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

TorchEngine::TorchEngine(const EngineRequest& request, Kind kind, LastBatch last_batch)
    : request_(request),
      kind_(kind),
      has_kernels_(kind == Kind::fused && request.precision != Precision::fp32 &&
                   !request.is_short_of_memory),
      precision_(has_kernels_ ? Precision::bf16 : precision_of(request)),
      trained_parameters_(parameters_of(request, {Part::trained})),
      layout_(parameters_of(request, {Part::trained, Part::frozen, Part::buffers})),
      trained_(ParameterLayout(trained_parameters_).size()),
      buffers_from_(ParameterLayout(parameters_of(request, {Part::trained, Part::frozen})).size()),
      // Gradients that are written out are written for fp32.
      records_gradients_(!has_kernels_ && (has_module(request.network) || has_16_bits(precision_))),
      shards_(request_),
      profile_(request.device.is_cuda() && Trace::current() != nullptr ? gpu::make_clock() : nullptr) {
  // The kernels keep little between the layers, and losses of a batch are no sums over its parts.
  if (has_kernels_ || nodes::is_node_network(request.network)) request_.accumulation_steps = 1;
  place_.device = request.device;
  translated("setting up an engine", [&] {
    if (!request.device.is_cuda()) return;
    memory_.begin(torch_device(request.device));
    stream_.emplace(torch_device(request.device));
    place_.stream = gpu::handle_of(stream_->get());
  });
  on_stream("setting up an engine", [&] {
    make_tensors();
    make_work(last_batch);
    const auto work = [this](Piece piece) { do_piece(piece); };
    if (kind != Kind::eager) {
      runner_ = gpu::make_graph_runner(work, changing_tensors(), gpu_settings());
    } else {
      runner_ = std::make_unique<EagerRunner>(work);
    }
  });
}

std::string_view TorchEngine::name() const {
  switch (kind_) {
    case Kind::eager:
      return "eager";
    case Kind::graph:
      return "graph";
    case Kind::fused:
      break;
  }
  return "fused";
}

void TorchEngine::make_tensors() {
  const Device device = request_.device;
  const auto floats = floats_on(device);
  parameters_ = layout_.flat_from(request_.initial_parameters, "").to(torch_device(device));
  gradients_ = at::zeros({layout_.size()}, floats);
  if (request_.optimizer.has_first_moment()) first_moment_ = at::zeros({layout_.size()}, floats);
  if (request_.optimizer.has_second_moment()) second_moment_ = at::zeros({layout_.size()}, floats);
  best_parameters_ = parameters_.clone();
  if (request_.weight_average > 0) {
    average_ = parameters_.clone();
    not_averaged_ = at::empty_like(parameters_);
  }
  best_loss_ = at::full({}, std::numeric_limits<double>::infinity(), doubles_on(device));
  counters_ = at::zeros({counter_words}, integers_on(device));
  stopped_ = at::zeros({}, floats);
  if (precision_ == Precision::fp16) scaling_.emplace(device, stopped_);
  losses_.emplace(request_, request_.batch_size, device, stopped_.const_data_ptr<float>());
  rates_ = at::zeros({most_steps}, floats);
  learning_rate_ = at::zeros({}, floats);
  update_number_ = at::zeros({}, floats);
  lines_ = at::zeros({most_epochs, line_words}, integers_on(device));
  // One line more than epochs: where the next one would be written after stopping.
  if (losses_->are_several())
    loss_lines_ = at::zeros({most_epochs + 1, 2 * static_cast<std::int64_t>(request_.losses.size())},
                            doubles_on(device));
  if (request_.window_slots > 0)
    window_.emplace(request_, stream_ ? std::optional(stream_->get()) : std::nullopt);
  batch_.emplace(request_, window_ ? window_->slots() : request_.training);
}

bool TorchEngine::pads(LastBatch last_batch) const {
  const std::int64_t rows = request_.rows_per_epoch();
  const std::int64_t batch = request_.batch_size;
  if (rows < batch || rows % batch == 0 || !trainee_->takes_padding()) return false;
  if (last_batch != LastBatch::as_it_pays) return last_batch == LastBatch::padded;
  return kind_ != Kind::eager && padding_pays(rows, batch);
}

void TorchEngine::make_work(LastBatch last_batch) {
  trainee_ = make_trainee();
  pads_last_batch_ = pads(last_batch);
  const std::int64_t rows = request_.rows_per_epoch();
  if (rows >= request_.batch_size) full_ = batch_work_of(request_.batch_size);
  if (rows % request_.batch_size != 0 && !pads_last_batch_) last_ = batch_work_of(rows % request_.batch_size);
  if (request_.validation.rows() > 0) {
    validation_.emplace(request_, *trainee_, place_, stopped_.const_data_ptr<float>());
  }
  const auto trained = [&](const at::Tensor& flat) {
    return flat.defined() ? flat.narrow(0, 0, trained_) : flat;
  };
  update_.emplace(request_.optimizer,
                  Update::Tensors{trained(parameters_), trained(gradients_), trained(first_moment_),
                                  trained(second_moment_), learning_rate_, update_number_,
                                  scaling_ ? scaling_->skipped() : stopped_, trained(average_)},
                  request_.weight_average, place_, has_kernels_);
  end_epoch_ = end_epoch_work();
  if (request_.optimizer.max_grad_norm > 0) norms_.emplace(request_.device, most_epochs);
}

TorchEngine::BatchWork TorchEngine::batch_work_of(std::int64_t rows) {
  const std::int64_t* counted_rows = pads_last_batch_ ? &device_counters()->current_rows : nullptr;
  BatchWork work;
  for (std::int64_t first = 0; first < rows; first += request_.part_rows()) {
    const std::int64_t count = std::min(request_.part_rows(), rows - first);
    const Rows batch = batch_->first_rows(count);
    std::unique_ptr<Step>& step = steps_[count];
    if (!step) step = trainee_->make_step(count, batch.inputs, pads_last_batch_);
    PartWork part{begin_step_of(count), step.get(),
                  losses_->work_for(batch, {first, count, rows, counted_rows}, step->outputs(),
                                    step->output_gradient())};
    part.begin.first_row = first;
    part.begin.moves_on = first + count == rows;
    work.push_back(std::move(part));
  }
  return work;
}

kernels::BeginStep TorchEngine::begin_step_of(std::int64_t rows) const {
  kernels::BeginStep begin;
  batch_->gather_in(begin);
  begin.order = request_.order;
  if (window_) begin.slots = window_->places();
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
  end.train_hits = losses_->hit_sums();
  if (validation_) {
    end.validation_sums = validation_->losses().totals().mutable_data_ptr<double>();
    end.validation_sum_count = validation_->losses().totals().numel();
    end.validation_rows = validation_->rows();
    end.validation_hits = validation_->losses().hit_sums();
  }
  end.steps_per_epoch = request_.steps_per_epoch();
  end.patience = request_.patience;
  end.min_delta = request_.min_delta;
  end.counters = reinterpret_cast<kernels::StepCounters*>(counters_.mutable_data_ptr());
  end.lines = reinterpret_cast<kernels::EpochLine*>(lines_.mutable_data_ptr());
  end.line_capacity = most_epochs;
  end.best_loss = best_loss_.mutable_data_ptr<double>();
  end.stopped = stopped_.mutable_data_ptr<float>();
  end.parameters = (average_.defined() ? average_ : parameters_).const_data_ptr<float>();
  end.best_parameters = best_parameters_.mutable_data_ptr<float>();
  end.parameter_count = parameters_.numel();
  return end;
}

std::vector<at::Tensor> TorchEngine::changing_tensors() const {
  std::vector<at::Tensor> tensors{parameters_,     best_parameters_, best_loss_, counters_,
                                  losses_->sums(), stopped_,         lines_};
  if (first_moment_.defined()) tensors.push_back(first_moment_);
  if (second_moment_.defined()) tensors.push_back(second_moment_);
  if (average_.defined()) tensors.push_back(average_);
  if (scaling_)
    for (const at::Tensor& each : scaling_->changing_tensors()) tensors.push_back(each);
  if (norms_) tensors.push_back(norms_->sum());
  if (losses_->hits().defined()) tensors.push_back(losses_->hits());
  return tensors;
}

void TorchEngine::do_piece(Piece piece) {
  if (piece == Piece::epoch_end) {
    end_epoch();
    return;
  }
  const BatchWork& work = piece == Piece::full_batch ? full_ : last_;
  for (const PartWork& part : work) {
    kernels::begin_step(part.begin, place_);
    profile_.ended("data");
    part.step->forward(part.begin.first_row);
    for (const kernels::Losses& losses : part.losses) kernels::losses(losses, place_);
    profile_.ended("forward");
    part.step->backward(/*adds=*/&part != &work.front());
    profile_.ended("backward");
  }
  // Before the scale is taken out: what is not finite in one process is so in all, and all skip the step.
  if (request_.collective != nullptr) average_gradients();
  if (scaling_) {
    scaling_->take_out_of(gradients_);
    scaling_->leave_out_of(update_number_);
  }
  update_->run();
  if (scaling_) scaling_->adapt();
  if (norms_) norms_->add(update_->norm(), scaling_ ? scaling_->skipped() : at::Tensor());
  profile_.ended("optimiser");
}

// By the average where there is one: networks read their weights from one place.
void TorchEngine::validate() {
  if (average_.defined()) {
    const std::int64_t rest = parameters_.numel() - trained_;
    average_.narrow(0, trained_, rest).copy_(parameters_.narrow(0, trained_, rest));
    not_averaged_.copy_(parameters_);
    parameters_.copy_(average_);
  }
  if (validation_) validation_->run();
  if (average_.defined()) parameters_.copy_(not_averaged_);
}

void TorchEngine::end_epoch() {
  constexpr std::int64_t word = offsetof(kernels::StepCounters, record_count) / sizeof(std::int64_t);
  if (norms_) norms_->end_epoch(counters_.narrow(0, word, 1));
  if (request_.collective != nullptr) average_buffers();
  validate();
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
    if (place_.device.is_cuda()) {
      gpu::settle(gpu_settings());
    } else {
      settle_cpu_for(request_);
      flushed.emplace();
      // The threads that share a step run now. If there are GPUs, the backward pass starts a few for them.
      constexpr int threads_for_gpus = 2;
      if (!std::exchange(has_threads_, true))
        fail_allocations_in_place_of_stacks(at::hasCUDA() ? threads_for_gpus : 0);
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
    const std::int64_t unseen = profile_.pass_over(times);
    runner_->run(piece, unseen);
    return unseen;
  }
  if (kind_ != Kind::eager)
    Trace::current()->note(fmt::format(
        "the engine {} runs the steps that are looked at operation by operation; all others are faster",
        name()));
  else if (threads_for(request_) > 1)
    Trace::current()->note("operations that several threads compute at a time count for each of them");
  do_piece(piece);
  profile_.end_step();
  return 1;
}

void TorchEngine::run_steps(std::int64_t count) {
  const std::int64_t per_epoch = request_.steps_per_epoch();
  const std::int64_t full_batches =
      pads_last_batch_ ? per_epoch : request_.rows_per_epoch() / request_.batch_size;
  while (count > 0) {
    const std::int64_t full_left = full_batches - next_step_ % per_epoch;
    std::int64_t times = full_left > 0 ? std::min(count, full_left) : 1;
    times = window_ ? window_->before(next_step_, times) : shards_.before(next_step_, times);
    const std::int64_t times_now = run_piece(full_left > 0 ? Piece::full_batch : Piece::last_batch, times);
    count -= times_now;
    next_step_ += times_now;
    if (window_) window_->after(next_step_);
    if (next_step_ % per_epoch != 0) continue;
    runner_->run(Piece::epoch_end, 1);
    profile_.interrupt();
    // Looking costs nothing on the CPU. A GPU is not waited for: after stopping, its steps change nothing.
    if (!place_.device.is_cuda() && has_stopped()) return;
  }
}

}  // namespace stoker::torch_door
