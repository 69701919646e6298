#include "advise/measured_steps.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/time/elapsed.h"
#include "base/time/measure.h"
#include "base/time/steady_time.h"
#include "data/cubes/cube_rows.h"
#include "device/cpu_formats.h"
#include "device/device.h"
#include "engine/precision.h"
#include "fused/cuda/nodes/node_engine.h"
#include "fused/cuda/sequence/sequence_kernels.h"
#include "fused/refusal.h"
#include "model/experts/expert_shape.h"
#include "model/family.h"
#include "model/network/mlp.h"
#include "model/network/triangulation.h"
#include "model/nodes/node_network.h"
#include "pipeline/run/outputs_on_demand.h"
#include "pipeline/training/training_card.h"
#include "torch/door.h"
#include "train/choose/choose_batch.h"
#include "train/fit/fit.h"
#include "train/fit/fit_network.h"
#include "train/loop/engines.h"
#include "train/loop/phases.h"
#include "train/loop/ready_engine.h"
#include "train/rows/place_data.h"

namespace stoker::advise {
namespace {

// Of each way: a slow step is taken five times with what comes before, quick ones fill windows.
constexpr double window_seconds = 0.08;
constexpr int windows_of_a_line = 3;
constexpr int most_probes_of_a_line = 4;

// The middle one of several windows, until two of these agree: what else the machine does makes some slower.
SteadyTime time_of_a_step(Engine& engine, bool is_on_cpu, std::int64_t next) {
  const auto take_steps = [&](std::int64_t steps) {
    engine.run({next, std::vector<float>(static_cast<std::size_t>(steps), 0.0F)});
    next += steps;
  };
  return steady_time(is_on_cpu, most_probes_of_a_line, [&] {
    const Measured found = stoker::measure(take_steps, window_seconds, windows_of_a_line);
    return Probe{found.seconds_per_unit, found.processor_seconds_per_unit};
  });
}

// One training of a document, with its rows as the engines want them.
struct Prepared {
  Work work;
  FitConfig config;
  EngineRequest request;  // rows in the host's memory
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

// Which the one on a CPU is not bound to.
bool is_plain_mlp(const EngineRequest& request) {
  const std::optional<MlpShape> shape = mlp_shape(request.network);
  return shape && shape->entrance.is_plain() && request.loss().label_smoothing == 0;
}

// Of a cube of that size; what is there once, however many cubes there are, counts for nothing.
std::uint64_t bytes_of_row(const nodes::Port& port, const Shape& cube) {
  if (port.shape.empty() || port.shape[0] >= 0) return 0;
  std::uint64_t bytes = size_of(port.type);
  for (std::size_t i = 1; i < port.shape.size(); ++i) {
    const std::int64_t size = port.shape[i] < 0 && i <= cube.size() ? cube[i - 1] : port.shape[i];
    if (size > 0) bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

// A graph that GPUs have no kernels for.
void tell_graph(const EngineRequest& request, Work& work) {
  const Shape cube = request.training.find(cubes_in_dataset)->row_shape();
  const nodes::NodeGraph graph =
      nodes::part_with_losses(nodes::node_network(request.network).graph, nodes::Stage::train);
  work.nodes = std::ssize(graph.nodes);
  for (const nodes::GraphNode& node : graph.nodes)
    if (node.type->kind != nodes::NodeKind::data)  // whose values are there already
      for (const nodes::Port& port : node.outputs) work.written_bytes += bytes_of_row(port, cube);
}

bool has_kernels_for_nodes(EngineRequest request) {
  request.is_placed = false;
  return fused::cubes::refusal(request).empty();
}

// What the fused engine on a GPU asks of one, by its kernels; whether it takes such a request at all is asked
// as far as that can be told without a GPU.
void tell_gpu_kernels(const EngineRequest& request, Work& work) {
  constexpr int with_cuda = 75;          // of the version that is used, the oldest
  constexpr int with_tensor_cores = 80;  // whose operands have 16 bits, or are rounded to tf32
  constexpr int with_clusters = 90;      // and copies in bulk
  const Precision precision = request.precision;
  const bool takes_fp16 = precision == Precision::automatic || precision == Precision::fp16;
  if (request.network.family == nodes::node_graph_family) {
    if (has_kernels_for_nodes(request))
      work.kernels_from = with_cuda;
    else
      tell_graph(request, work);
  } else if (fused::sequence::has_kernels_for(request.network)) {
    work.kernels_from = with_clusters;
    work.needs_libtorch = true;
  } else if (triangulation_shape(request.network)) {
    if (takes_fp16 && fused::refusal_of_any(request).empty()) work.kernels_from = with_clusters;
  } else if (const std::optional<ExpertShape> experts = expert_shape(request.network)) {
    if (precision != Precision::fp16 && fused::refusal_of_experts(request, *experts).empty())
      work.kernels_from = with_tensor_cores;
  } else if ((takes_fp16 || precision == Precision::fp32) && is_plain_mlp(request) &&
             fused::refusal_of_both(request).empty()) {
    work.kernels_from = with_tensor_cores;
  }
}

Prepared prepared(const Document& document, const Card& card, OutputsOnDemand& outputs, Device device,
                  std::int64_t chosen_batch) {
  const cards::TrainSettings settings = card.kind->training(card.config);
  const auto spec = std::get<ModelSpec>(outputs.value_at(document, model_to_train(card)));
  Prepared made{work_of(card, spec, settings.fit), settings.fit, {}};
  if (made.work.is_solved) return made;
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
  if (made.work.chooses_batch)
    made.request.batch_size =
        chosen_batch > 0 ? chosen_batch : batch_sizes_to_try(made.request.training.rows()).front();
  made.work.rows = made.request.training.rows();
  made.work.validation_rows = made.request.validation.rows();
  made.work.parameters = parameter_count(made.request.network);
  made.work.multiply_adds = multiply_adds(made.request.network);
  made.work.batch_size = made.request.batch_size;
  made.work.training_bytes = made.request.training.bytes();
  tell_gpu_kernels(made.request, made.work);
  return made;
}

// Where LibTorch is missing, whoever needs it says so.
double seconds_to_open_libtorch(const std::string& family) {
  const Moment began = now();
  try {
    torch_door::engines("training " + family);
  } catch (const Error&) {
    return 0;
  }
  return seconds_since(began);
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
    const ReadyEngine ready =
        ready_engine(request, {wanted, asking_engines(engine, std::nullopt)},
                     [&](const EngineRequest& placed, PlacementChoice taken) -> const EngineMaker& {
                       line.placement = config::name_of(taken);  // which is told of a refusal too
                       return choose_engine(engines(), engine, std::nullopt, most_demanding_phase(placed));
                     });
    line.ready_seconds = ready.seconds;
    const SteadyTime time = time_of_a_step(*ready.engine, !request.device.is_cuda(), 1);
    line.step_seconds = time.seconds();
    line.processor_seconds = time.cpu_seconds();
    line.is_steady = time.is_settled();
    line.precision = config::name_of(ready.engine->precision());
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
    const bool with_libtorch = needs_libtorch(config::name_of(engine), training_.request);
    if (with_libtorch) open_libtorch();
    own_.push_back(measured_line(training_, engine, placement, batch, precision));
    if (with_libtorch) own_.back().ready_seconds += found_.libtorch_seconds;
    found_.lines.push_back(own_.back());
  }

  // Once, before the first way that needs it: that one would pay for all others. Not earlier, since it may
  // slow down those that do not.
  void open_libtorch() {
    if (found_.libtorch_seconds == 0)
      found_.libtorch_seconds = seconds_to_open_libtorch(training_.work.family);
  }

  const Prepared& training_;
  const StopSignal& stop_;
  Moment until_;
  MeasuredSteps& found_;
  std::vector<StepLine> own_;
};

// For `auto` of the runs to come.
void record_lines(const Prepared& training, const MeasuredSteps& found) {
  if (training.work.chooses_batch) return;
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == training.request.device)
      record_figures(figures_key(training.request), figures_of(found, training.work.card, info.model));
}

}  // namespace

std::vector<StepFigures> figures_of(const MeasuredSteps& steps, const std::string& card,
                                    const std::string& model) {
  std::vector<StepFigures> figures;
  std::set<std::string> seen;  // the usual placement comes first
  for (const StepLine& line : steps.lines)
    if (line.card == card && line.is_as_written && line.refusal.empty() && seen.insert(line.engine).second)
      figures.push_back({steps.device, model, line.engine, line.step_seconds, line.ready_seconds});
  return figures;
}

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
    const auto chosen = wanted.chosen_batches.find(card->id);
    const Prepared training = prepared(document, *card, outputs, device,
                                       chosen == wanted.chosen_batches.end() ? 0 : chosen->second);
    found.works.push_back(training.work);
    if (training.work.is_solved) continue;
    const double share = wanted.seconds / static_cast<double>(training_cards.size());
    Lines(training, stop, later_by(now(), share), found).measure_all();
    record_lines(training, found);
  }
  return found;
}

}  // namespace stoker::advise
