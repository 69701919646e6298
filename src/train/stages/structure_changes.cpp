#include "train/stages/structure_changes.h"

#include <algorithm>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "base/time/trace.h"
#include "engine/edits_in_place.h"
#include "model/family.h"
#include "train/rows/taken_rows.h"

namespace stoker {
namespace {

// The first rows, where they lie.
Array first_rows(const Array& array, std::int64_t count) {
  Shape shape = array.shape();
  shape.front() = count;
  const auto whole = std::make_shared<Array>(array);
  return Array::over(array.type(), std::move(shape),
                     std::shared_ptr<std::byte>(whole, static_cast<std::byte*>(whole->data())));
}

std::vector<StructureEvent> edit(const Restructuring& family, const StructureMoment& moment, Engine& engine,
                                 nlohmann::json& memory) {
  auto* in_place = dynamic_cast<EditsInPlace*>(&engine);
  if (in_place != nullptr && family.edit_in_place != nullptr)
    if (const std::unique_ptr<StructureHandle> state = in_place->structure())
      return family.edit_in_place(moment, *state, memory);
  NamedArrays state = engine.state();
  std::vector<StructureEvent> events = family.edit(moment, state, memory);
  engine.restore(state);
  return events;
}

}  // namespace

StructureChanges::StructureChanges(const EngineRequest& request, Progress& progress)
    : request_(&request), family_(family_of(request.network).restructuring) {
  if (progress.structure.empty()) {
    if (progress.next_step > 0)
      refuse("the checkpoint does not say how the structure of its model has changed so far");
    progress.structure = StructureMemory(family_->begin(request.network));
  }
  family_->check(request.network, progress.structure.json());
  if (!progress.best_structure.empty()) family_->check(request.network, progress.best_structure.json());
  const std::int64_t rows = request.rows_per_epoch();
  const std::int64_t count = std::min(rows, family_->remembered_rows(request.network));
  const Permutation order(
      random_key(request.seed, Purpose::structure, std::numeric_limits<std::uint64_t>::max()),
      static_cast<std::uint64_t>(rows));
  for (std::int64_t i = 0; i < count; ++i)
    positions_.push_back(static_cast<std::int64_t>(order(static_cast<std::uint64_t>(i))));
  std::ranges::sort(positions_);
}

std::int64_t StructureChanges::next_step(const Progress& progress) const {
  return family_->next_step(request_->network, progress.structure.json());
}

std::int64_t StructureChanges::steps_between_records(const Progress& progress) const {
  return family_->observe == nullptr
             ? 0
             : family_->epochs_between_records(progress.structure.json()) * request_->steps_per_epoch();
}

std::int64_t StructureChanges::steps_until_next(const Progress& progress) const {
  const std::int64_t until_change = std::max<std::int64_t>(1, next_step(progress) - progress.next_step);
  const std::int64_t between = steps_between_records(progress);
  return between == 0 ? until_change : std::min(until_change, between - progress.next_step % between);
}

Dataset StructureChanges::remembered(std::int64_t steps) {
  if (rows_.arrays.empty()) {
    const EpochOrder order(request_->order, request_->seed, request_->training.rows(), 0);
    std::vector<std::int64_t> numbers;
    for (const std::int64_t position : positions_) numbers.push_back(order(position));
    for (const DatasetArray& each : request_->training.arrays)
      rows_.arrays.push_back({each.name, each.role, taken_rows(each.array, numbers)});
  }
  const std::int64_t seen = std::min(steps, request_->steps_per_epoch()) * request_->batch_size;
  const auto known = std::ranges::lower_bound(positions_, seen) - positions_.begin();
  if (known == std::ssize(positions_)) return rows_;
  Dataset part;
  for (const DatasetArray& each : rows_.arrays)
    part.arrays.push_back({each.name, each.role, first_rows(each.array, std::max<std::int64_t>(known, 1))});
  return part;
}

void StructureChanges::after_chunk(Engine& engine, Progress& progress, TrainingListener& listener) {
  if (progress.next_step >= next_step(progress)) change(engine, progress, listener);
  const std::int64_t between = steps_between_records(progress);
  const bool is_last = progress.next_step == request_->planned_steps();
  if (between > 0 && (progress.next_step % between == 0 || is_last)) observe(engine, progress);
}

void StructureChanges::observe(Engine& engine, Progress& progress) const {
  const Traced traced(TraceKind::training, "recording the structure");
  const Dataset none;
  const StructureMoment moment{request_->network, progress.next_step, request_->seed, none};
  auto* in_place = dynamic_cast<EditsInPlace*>(&engine);
  if (in_place != nullptr && family_->observe_in_place != nullptr)
    if (const std::unique_ptr<StructureHandle> state = in_place->structure())
      return family_->observe_in_place(moment, *state, progress.structure.change());
  family_->observe(moment, engine.parameters(), progress.structure.change());
}

void StructureChanges::change(Engine& engine, Progress& progress, TrainingListener& listener) {
  const Traced traced(TraceKind::training, "changing the structure");
  const Dataset rows = remembered(progress.next_step);
  const std::vector<StructureEvent> events =
      edit(*family_, {request_->network, progress.next_step, request_->seed, rows}, engine,
           progress.structure.change());
  for (const StructureEvent& each : events)
    if (each.kind != "slept") listener.note(Severity::info, each.text);
}

}  // namespace stoker
