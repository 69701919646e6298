#include "fused/cuda/sets/set_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "fused/cuda/kernels.h"
#include "fused/cuda/own_stream.h"
#include "fused/cuda/sets/flat.h"
#include "fused/cuda/sets/plan.h"
#include "fused/cuda/sets/set_memory.h"
#include "model/network/triangulation.h"

namespace stoker::fused::sets {
namespace {

SetRows rows_of(const EngineRequest& request, const Dataset& dataset) {
  const auto named = [&](const std::string& name) { return pointer<float>(dataset.find(name)->array); };
  const Array* weights = dataset.find(Role::weights);
  SetRows rows;
  rows.features = named(request.network.inputs[0].name);
  rows.present = named(request.network.inputs[1].name);
  rows.targets = named(request.loss().targets);
  rows.weights = weights == nullptr ? nullptr : pointer<float>(*weights);
  rows.rows = dataset.rows();
  return rows;
}

bool has_large_feature(const EngineRequest& request, const Dataset& dataset) {
  if (dataset.rows() == 0) return false;
  const OwnStream stream(request.device);
  Array flag = device_memory<std::uint32_t>(1, request.device, stream.get());
  const Array& features = dataset.find(request.network.inputs[0].name)->array;
  check(find_beyond(pointer<float>(features), features.size(), 1, most_feature, pointer<std::uint32_t>(flag),
                    stream.get()),
        "looking at the features");
  stream.wait();
  return download<std::uint32_t>(flag, 0, 1)[0] != 0;
}

Sizes sizes_of(const EngineRequest& request) {
  std::string why_not;
  const std::optional<Sizes> sizes = sizes_for(request, gpu_of(request.device), why_not);
  if (!sizes) refuse("engine fused: {}", why_not);
  check(cudaSetDevice(request.device.index), "choosing a GPU");
  check(prepare_kernels(*sizes), "preparing the fused kernel");
  return *sizes;
}

class SetEngine : public Engine {
 public:
  explicit SetEngine(const EngineRequest& request)
      : request_(request),
        sizes_(sizes_of(request)),
        rounds_(static_cast<int>((request.batch_size + sizes_.team_rows() - 1) / sizes_.team_rows())),
        stream_(request.device),
        memory_(request.device, stream_.get(), rounds_, blocks_to_validate()) {
    std::vector<float> flat(sets::parameters, 0.0F);
    to_flat(sizes_, request_.initial_parameters, "", flat);
    write(memory_.parameters, flat);
    write(memory_.best_parameters, flat);
    const double none = std::numeric_limits<double>::infinity();
    upload(memory_.best_loss, 0, &none, 1, stream_.get());
    stream_.wait();
  }

  std::string_view name() const override { return "fused"; }
  Precision precision() const override { return Precision::fp16; }
  // All of it is there from the beginning to the end.
  MemoryUse memory() const override {
    std::uint64_t bytes = memory_.bytes();
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

 private:
  bool has_validation() const { return request_.validation.rows() > 0; }
  std::int64_t blocks_to_validate() const { return validation_blocks(sizes_, request_.validation.rows()); }

  std::vector<float> read(const Array& array) const { return download<float>(array, 0, sets::parameters); }
  void write(Array& array, const std::vector<float>& flat) {
    upload(array, 0, flat.data(), flat.size(), stream_.get());
    stream_.wait();
  }
  NamedArrays arrays_of(const Array& array) const {
    NamedArrays arrays;
    append_from_flat(sizes_, read(array), "", arrays);
    return arrays;
  }

  TrainSets train_work(std::int64_t step, std::int64_t offset, std::int64_t count);
  ValidateSets validation_work();
  kernels::EndEpoch end_work();
  void tell_steps(std::span<const float> rates);
  void run_part(std::span<const float> rates, ChunkResult& result);
  void collect(ChunkResult& result);

  EngineRequest request_;
  Sizes sizes_;
  int rounds_;
  OwnStream stream_;
  SetMemory memory_;
  std::int64_t next_step_ = 0;
  bool stopped_ = false;
};

TrainSets SetEngine::train_work(std::int64_t step, std::int64_t offset, std::int64_t count) {
  const OptimizerSettings& settings = request_.optimizer;
  const auto probability =
      static_cast<float>(settings_as<TriangulationSettings>(request_.network.settings).dropout);
  TrainSets work;
  work.sizes = sizes_;
  work.rows = rows_of(request_, request_.training);
  work.steps = pointer<UpdateStep>(memory_.steps, static_cast<std::size_t>(offset));
  work.step_count = static_cast<int>(count);
  work.first_step = step;
  work.epoch = step / request_.steps_per_epoch();
  work.first_position = step % request_.steps_per_epoch() * request_.batch_size;
  work.batch_size = request_.batch_size;
  work.rounds = rounds_;
  work.seed = request_.seed;
  work.dropout_threshold = dropout_threshold(probability);
  work.dropout_scale = 1.0F / (1.0F - probability);
  work.optimizer = static_cast<int>(settings.kind);
  work.beta1 = static_cast<float>(settings.kind == Optimizer::sgd ? settings.momentum : settings.beta1);
  work.beta2 = static_cast<float>(settings.beta2);
  work.epsilon = static_cast<float>(settings.epsilon);
  work.decay = settings.kind == Optimizer::adamw ? 0.0F : static_cast<float>(settings.weight_decay);
  work.max_grad_norm = static_cast<float>(settings.max_grad_norm);
  work.parameters = pointer<float>(memory_.parameters);
  work.first_moment = pointer<float>(memory_.first_moment);
  work.second_moment = pointer<float>(memory_.second_moment);
  work.unfinished = pointer<float>(memory_.unfinished);
  work.row_sums = pointer<double>(memory_.row_sums);
  work.stopped = pointer<float>(memory_.stopped);
  work.counters = pointer<kernels::StepCounters>(memory_.counters);
  return work;
}

ValidateSets SetEngine::validation_work() {
  ValidateSets work;
  work.sizes = sizes_;
  work.rows = rows_of(request_, request_.validation);
  work.parameters = pointer<float>(memory_.parameters);
  work.stopped = pointer<float>(memory_.stopped);
  work.sums = pointer<double>(memory_.validation_sums);
  return work;
}

kernels::EndEpoch SetEngine::end_work() {
  kernels::EndEpoch end;
  end.row_sums = pointer<double>(memory_.row_sums);
  end.row_sum_count = static_cast<std::int64_t>(SetMemory::sums);
  end.rows = request_.training.rows();
  if (has_validation()) {
    end.validation_sums = pointer<double>(memory_.validation_sums);
    end.validation_sum_count = blocks_to_validate();
    end.validation_rows = request_.validation.rows();
  }
  end.steps_per_epoch = request_.steps_per_epoch();
  end.patience = request_.patience;
  end.min_delta = request_.min_delta;
  end.counters = pointer<kernels::StepCounters>(memory_.counters);
  end.lines = pointer<kernels::EpochLine>(memory_.lines);
  end.line_capacity = static_cast<std::int64_t>(SetMemory::most_epochs);
  end.best_loss = pointer<double>(memory_.best_loss);
  end.stopped = pointer<float>(memory_.stopped);
  end.parameters = pointer<float>(memory_.parameters);
  end.best_parameters = pointer<float>(memory_.best_parameters);
  end.parameter_count = sets::parameters;
  return end;
}

// What updates take of their steps alone, for all steps of a part in one copy.
void SetEngine::tell_steps(std::span<const float> rates) {
  const OptimizerSettings& settings = request_.optimizer;
  auto* staged = pointer<UpdateStep>(memory_.staged_steps);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double rate = rates[i];
    const auto number = static_cast<double>(next_step_ + static_cast<std::int64_t>(i) + 1);
    const double first = 1.0 - std::pow(settings.beta1, number);
    const double second = 1.0 - std::pow(settings.beta2, number);
    staged[i] = {rates[i], static_cast<float>(1.0 - rate * settings.weight_decay),
                 static_cast<float>(rate / first), static_cast<float>(1.0 / std::sqrt(second))};
  }
  upload(memory_.steps, 0, staged, rates.size(), stream_.get());
}

// Launches run to the next end of an epoch, where its validation is. The host waits once, at the end.
void SetEngine::run_part(std::span<const float> rates, ChunkResult& result) {
  tell_steps(rates);
  const auto total = static_cast<std::int64_t>(rates.size());
  const std::int64_t per_epoch = request_.steps_per_epoch();
  for (std::int64_t done = 0; done < total;) {
    const std::int64_t step = next_step_ + done;
    const std::int64_t count = std::min(total - done, per_epoch - step % per_epoch);
    check(train_sets(train_work(step, done, count), stream_.get()), "starting the fused kernel");
    done += count;
    if ((step + count) % per_epoch != 0) continue;
    if (has_validation()) check(validate_sets(validation_work(), stream_.get()), "validating");
    check(kernels::end_epoch_cuda(end_work(), stream_.get()), "judging an epoch");
  }
  collect(result);
}

ChunkResult SetEngine::run(const Chunk& chunk) {
  check(cudaSetDevice(request_.device.index), "choosing a GPU");
  if (!stopped_ && !chunk.learning_rates.empty() && chunk.first_step != next_step_)
    fail("a chunk that begins with step {} cannot follow step {}", chunk.first_step, next_step_);
  ChunkResult result;
  result.stopped_early = stopped_;
  const auto by_epochs = static_cast<std::size_t>(request_.steps_per_epoch()) * (SetMemory::most_epochs - 1);
  const std::size_t most = std::min(SetMemory::most_steps, by_epochs);
  std::span<const float> left = chunk.learning_rates;
  while (!left.empty() && !stopped_) {
    const std::size_t count = std::min(left.size(), most);
    run_part(left.first(count), result);
    left = left.subspan(count);
  }
  return result;
}

void SetEngine::collect(ChunkResult& result) {
  stream_.wait();
  auto counters = download<kernels::StepCounters>(memory_.counters, 0, 1)[0];
  const auto count = static_cast<std::size_t>(counters.record_count);
  for (const kernels::EpochLine& line : download<kernels::EpochLine>(memory_.lines, 0, count)) {
    EpochRecord record;
    record.epoch = line.epoch;
    record.train_loss = line.train_loss;
    if (has_validation()) record.validation_loss = line.validation_loss;
    record.is_best = line.is_best != 0;
    result.finished_epochs.push_back(record);
  }
  next_step_ = counters.step;
  stopped_ = download<float>(memory_.stopped, 0, 1)[0] != 0;
  result.stopped_early = stopped_;
  if (count == 0) return;
  counters.record_count = 0;
  upload(memory_.counters, 0, &counters, 1, stream_.get());
  stream_.wait();
}

NamedArrays SetEngine::state() const {
  NamedArrays state;
  append_from_flat(sizes_, read(memory_.parameters), "parameters.", state);
  if (request_.optimizer.has_first_moment())
    append_from_flat(sizes_, read(memory_.first_moment), "first_moment.", state);
  if (request_.optimizer.has_second_moment())
    append_from_flat(sizes_, read(memory_.second_moment), "second_moment.", state);
  if (has_validation()) {
    append_from_flat(sizes_, read(memory_.best_parameters), "best_parameters.", state);
    state.push_back(
        {"best_validation_loss", Array::from<double>(download<double>(memory_.best_loss, 0, 1), {1})});
  }
  const auto counters = download<kernels::StepCounters>(memory_.counters, 0, 1)[0];
  const std::array<std::int64_t, 3> numbers{counters.step, counters.since_best, stopped_ ? 1 : 0};
  state.push_back({"counters", Array::from<std::int64_t>(numbers, {3})});
  state.push_back({"row_sums", Array::from<double>(download<double>(memory_.row_sums, 0, SetMemory::sums),
                                                   {static_cast<std::int64_t>(SetMemory::sums)})});
  return state;
}

void SetEngine::restore(const NamedArrays& state) {
  const auto checked = [&](const std::string& name, DType type, std::int64_t size) -> const Array& {
    const Array& array = find_array(state, name);
    if (array.type() != type || array.shape() != stoker::Shape{size})
      refuse(
          "the array '{}' of the saved state does not fit this training: it belongs to another one, or to an "
          "earlier version of the program; train from the beginning",
          name);
    return array;
  };
  // All of it is read before any of it is taken.
  const auto flat_of = [&](const std::string& prefix, bool is_there) {
    std::vector<float> flat(sets::parameters, 0.0F);
    if (is_there) to_flat(sizes_, state, prefix, flat);
    return flat;
  };
  const auto numbers = checked("counters", DType::int64, 3).as<std::int64_t>();
  if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state has a negative number of steps");
  const auto sums =
      checked("row_sums", DType::float64, static_cast<std::int64_t>(SetMemory::sums)).as<double>();
  const std::vector<float> values = flat_of("parameters.", true);
  const std::vector<float> first = flat_of("first_moment.", request_.optimizer.has_first_moment());
  const std::vector<float> second = flat_of("second_moment.", request_.optimizer.has_second_moment());
  if (has_validation()) {
    const std::vector<float> best = flat_of("best_parameters.", true);
    upload(memory_.best_loss, 0, checked("best_validation_loss", DType::float64, 1).as<double>().data(), 1,
           stream_.get());
    write(memory_.best_parameters, best);
  }
  write(memory_.parameters, values);
  write(memory_.first_moment, first);
  write(memory_.second_moment, second);
  kernels::StepCounters counters;
  counters.step = next_step_ = numbers[0];
  counters.since_best = numbers[1];
  stopped_ = numbers[2] != 0;
  const float stopped = stopped_ ? 1.0F : 0.0F;
  upload(memory_.counters, 0, &counters, 1, stream_.get());
  upload(memory_.stopped, 0, &stopped, 1, stream_.get());
  upload(memory_.row_sums, 0, sums.data(), sums.size(), stream_.get());
  stream_.wait();
}

}  // namespace

std::string refusal(const EngineRequest& request) {
  std::string why_not;
  const std::optional<Sizes> sizes = sizes_for(request, gpu_of(request.device), why_not);
  if (!sizes) return why_not;
  check(cudaSetDevice(request.device.index), "choosing a GPU");
  if (const LaunchError error = prepare_kernels(*sizes); error != nullptr)
    return fmt::format("its kernel does not run on this GPU: {}", error);
  if (has_large_feature(request, request.training) || has_large_feature(request, request.validation))
    return "a feature is not a number or is larger than 32,768, which fp16 operands cannot hold";
  return "";
}

std::unique_ptr<Engine> make_engine(const EngineRequest& request) {
  return std::make_unique<SetEngine>(request);
}

}  // namespace stoker::fused::sets
