#include "fused/cuda/experts/expert_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "engine/edits_in_place.h"
#include "engine/epoch_hits.h"
#include "fused/cuda/experts/captured_steps.h"
#include "fused/cuda/experts/expert_memory.h"
#include "fused/cuda/experts/experts_on_device.h"
#include "fused/cuda/experts/flat.h"
#include "fused/cuda/gpu.h"
#include "fused/cuda/group_rows.h"
#include "fused/cuda/own_stream.h"
#include "fused/refusal.h"

namespace stoker::fused::experts {
namespace {

constexpr int first_with_tf32 = 80;
constexpr int first_with_early_starts = 90;
constexpr std::int64_t most_choices = 1 << 24;  // of a batch
// Of a recording: as many as make a launch by the host shorter than what it launches.
constexpr std::int64_t steps_at_once = 8;

class ExpertEngine : public Engine, public EditsInPlace {
 public:
  explicit ExpertEngine(const EngineRequest& request);

  std::string_view name() const override { return "fused"; }
  Precision precision() const override {
    return request_.precision == Precision::automatic ? Precision::fp32 : request_.precision;
  }
  // All of it is there from the beginning to the end.
  MemoryUse memory() const override {
    std::uint64_t bytes = memory_.bytes() + (sleeping_ ? sleeping_->bytes() : 0);
    for (const Dataset* rows : {&request_.training, &request_.validation})
      for (const DatasetArray& each : rows->arrays) bytes += each.array.bytes();
    return {bytes, bytes, bytes};
  }
  ChunkResult run(const Chunk& chunk) override;
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  NamedArrays parameters() const override { return arrays_of(memory_.parameters); }
  NamedArrays best_parameters() const override {
    const bool has_best = has_validation() && std::isfinite(download<double>(memory_.best_loss, 0, 1)[0]);
    return arrays_of(has_best ? memory_.best_parameters : memory_.parameters);
  }
  std::unique_ptr<StructureHandle> structure() override { return sleeping_ ? sleeping_->edit() : nullptr; }

 private:
  bool has_validation() const { return request_.validation.rows() > 0; }
  bool counts_hits() const { return term_of_classes(request_) != nullptr; }
  void restore_hits(const NamedArrays& state);
  bool is_clipped() const { return request_.optimizer.max_grad_norm > 0; }
  std::size_t flat_size() const { return static_cast<std::size_t>(work_.layout.size); }

  void point_to_memory();
  void prepare_gathers();
  void warm_up();
  void write(Array& array, const std::vector<float>& flat);
  void tell_living(const std::vector<std::int32_t>& living);
  // Edits in place may still be under way.
  std::vector<float> read(const Array& array) const {
    stream_.wait();
    return download<float>(array, 0, flat_size());
  }
  NamedArrays arrays_of(const Array& array) const {
    NamedArrays arrays;
    append_from_flat(work_.layout, read(array), "", arrays);
    return arrays;
  }

  void tell_steps(std::span<const float> rates);
  void launch_one_step();
  void launch_steps(std::int64_t count);
  void launch_end_of_epoch();
  void run_part(std::span<const float> rates, ChunkResult& result);
  void collect(std::size_t epochs, ChunkResult& result);
  EpochRecord record_of(const kernels::EpochLine& line, const double* values) const;

  EngineRequest request_;
  ExpertShape shape_;
  OwnStream stream_;
  ExpertWork work_;
  int blocks_;
  ExpertMemory memory_;
  ExpertWork validation_;
  kernels::BeginStep begin_;
  kernels::Gather validation_gathers_[kernels::most_gathers];
  int validation_gather_count_ = 0;
  CapturedSteps one_, several_;
  std::optional<Sleeping> sleeping_;  // of experts that are born, merged and removed
  std::int64_t next_step_ = 0;
  bool stopped_ = false;
};

ExpertEngine::ExpertEngine(const EngineRequest& request)
    : request_(request),
      shape_(expert_shape(request.network).value()),
      stream_(request.device),
      work_(work_of(request, shape_)),
      blocks_(2 * gpu_of(request.device).processors),
      memory_(request, work_, stream_.get()) {
  for (const Dataset* dataset : {&request_.training, &request_.validation})
    if (dataset->rows() > 0 && request_.loss().kind == Loss::cross_entropy)
      check_classes(*dataset, shape_.outputs, request_.device, stream_);
  work_.starts_early = gpu_of(request.device).capability >= first_with_early_starts;
  point_to_memory();
  prepare_gathers();
  std::vector<float> flat(flat_size(), 0.0F);
  to_flat(work_.layout, request_.initial_parameters, "", flat);
  tell_living(living_in(work_.layout, flat, work_.top_k));
  write(memory_.parameters, flat);
  if (has_validation()) write(memory_.best_parameters, flat);
  const double none = std::numeric_limits<double>::infinity();
  upload(memory_.best_loss, 0, &none, 1, stream_.get());
  if (may_sleep(shape_)) sleeping_.emplace(request_, shape_, work_, memory_.living, blocks_, stream_);
  warm_up();
}

// A step that does nothing, since training is over: kernels that are loaded when they are first launched must
// not be so while a step is recorded.
void ExpertEngine::warm_up() {
  const float is_over = 1, goes_on = 0;
  upload(memory_.stopped, 0, &is_over, 1, stream_.get());
  launch_one_step();
  stream_.wait();
  upload(memory_.stopped, 0, &goes_on, 1, stream_.get());
  stream_.wait();
}

// One piece of memory for all that a step makes for its own.
void ExpertEngine::point_to_memory() {
  constexpr std::int64_t alignment = 256;
  const auto bytes_of = [](const auto* pointer, std::int64_t count) {
    const auto bytes = count * static_cast<std::int64_t>(sizeof(*pointer));
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::int64_t bytes = 0;
  place_buffers(work_, [&](auto*& pointer, std::int64_t count) { bytes += bytes_of(pointer, count); });
  memory_.buffers =
      device_memory<std::uint8_t>(static_cast<std::size_t>(bytes), request_.device, stream_.get());
  auto* next = pointer<std::uint8_t>(memory_.buffers);
  place_buffers(work_, [&](auto*& placed, std::int64_t count) {
    placed = reinterpret_cast<std::remove_reference_t<decltype(placed)>>(next);
    next += bytes_of(placed, count);
  });

  work_.counters = pointer<kernels::StepCounters>(memory_.counters);
  work_.stopped = pointer<float>(memory_.stopped);
  work_.features = pointer<float>(memory_.features);
  work_.losses.float_targets = pointer<float>(memory_.targets);
  work_.losses.class_targets = pointer<std::int64_t>(memory_.targets);
  work_.losses.batch_rows = &work_.counters->current_rows;
  if (counts_hits()) work_.losses.hit_sums = pointer<double>(memory_.train_hits);
  work_.parameters = pointer<float>(memory_.parameters);
  if (request_.optimizer.has_first_moment()) work_.first_moment = pointer<float>(memory_.first_moment);
  if (request_.optimizer.has_second_moment()) work_.second_moment = pointer<float>(memory_.second_moment);
  work_.living = pointer<std::int32_t>(memory_.living);
  work_.living_count = work_.living + work_.layout.room;
  work_.row_sums = pointer<double>(memory_.row_sums);
  if (work_.terms > 1) work_.term_sums = pointer<double>(memory_.term_sums);
  auto* steps = pointer<ExpertMemory::StepTable>(memory_.steps);
  work_.first_step = &steps->first_step;
  work_.steps = steps->steps;
  work_.norm_sum = pointer<double>(memory_.norm_sum);
  work_.lines = pointer<kernels::EpochLine>(memory_.lines);
  work_.line_capacity = static_cast<std::int64_t>(ExpertMemory::most_epochs);
  work_.values = pointer<double>(memory_.values);
  work_.best_parameters = pointer<float>(memory_.best_parameters);
}

void ExpertEngine::prepare_gathers() {
  const BatchBuffers to{pointer<float>(memory_.features), memory_.targets.data(),
                        pointer<float>(memory_.weights)};
  begin_.gather_count = gathers_of(request_.training, work_.layout, to, begin_.gathers);
  begin_.order = request_.order;
  begin_.seed = request_.seed;
  begin_.rows = begin_.epoch_rows = request_.training.rows();
  begin_.batch_size = request_.batch_size;
  begin_.batch_rows = std::min(request_.batch_size, request_.training.rows());
  begin_.steps_per_epoch = request_.steps_per_epoch();
  begin_.rates = pointer<float>(memory_.rates);
  begin_.rate_count = 1;
  begin_.learning_rate = pointer<float>(memory_.rates, 1);
  begin_.update_number = pointer<float>(memory_.rates, 2);
  begin_.stopped = work_.stopped;
  begin_.counters = work_.counters;

  validation_ = validation_of(work_);
  validation_.row_sums = pointer<double>(memory_.validation_sums);
  if (counts_hits()) validation_.losses.hit_sums = pointer<double>(memory_.validation_hits);
  const auto weights_of = [&](const Dataset& dataset) {
    return dataset.find(Role::weights) == nullptr ? nullptr : to.weights;
  };
  work_.losses.row_weights = weights_of(request_.training);
  if (!has_validation()) return;
  validation_.losses.row_weights = weights_of(request_.validation);
  validation_gather_count_ = gathers_of(request_.validation, work_.layout, to, validation_gathers_);
}

void ExpertEngine::write(Array& array, const std::vector<float>& flat) {
  upload(array, 0, flat.data(), flat.size(), stream_.get());
  stream_.wait();
}

void ExpertEngine::tell_living(const std::vector<std::int32_t>& living) {
  std::vector<std::int32_t> table = living;
  table.resize(static_cast<std::size_t>(work_.layout.room) + 1);
  table.back() = static_cast<std::int32_t>(living.size());
  upload(memory_.living, 0, table.data(), table.size(), stream_.get());
  stream_.wait();
}

// What updates take of their steps alone, for all steps of a part in one copy.
void ExpertEngine::tell_steps(std::span<const float> rates) {
  auto* staged = pointer<ExpertMemory::StepTable>(memory_.staged_steps);
  staged->first_step = next_step_;
  for (std::size_t i = 0; i < rates.size(); ++i)
    staged->steps[i] =
        update_step(request_.optimizer, next_step_ + static_cast<std::int64_t>(i) + 1, rates[i]);
  const std::size_t bytes = offsetof(ExpertMemory::StepTable, steps) + rates.size() * sizeof(UpdateStep);
  upload(memory_.steps, 0, reinterpret_cast<const std::uint8_t*>(staged), bytes, stream_.get());
}

void ExpertEngine::launch_one_step() {
  check(kernels::begin_step_cuda(begin_, stream_.get(), work_.starts_early), "beginning a step");
  check(launch_step(work_, blocks_, stream_.get()), "training");
}

void ExpertEngine::launch_steps(std::int64_t count) {
  if (!one_.is_there()) {
    one_ = CapturedSteps(stream_.get(), [&] { launch_one_step(); });
    several_ = CapturedSteps(stream_.get(), [&] {
      for (std::int64_t i = 0; i < steps_at_once; ++i) launch_one_step();
    });
  }
  for (; count >= steps_at_once; count -= steps_at_once) several_.launch(stream_.get());
  for (; count > 0; --count) one_.launch(stream_.get());
}

void ExpertEngine::launch_end_of_epoch() {
  const std::int64_t rows = request_.validation.rows();
  for (std::int64_t first = 0; first < rows; first += work_.batch) {
    validation_.fixed_rows = std::min(work_.batch, rows - first);
    for (int i = 0; i < validation_gather_count_; ++i)
      check(kernels::gather_rows_cuda(validation_gathers_[i], first, validation_.fixed_rows, stream_.get()),
            "validating");
    check(launch_validation(validation_, blocks_, stream_.get()), "validating");
  }
  check(launch_take_values(work_, stream_.get()), "judging an epoch");
  kernels::EndEpoch end;
  end.row_sums = work_.row_sums;
  end.row_sum_count = work_.batch;
  end.rows = request_.training.rows();
  end.train_hits = work_.losses.hit_sums;
  if (has_validation()) {
    end.validation_sums = validation_.row_sums;
    end.validation_sum_count = work_.batch;
    end.validation_rows = rows;
    end.validation_hits = validation_.losses.hit_sums;
  }
  end.steps_per_epoch = request_.steps_per_epoch();
  end.patience = request_.patience;
  end.min_delta = request_.min_delta;
  end.counters = work_.counters;
  end.lines = pointer<kernels::EpochLine>(memory_.lines);
  end.line_capacity = work_.line_capacity;
  end.best_loss = pointer<double>(memory_.best_loss);
  end.stopped = pointer<float>(memory_.stopped);
  check(kernels::end_epoch_cuda(end, stream_.get()), "judging an epoch");
  if (has_validation()) check(launch_keep_best(work_, blocks_, stream_.get()), "keeping the best weights");
}

// The host launches all of it and waits once, at the end.
void ExpertEngine::run_part(std::span<const float> rates, ChunkResult& result) {
  check(cudaMemsetAsync(&work_.counters->record_count, 0, sizeof(std::int64_t), stream_.get()),
        "beginning a part");
  tell_steps(rates);
  const auto total = static_cast<std::int64_t>(rates.size());
  const std::int64_t per_epoch = request_.steps_per_epoch();
  std::size_t epochs = 0;
  for (std::int64_t done = 0; done < total;) {
    const std::int64_t step = next_step_ + done;
    const std::int64_t count = std::min(total - done, per_epoch - step % per_epoch);
    launch_steps(count);
    done += count;
    if ((step + count) % per_epoch != 0) continue;
    launch_end_of_epoch();
    ++epochs;
  }
  collect(epochs, result);
}

ChunkResult ExpertEngine::run(const Chunk& chunk) {
  check(cudaSetDevice(request_.device.index), "choosing a GPU");
  if (!stopped_ && !chunk.learning_rates.empty() && chunk.first_step != next_step_)
    fail("a chunk that begins with step {} cannot follow step {}", chunk.first_step, next_step_);
  ChunkResult result;
  result.stopped_early = stopped_;
  const auto by_epochs =
      static_cast<std::size_t>(request_.steps_per_epoch()) * (ExpertMemory::most_epochs - 1);
  const std::size_t most = std::min(ExpertMemory::most_steps, by_epochs);
  std::span<const float> left = chunk.learning_rates;
  while (!left.empty() && !stopped_) {
    const std::size_t count = std::min(left.size(), most);
    run_part(left.first(count), result);
    left = left.subspan(count);
  }
  return result;
}

EpochRecord ExpertEngine::record_of(const kernels::EpochLine& line, const double* values) const {
  EpochRecord record;
  record.epoch = line.epoch;
  record.train_loss = line.train_loss;
  if (has_validation()) record.validation_loss = line.validation_loss;
  record.is_best = line.is_best != 0;
  const double norms = values[work_.terms];
  if (is_clipped() && !std::isnan(norms))
    record.gradient_norm = norms / static_cast<double>(request_.steps_per_epoch());
  for (std::size_t i = 0; request_.losses.size() > 1 && i < request_.losses.size(); ++i) {
    const LossTerm& term = request_.losses[i];
    record.values.push_back(
        {"train_" + term.name, values[i] / static_cast<double>(request_.training.rows())});
    if (has_validation() && !term.is_of_training_alone)
      record.values.push_back({"validation_" + term.name, line.validation_loss});
  }
  add_accuracy(line, request_, record);
  return record;
}

// All that the host wants to know in one wait.
void ExpertEngine::collect(std::size_t epochs, ChunkResult& result) {
  const auto fetch = [&](Array& to, const Array& from, std::size_t bytes) {
    check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToHost, stream_.get()),
          "copying from the GPU");
  };
  const auto width = static_cast<std::size_t>(work_.terms) + 1;
  fetch(memory_.seen_counters, memory_.counters, sizeof(kernels::StepCounters));
  fetch(memory_.seen_stopped, memory_.stopped, sizeof(float));
  if (epochs > 0) {
    fetch(memory_.seen_lines, memory_.lines, epochs * sizeof(kernels::EpochLine));
    fetch(memory_.seen_values, memory_.values, epochs * width * sizeof(double));
  }
  stream_.wait();
  const auto& counters = *pointer<kernels::StepCounters>(memory_.seen_counters);
  for (std::size_t i = 0; i < static_cast<std::size_t>(counters.record_count); ++i)
    result.finished_epochs.push_back(record_of(*pointer<kernels::EpochLine>(memory_.seen_lines, i),
                                               pointer<double>(memory_.seen_values, i * width)));
  next_step_ = counters.step;
  stopped_ = *pointer<float>(memory_.seen_stopped) != 0;
  result.stopped_early = stopped_;
}

NamedArrays ExpertEngine::state() const {
  NamedArrays state;
  const auto append = [&](const Array& array, const char* prefix) {
    append_from_flat(work_.layout, read(array), prefix, state);
  };
  const auto append_doubles = [&](const char* name, const Array& array, const Shape& shape) {
    const auto count = static_cast<std::size_t>(array.size()) / sizeof(double);
    state.push_back({name, Array::from<double>(download<double>(array, 0, count), shape)});
  };
  append(memory_.parameters, "parameters.");
  if (request_.optimizer.has_first_moment()) append(memory_.first_moment, "first_moment.");
  if (request_.optimizer.has_second_moment()) append(memory_.second_moment, "second_moment.");
  if (has_validation()) {
    append(memory_.best_parameters, "best_parameters.");
    append_doubles("best_validation_loss", memory_.best_loss, {1});
  }
  const auto counters = download<kernels::StepCounters>(memory_.counters, 0, 1)[0];
  const std::array<std::int64_t, 3> numbers{counters.step, counters.since_best, stopped_ ? 1 : 0};
  state.push_back({"counters", Array::from<std::int64_t>(numbers, {3})});
  append_doubles("row_sums", memory_.row_sums, {work_.batch});
  if (work_.terms > 1) append_doubles("loss_sums", memory_.term_sums, {work_.terms, work_.batch});
  if (is_clipped()) append_doubles("gradient_norms", memory_.norm_sum, {1});
  if (counts_hits()) {
    const auto count = static_cast<std::size_t>(work_.batch);
    const std::vector<double> hits = download<double>(memory_.train_hits, 0, count);
    const double sum = std::accumulate(hits.begin(), hits.end(), 0.0);
    state.push_back({"train_hits", Array::from<double>(std::array{sum}, {1})});
  }
  return state;
}

// Checkpoints of earlier versions have none: then those of the unfinished epoch are not known.
void ExpertEngine::restore_hits(const NamedArrays& state) {
  if (!counts_hits()) return;
  const auto found = std::ranges::find(state, "train_hits", &NamedArray::name);
  const bool is_known =
      found != state.end() && found->array.type() == DType::float64 && found->array.size() == 1;
  std::vector<double> hits(static_cast<std::size_t>(work_.batch), 0.0);
  hits.front() = is_known ? found->array.as<double>()[0] : std::nan("");
  upload(memory_.train_hits, 0, hits.data(), hits.size(), stream_.get());
  stream_.wait();
}

// In place: what was recorded of a step stays good, whoever was born or has gone. All of it is read before
// any of it is taken.
void ExpertEngine::restore(const NamedArrays& state) {
  const auto checked = [&](const std::string& name, DType type, const Shape& shape) -> const Array& {
    const Array& array = find_array(state, name);
    if (array.type() != type || array.shape() != shape)
      refuse("the array '{}' of the saved state does not fit this training: it belongs to another one", name);
    return array;
  };
  const auto flat_of = [&](const std::string& prefix, bool is_there) {
    std::vector<float> flat(is_there ? flat_size() : 0, 0.0F);
    if (is_there) to_flat(work_.layout, state, prefix, flat);
    return flat;
  };
  const auto numbers = checked("counters", DType::int64, {3}).as<std::int64_t>();
  if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state has a negative number of steps");
  std::vector<std::pair<Array*, const Array*>> sums{
      {&memory_.row_sums, &checked("row_sums", DType::float64, {work_.batch})}};
  if (work_.terms > 1)
    sums.push_back({&memory_.term_sums, &checked("loss_sums", DType::float64, {work_.terms, work_.batch})});
  if (is_clipped()) sums.push_back({&memory_.norm_sum, &checked("gradient_norms", DType::float64, {1})});
  if (has_validation())
    sums.push_back({&memory_.best_loss, &checked("best_validation_loss", DType::float64, {1})});
  const std::vector<float> values = flat_of("parameters.", true);
  const std::vector<float> first = flat_of("first_moment.", request_.optimizer.has_first_moment());
  const std::vector<float> second = flat_of("second_moment.", request_.optimizer.has_second_moment());
  const std::vector<float> best = flat_of("best_parameters.", has_validation());
  tell_living(living_in(work_.layout, values, work_.top_k));
  write(memory_.parameters, values);
  if (!first.empty()) write(memory_.first_moment, first);
  if (!second.empty()) write(memory_.second_moment, second);
  if (!best.empty()) write(memory_.best_parameters, best);
  for (const auto& [to, from] : sums)
    upload(*to, 0, from->as<double>().data(), from->as<double>().size(), stream_.get());
  restore_hits(state);
  kernels::StepCounters counters;
  counters.step = next_step_ = numbers[0];
  counters.since_best = numbers[1];
  stopped_ = numbers[2] != 0;
  const float stopped = stopped_ ? 1.0F : 0.0F;
  upload(memory_.counters, 0, &counters, 1, stream_.get());
  upload(memory_.stopped, 0, &stopped, 1, stream_.get());
  stream_.wait();
}

}  // namespace

std::string refusal(const EngineRequest& request) {
  const ExpertShape shape = expert_shape(request.network).value();
  if (request.precision == Precision::fp16) return "its operands are fp32, tf32 or bf16, not fp16";
  std::string problem = refusal_of_experts(request, shape);
  if (!problem.empty()) return problem;
  if (request.training.rows() > std::numeric_limits<std::int32_t>::max())
    return "more than 2,147,483,647 rows";
  if (request.batch_size * shape.settings.top_k > most_choices)
    return fmt::format("a batch with more than {} choices of experts (batch_size times top_k)", most_choices);
  const int capability = gpu_of(request.device).capability;
  if (capability < first_with_tf32)
    return fmt::format("it needs compute capability {}.{}, and this GPU has {}.{}", first_with_tf32 / 10,
                       first_with_tf32 % 10, capability / 10, capability % 10);
  return "";
}

std::unique_ptr<Engine> make_engine(const EngineRequest& request) {
  return std::make_unique<ExpertEngine>(request);
}

}  // namespace stoker::fused::experts
