#include "advise/measured_steps.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "advise/measured_run.h"
#include "base/elapsed.h"
#include "base/error.h"
#include "device/cpu_formats.h"
#include "device/device.h"
#include "engine/precision.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cuda/sequence/sequence_kernels.h"
#include "model/family.h"
#include "pipeline/outputs_on_demand.h"
#include "pipeline/training_card.h"
#include "train/choose_batch.h"
#include "train/engines.h"
#include "train/fit.h"
#include "train/fit_network.h"
#include "train/metric_stopping.h"
#include "train/phases.h"
#include "train/place_data.h"
#include "train/recorded_figures.h"

namespace stoker::advise {
namespace {

constexpr double line_seconds = 0.25;
constexpr int least_stretches = 3;
constexpr std::int64_t longest_stretch = 100'000;

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct StepTimes {
  double seconds = 0;
  double processor_seconds = 0;
};

// The middle one of several stretches: what else the machine does makes some of them slower.
StepTimes times_of_a_step(Engine& engine) {
  std::int64_t next = 0;
  const auto take = [&](std::int64_t steps) {
    const Moment began = now();
    const double processor_began = processor_time();
    engine.run({next, std::vector<float>(static_cast<std::size_t>(steps), 0.0F)});
    next += steps;
    const auto count = static_cast<double>(steps);
    const double processor = (processor_time() - processor_began) / count;
    return StepTimes{seconds_since(began) / count, processor};
  };
  take(1);
  const auto wanted = static_cast<std::int64_t>(line_seconds / 5 / std::max(take(1).seconds, 1e-9));
  const std::int64_t stretch = std::clamp<std::int64_t>(wanted, 1, longest_stretch);
  if (stretch > 1) take(stretch / 2);
  std::vector<double> seconds;
  std::vector<double> processor;
  for (const Moment began = now();
       seconds_since(began) < line_seconds || seconds.size() < static_cast<std::size_t>(least_stretches);) {
    const StepTimes taken = take(stretch);
    seconds.push_back(taken.seconds);
    processor.push_back(taken.processor_seconds);
  }
  return {median_of(std::move(seconds)), median_of(std::move(processor))};
}

// One training of a document, with its rows as the engines want them.
struct Prepared {
  Work work;
  FitConfig config;
  EngineRequest request;  // rows in the host's memory
  double prepare_seconds = 0;
};

Work work_of(const Card& card, const ModelSpec& spec, const FitConfig& config) {
  Work work;
  work.card = card.id;
  work.family = spec.family;
  work.is_solved = spec.is_solved();
  work.members = std::max<std::int64_t>(config.ensemble.members(), 1);
  if (work.is_solved) return work;
  work.epochs = spec.training.epochs;
  work.patience = spec.training.early_stopping_patience;
  work.chooses_batch = spec.training.batch_size == automatic_batch;
  return work;
}

// Engines that LibTorch has no part in, on a CPU without the GPU's stub saying that there is none.
bool has_gpu_kernels(const EngineRequest& request) {
  return fused::sequence::has_kernels_for(request.network) || fused_cpu::maker().refusal(request).empty();
}

Prepared prepared(const Document& document, const Card& card, OutputsOnDemand& outputs, Device device) {
  const cards::TrainSettings settings = card.kind->training(card.config);
  const auto spec = std::get<ModelSpec>(outputs.value_at(document, model_to_train(card)));
  Prepared made{work_of(card, spec, settings.fit), settings.fit, {}, 0};
  if (made.work.is_solved) return made;
  const Moment began = now();
  const Table table = trainable_rows(std::get<Table>(outputs.value_at(document, rows_to_train_on(card))),
                                     spec, settings.preparation, no_notes());
  const FitRequest request{.training = table,
                           .spec = spec,
                           .preparation = settings.preparation,
                           .config = settings.fit,
                           .checkpoints = {}};
  const DividedRows rows = divide_rows(request, spec.training, no_notes());
  const PreparedData data = prepare(rows.training, rows.validation ? &*rows.validation : nullptr,
                                    rows.preparation, form_of(family_of(spec), spec.settings), no_notes());
  made.request = engine_request(spec, data, device, settings.fit);
  made.request.patience = 0;  // nothing is learnt, so it would stop
  if (made.work.chooses_batch)
    made.request.batch_size = batch_sizes_to_try(made.request.training.rows()).front();
  made.prepare_seconds = seconds_since(began);
  made.work.rows = made.request.training.rows();
  made.work.validation_rows = made.request.validation.rows();
  made.work.parameters = parameter_count(made.request.network);
  made.work.multiply_adds = multiply_adds(made.request.network);
  made.work.batch_size = made.request.batch_size;
  made.work.training_bytes = made.request.training.bytes();
  EngineRequest on_cpu = made.request;
  on_cpu.device = Device::cpu();
  made.work.has_gpu_kernels = has_gpu_kernels(on_cpu);
  return made;
}

// One line. What is refused says why; memory that runs out is a refusal too.
StepLine measured_line(const Prepared& training, EngineChoice engine, PlacementChoice placement,
                       std::int64_t batch, Precision precision) {
  StepLine line;
  line.card = training.work.card;
  line.engine = config::name_of(engine);
  line.placement = config::name_of(placement);
  line.batch_size = batch;
  line.precision = config::name_of(precision);
  line.is_as_written = batch == training.work.batch_size && precision == training.config.precision;
  EngineRequest request = training.request;
  request.batch_size = batch;
  request.accumulation_steps = std::min(request.accumulation_steps, batch);
  request.precision = precision;
  PlacementConfig wanted = training.config.placement;
  wanted.placement = placement;
  wanted.preload_to_gpu.reset();
  try {
    const Moment began = now();
    const PlacementChoice placed =
        place_data(request, {wanted, asking_engines(engine, std::nullopt)}, no_notes());
    line.placement = config::name_of(placed);
    const EngineMaker& maker = choose_engine(engines(), engine, std::nullopt, most_demanding_phase(request));
    const std::unique_ptr<Engine> made = making(maker, std::nullopt)(request);
    line.ready_seconds = seconds_since(began);
    const StepTimes times = times_of_a_step(*made);
    line.step_seconds = times.seconds;
    line.processor_seconds = times.processor_seconds;
    line.precision = config::name_of(made->precision());
  } catch (const Error& error) {
    if (error.code() != ExitCode::wrong_request && dynamic_cast<const OutOfMemory*>(&error) == nullptr) throw;
    line.refusal = error.what();
  }
  return line;
}

// All lines of one device, the most telling first.
class Lines {
 public:
  Lines(const Prepared& training, const StopSignal& stop, Moment until, MeasuredSteps& found)
      : training_(training), stop_(stop), until_(until), found_(found) {}

  void measure_all() {
    const Precision precision = training_.config.precision;
    const std::int64_t batch = training_.work.batch_size;
    for (const EngineChoice engine : {EngineChoice::fused, EngineChoice::graph, EngineChoice::eager})
      add(engine, PlacementChoice::automatic, batch, precision);
    const std::vector<StepLine> by_engine = own_;
    for (const StepLine& line : by_engine)
      if (line.refusal.empty()) measure_placements(line);
    if (const StepLine* best = fastest(by_engine)) {
      const EngineChoice engine = choice_named(best->engine);
      for (const std::int64_t other : other_batches())
        add(engine, PlacementChoice::automatic, other, precision);
      for (const Precision other : other_precisions(best->precision))
        add(engine, PlacementChoice::automatic, batch, other);
    }
  }

 private:
  static EngineChoice choice_named(const std::string& name) {
    for (const EngineChoice each : {EngineChoice::fused, EngineChoice::graph})
      if (config::name_of(each) == name) return each;
    return EngineChoice::eager;
  }

  static const StepLine* fastest(const std::vector<StepLine>& lines) {
    const StepLine* best = nullptr;
    for (const StepLine& each : lines)
      if (each.refusal.empty() && (best == nullptr || each.step_seconds < best->step_seconds)) best = &each;
    return best;
  }

  void measure_placements(const StepLine& first) {
    const bool is_cuda = training_.request.device.is_cuda();
    const std::vector<PlacementChoice> others =
        is_cuda ? std::vector{PlacementChoice::vram, PlacementChoice::window, PlacementChoice::pinned,
                              PlacementChoice::host}
                : std::vector{PlacementChoice::window};
    for (const PlacementChoice other : others)
      if (config::name_of(other) != first.placement)
        add(choice_named(first.engine), other, training_.work.batch_size, training_.config.precision);
  }

  std::vector<std::int64_t> other_batches() const {
    const std::int64_t written = training_.work.batch_size;
    std::set<std::int64_t> sizes;
    for (const std::int64_t each : {written / 4, 4 * written, 16 * written})
      if (each >= 1 && each <= training_.work.rows) sizes.insert(each);
    return {sizes.begin(), sizes.end()};
  }

  std::vector<Precision> other_precisions(const std::string& used) const {
    std::vector<Precision> others;
    for (const DeviceInfo& info : list_devices().devices) {
      if (info.device != training_.request.device) continue;
      for (const Precision each : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
        const bool is_slow = each == Precision::bf16 && !info.device.is_cuda() && !cpu_multiplies_bf16();
        if (config::name_of(each) != used && !is_slow && precision_problem(each, info).empty())
          others.push_back(each);
      }
    }
    return others;
  }

  void add(EngineChoice engine, PlacementChoice placement, std::int64_t batch, Precision precision) {
    if (stop_.reason() != StopReason::none) return;
    if (!own_.empty() && now() >= until_) {
      found_.is_cut_short = true;
      return;
    }
    own_.push_back(measured_line(training_, engine, placement, batch, precision));
    found_.lines.push_back(own_.back());
  }

  const Prepared& training_;
  const StopSignal& stop_;
  Moment until_;
  MeasuredSteps& found_;
  std::vector<StepLine> own_;
};

Moment later_by(Moment from, double seconds) {
  return from + std::chrono::duration_cast<Moment::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

namespace {

// For `auto` of the runs to come.
void record_lines(const Prepared& training, const MeasuredSteps& found) {
  if (training.work.chooses_batch) return;
  std::vector<StepFigures> figures;
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device != training.request.device) continue;
    std::set<std::string> seen;  // the usual placement comes first
    for (const StepLine& line : found.lines)
      if (line.card == training.work.card && line.is_as_written && line.refusal.empty() &&
          seen.insert(line.engine).second)
        figures.push_back({found.device, info.model, line.engine, line.step_seconds, line.ready_seconds});
  }
  record_figures(figures_key(training.request), figures);
}

}  // namespace

MeasuredSteps measure_steps(const StepsToMeasure& wanted, const StopSignal& stop) {
  const Document document = load_pipeline(wanted.document, wanted.assignments);
  const Device device = choose_device(wanted.device, no_notes());
  MeasuredSteps found;
  found.device = device.name();
  const Notes notes = no_notes();
  OutputsOnDemand outputs(notes, stop, wanted.cache);
  std::vector<const Card*> training_cards;
  for (const Card& card : document.cards)
    if (trains(card)) training_cards.push_back(&card);
  for (const Card* card : training_cards) {
    const Moment began = now();
    const Prepared training = prepared(document, *card, outputs, device);
    found.load_seconds += seconds_since(began) - training.prepare_seconds;
    found.prepare_seconds += training.prepare_seconds;
    found.works.push_back(training.work);
    if (training.work.is_solved) continue;
    const double share = wanted.seconds / static_cast<double>(training_cards.size());
    Lines(training, stop, later_by(now(), share), found).measure_all();
    record_lines(training, found);
  }
  return found;
}

}  // namespace stoker::advise
