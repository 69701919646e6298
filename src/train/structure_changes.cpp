#include "train/structure_changes.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "base/trace.h"
#include "model/family.h"
#include "model/restructuring.h"
#include "train/taken_rows.h"

namespace stoker {
namespace {

nlohmann::json memory_of(const Progress& progress) {
  return nlohmann::json::parse(progress.structure);
}

}  // namespace

StructureChanges::StructureChanges(const EngineRequest& request, Progress& progress)
    : request_(&request), family_(family_of(request.network).restructuring) {
  if (progress.structure.empty()) {
    if (progress.next_step > 0)
      refuse("the checkpoint does not say how the structure of its model has changed so far");
    progress.structure = family_->begin(request.network).dump();
  }
  family_->check(request.network, memory_of(progress));
  const std::int64_t rows = request.rows_per_epoch();
  const std::int64_t count = std::min(rows, family_->remembered_rows(request.network));
  const Permutation order(
      random_key(request.seed, Purpose::structure, std::numeric_limits<std::uint64_t>::max()),
      static_cast<std::uint64_t>(rows));
  for (std::int64_t i = 0; i < count; ++i)
    positions_.push_back(static_cast<std::int64_t>(order(static_cast<std::uint64_t>(i))));
  std::ranges::sort(positions_);
}

std::int64_t StructureChanges::next_step(const Progress& progress) {
  if (progress.structure != read_memory_) {
    next_step_ = family_->next_step(request_->network, memory_of(progress));
    read_memory_ = progress.structure;
  }
  return next_step_;
}

std::int64_t StructureChanges::steps_until_next(const Progress& progress) {
  return std::max<std::int64_t>(1, next_step(progress) - progress.next_step);
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
  std::vector<std::int64_t> first(static_cast<std::size_t>(std::max<std::ptrdiff_t>(known, 1)));
  std::iota(first.begin(), first.end(), 0);
  Dataset part;
  for (const DatasetArray& each : rows_.arrays)
    part.arrays.push_back({each.name, each.role, taken_rows(each.array, first)});
  return part;
}

void StructureChanges::after_chunk(Engine& engine, Progress& progress, TrainingListener& listener) {
  if (progress.next_step < next_step(progress)) return;
  nlohmann::json memory = memory_of(progress);
  const Traced traced(TraceKind::training, "changing the structure");
  const Dataset rows = remembered(progress.next_step);
  NamedArrays state = engine.state();
  const std::vector<StructureEvent> events =
      family_->edit({request_->network, progress.next_step, request_->seed, rows}, state, memory);
  engine.restore(state);
  progress.structure = memory.dump();
  for (const StructureEvent& each : events)
    if (each.kind != "slept") listener.note(Severity::info, each.text);
}

}  // namespace stoker
