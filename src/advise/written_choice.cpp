#include "advise/written_choice.h"

#include <algorithm>
#include <vector>

#include "pipeline/training/training_card.h"
#include "train/choose/device_of_training.h"

namespace stoker::advise {
namespace {

bool is_solved_whole(const Measurements& found) {
  return std::ranges::all_of(found.runs, [](const TriedRun& each) {
    return std::ranges::all_of(each.run.trainings,
                               [](const MeasuredTraining& training) { return training.planned_steps == 0; });
  });
}

// The training that the choice is about: the first that has steps.
const Work* first_work(const Measurements& found) {
  for (const MeasuredSteps& steps : found.steps)
    for (const Work& work : steps.works)
      if (!work.is_solved) return &work;
  return nullptr;
}

std::int64_t steps_of(const Work& work) {
  const std::int64_t batch = std::max<std::int64_t>(work.batch_size, 1);
  return work.epochs * ((work.rows + batch - 1) / batch);
}

// As they are on record by now.
std::vector<StepFigures> all_figures(const Measurements& found, const Work& work) {
  std::vector<StepFigures> all;
  for (const MeasuredSteps& steps : found.steps)
    for (const DeviceInfo& info : found.devices) {
      if (info.device.name() != steps.device) continue;
      for (StepFigures& each : figures_of(steps, work.card, info.model)) all.push_back(std::move(each));
    }
  return all;
}

// The figures that the program itself would go by, of an engine that is asked for by name that one's.
std::vector<StepFigures> heeded_figures(const Measurements& found, const WrittenChoice& written) {
  const Work* work = first_work(found);
  if (work == nullptr || !written.heeds_figures || work->chooses_batch) return {};
  std::vector<StepFigures> figures = all_figures(found, *work);
  if (written.engine != "auto")
    std::erase_if(figures, [&](const StepFigures& each) { return each.engine != written.engine; });
  return figures;
}

std::string device_of(const Measurements& found, const WrittenChoice& written,
                      const std::vector<StepFigures>& figures) {
  if (written.device == "auto") {
    if (found.devices.size() < 2 || is_solved_whole(found)) return Device::cpu().name();
    const Work* work = first_work(found);
    const Device gpu = found.devices[1].device;
    if (written.asks_for_gpu_memory) return gpu.name();
    const std::int64_t steps = work == nullptr ? 0 : steps_of(*work);
    if (!(work == nullptr ? found.lacks_kernels : work->nodes > 0))
      return device_by_figures(gpu, figures, steps, no_notes()).name();
    return (gpu_by_figures(gpu, figures, steps).is_faster ? gpu : Device::cpu()).name();
  }
  const std::string named = written.device == "cuda" ? Device::cuda(0).name() : written.device;
  const auto twin = found.twins.find(named);
  return twin == found.twins.end() ? named : twin->second;
}

// What a run took there that was left to choose, then what is on record by now.
std::string engine_of(const Measurements& found, const WrittenChoice& written, const std::string& device,
                      const std::vector<StepFigures>& figures) {
  if (written.engine != "auto" && !is_solved_whole(found)) return written.engine;
  std::string taken;
  for (const TriedRun& each : found.runs) {
    if (each.device != device || each.engine != "auto") continue;
    for (const MeasuredTraining& training : each.run.trainings)
      if (taken.empty() && (training.planned_steps > 0 || is_solved_whole(found))) taken = training.engine;
  }
  const Work* work = first_work(found);
  if (work == nullptr) return taken;
  for (const DeviceInfo& info : found.devices) {
    if (info.device.name() != device) continue;
    if (const auto faster = engine_by_figures(info.device, taken, figures, steps_of(*work)))
      return faster->name;
  }
  return taken;
}

// On a CPU everything but a window is where rows lie anyway.
bool is_placed_so(const Prediction& way, const WrittenChoice& written) {
  const bool is_cpu = way.device == Device::cpu().name();
  if (is_cpu && written.placement != "window") return way.is_usual;
  if (written.placement != "auto") return way.placement == written.placement;
  if (!written.lays_rows_into_vram) return way.placement == "window" || way.placement == "pinned";
  return way.is_usual;
}

}  // namespace

WrittenChoice written_choice(const Document& document) {
  WrittenChoice written;
  for (const Card& card : document.cards) {
    if (!trains(card)) continue;
    const FitConfig config = card.kind->training(card.config).fit;
    written.device = config.device;
    written.engine = config::name_of(config.engine);
    written.placement = config::name_of(config.placement.placement);
    written.lays_rows_into_vram = config.placement.preload_to_gpu.value_or(true);
    written.asks_for_gpu_memory = asks_for_gpu_memory(config.placement);
    written.heeds_figures =
        config.ensemble.members() == 0 && !config.walk_forward.is_wanted() && !config.stages.is_wanted();
    return written;
  }
  return written;
}

std::optional<Prediction> way_as_written(const Measurements& found, const Predictions& predictions,
                                         const WrittenChoice& written) {
  const std::vector<StepFigures> figures = heeded_figures(found, written);
  const std::string device = device_of(found, written, figures);
  const std::string engine = engine_of(found, written, device, figures);
  std::optional<Prediction> way;
  for (const Prediction& each : predictions.ways) {
    if (each.device != device || each.engine != engine || !is_placed_so(each, written)) continue;
    // Of rows that are not to lie in the GPU's memory, a window comes first.
    if (!way || (each.placement == "window" && way->placement == "pinned")) way = each;
  }
  if (way && found.twins.contains(written.device)) way->device = written.device;
  return way;
}

}  // namespace stoker::advise
