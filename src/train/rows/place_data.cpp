#include "train/rows/place_data.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time/trace.h"
#include "device/device.h"
#include "device/host_memory.h"
#include "device/row_memory.h"
#include "model/family.h"
#include "train/choose/choose_batch.h"
#include "train/loop/engines.h"
#include "train/loop/phases.h"
#include "train/rows/deal_rows.h"

namespace stoker {
namespace {

// Bytes that a GPU is taken to have, so that a large dataset can be tried out with a small one.
constexpr const char* limit_variable = "STOKER_VRAM_LIMIT";

void look_at_memory(PlacementFacts& facts) {
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device != facts.device) continue;
    facts.free_bytes = info.free_bytes;
    facts.total_bytes = info.total_bytes;
  }
  if (const auto limit = bytes_in_environment(limit_variable)) {
    facts.total_bytes = std::min(facts.total_bytes, *limit);
    facts.free_bytes = std::min(facts.free_bytes, *limit);
  }
}

// Of arrays that the other dataset does not look at as well.
std::uint64_t bytes_beside(const Dataset& dataset, const Dataset& other) {
  std::uint64_t bytes = 0;
  for (const DatasetArray& each : dataset.arrays) {
    const DatasetArray* same = other.find(each.name);
    if (same == nullptr || same->array.data() != each.array.data()) bytes += each.array.bytes();
    bytes += each.starts.bytes();
  }
  return bytes;
}

std::uint64_t bytes_of_row(const Dataset& dataset) {
  std::uint64_t bytes = 0;
  for (const DatasetArray& each : dataset.arrays) {
    std::uint64_t numbers = size_of(each.array.type());
    for (const std::int64_t extent : each.row_shape()) numbers *= static_cast<std::uint64_t>(extent);
    bytes += numbers;
  }
  return bytes;
}

PlacementFacts facts_of(const Dataset& training, const Dataset& validation, Device device) {
  PlacementFacts facts;
  facts.training_rows = training.rows();
  facts.training_bytes = training.bytes();
  facts.validation_rows = validation.rows();
  facts.validation_bytes = bytes_beside(validation, training);
  facts.device = device;
  if (device.is_cuda()) look_at_memory(facts);
  return facts;
}

std::string no_window_for_many(const EngineRequest&) {
  return "a window is for one network, and several train on these rows";
}

bool has_series(const Dataset& dataset) {
  return std::any_of(dataset.arrays.begin(), dataset.arrays.end(),
                     [](const DatasetArray& each) { return each.has_windows(); });
}

// One that is yet to be chosen may become as large as the largest that is tried.
std::int64_t largest_batch_of(const EngineRequest& request) {
  if (request.batch_size != automatic_batch) return request.batch_size;
  return batch_sizes_to_try(request.training.rows()).back();
}

bool brings_batches(const EngineRequest& request) {
  const Family* family = find_family(request.network.family);
  return family != nullptr && family->brings_batches;
}

// Whether an engine takes a window is asked of a request that has one, in shards of any size.
std::string why_no_window(const EngineRequest& request, const PlacementWishes& wishes) {
  if (brings_batches(request)) {
    if (!request.device.is_cuda()) return "cubes are read where they lie; a window is for GPUs";
    EngineRequest probe = request;
    probe.brings_batches = true;
    probe.batch_size = largest_batch_of(request);
    return wishes.no_window(probe);
  }
  if (has_series(request.training))
    return "the rows are windows of a series, which overlap and cannot be cut into shards";
  EngineRequest probe = request;
  probe.validation = {};
  probe.order.rows_per_shard = std::max<std::int64_t>(request.training.rows(), 1);
  probe.window_slots = request.device.is_cuda() ? 2 : 0;  // a CPU reads shards where they lie
  probe.batch_size = largest_batch_of(request);
  return wishes.no_window(probe);
}

// A window may be needed where it was asked for, where all rows must not be preloaded, or where they do not
// fit.
PlacementPlan planned(const EngineRequest& request, const PlacementWishes& wishes, PlacementFacts& facts) {
  const PlacementChoice wanted = wishes.config.placement;
  const bool names_window =
      wanted == PlacementChoice::window || (wanted == PlacementChoice::host && facts.device.is_cuda());
  facts.no_window = names_window ? why_no_window(request, wishes) : "it is not needed";
  PlacementPlan plan = plan_placement(wishes.config, facts);
  // Neither the first choice of a GPU, nor memory of the host.
  const bool asks = plan.placement == PlacementChoice::pinned ||
                    (plan.placement == PlacementChoice::host && facts.rows_lie_in_file);
  if (names_window || wanted != PlacementChoice::automatic || !asks) return plan;
  facts.no_window = why_no_window(request, wishes);
  return plan_placement(wishes.config, facts);
}

bool lie_in_file(const Dataset& dataset) {
  return std::ranges::any_of(dataset.arrays,
                             [](const DatasetArray& each) { return each.array.lies_in_file(); });
}

// Of a window, on the device.
Dataset room_for_slots(const Dataset& training, const PlacementPlan& plan, Device device) {
  Dataset slots;
  for (const DatasetArray& each : training.arrays) {
    Shape shape = each.array.shape();
    shape.front() = plan.slots * plan.rows_per_shard;
    slots.arrays.push_back(
        {each.name, each.role, Array(each.array.type(), std::move(shape), Memory::device, device)});
  }
  return slots;
}

struct PlacedRows {
  Dataset training;
  Dataset validation;
  Dataset slots;
};

// Validation rows do not keep training rows from where they are faster.
PlacedRows placed(const EngineRequest& request, PlacementPlan& plan, PlacementFacts& facts, RowCopies copies,
                  const Notes& notes) {
  PlacedRows rows;
  try {
    if (plan.slots > 0) rows.slots = room_for_slots(request.training, plan, request.device);
  } catch (const OutOfMemory&) {
    facts.window_has_failed = true;
    throw;
  }
  const Memory on_host = plan.training == Memory::pinned ? Memory::pinned : Memory::host;
  rows.training = copies.of(plan.rows_per_shard > 0
                                ? deal_rows(request.training, request.seed, plan.rows_per_shard, on_host)
                                : request.training,
                            plan.training, request.device);
  try {
    rows.validation = copies.of(request.validation, plan.validation, request.device);
  } catch (const OutOfMemory& error) {
    if (plan.validation != Memory::device) throw;
    notes(Severity::warning,
          fmt::format("{}: the validation rows stay pinned in the host's memory", error.what()));
    plan.validation = Memory::pinned;
    rows.validation = copies.of(request.validation, plan.validation, request.device);
  }
  return rows;
}

PlacedRows placed_where_it_fits(const EngineRequest& request, const PlacementWishes& wishes,
                                PlacementFacts& facts, PlacementPlan& plan, RowCopies ahead,
                                const Notes& notes) {
  for (;;) {
    try {
      return placed(request, plan, facts, std::exchange(ahead, {}), notes);
    } catch (const OutOfMemory& error) {
      if (!request.device.is_cuda()) throw;
      look_at_memory(facts);
      if (plan.placement == PlacementChoice::vram) {
        facts.vram_has_failed = true;
        plan = planned(request, wishes, facts);
      } else {
        plan = plan_below(wishes.config, facts, plan, error.what());
      }
    }
  }
}

}  // namespace

PlacementChoice place_data(EngineRequest& request, const PlacementWishes& wishes, const Notes& notes,
                           RowCopies ahead) {
  const Traced traced(TraceKind::training, "placing the data");
  PlacementFacts facts = facts_of(request.training, request.validation, request.device);
  facts.batch_rows = largest_batch_of(request);
  facts.rows_per_shard = wishes.rows_per_shard;
  facts.rows_lie_in_file = lie_in_file(request.training);
  facts.by_batches = request.device.is_cuda() && brings_batches(request);
  if (facts.by_batches) facts.row_bytes = bytes_of_row(request.training);
  facts.host_bytes = memory_for_all_rows();
  facts.free_bytes += ahead.bytes_on(request.device);
  PlacementPlan plan = planned(request, wishes, facts);
  PlacedRows rows = placed_where_it_fits(request, wishes, facts, plan, std::move(ahead), notes);
  facts.rows_lie_in_file = lie_in_file(rows.training);
  request.training = std::move(rows.training);
  request.validation = std::move(rows.validation);
  request.order.rows_per_shard = plan.rows_per_shard;
  request.window_slots = plan.slots;
  request.brings_batches = plan.by_batches;
  request.slots = std::move(rows.slots);
  if (facts.device.is_cuda() || facts.rows_lie_in_file ||
      wishes.config.placement != PlacementChoice::automatic) {
    const std::string text = text_of(plan, facts);
    if (plan.fallback.empty())
      notes(Severity::info, text);
    else
      notes(Severity::warning, fmt::format("{} ({})", text, plan.fallback));
  }
  return plan.placement;
}

RowCopies rows_on_gpu(const PlacementConfig& config, Device device, Dataset& training, Dataset& validation) {
  PlacementFacts facts = facts_of(training, validation, device);
  facts.by_batches = true;  // what does not fit is for place_data to place
  facts.row_bytes = bytes_of_row(training);
  const PlacementPlan plan = plan_placement(config, facts);
  if (plan.training != Memory::device || plan.validation != Memory::device) return {};
  const Traced traced(TraceKind::training, "placing the data");
  RowCopies copies;
  try {
    Dataset there = copies.of(training, Memory::device, device);
    validation = copies.of(validation, Memory::device, device);
    training = std::move(there);
  } catch (const OutOfMemory&) {
    return {};  // place_data goes a level down, and says so
  }
  return copies;
}

NoWindow asking_engines(EngineChoice choice, const std::optional<std::string>& resumed,
                        std::span<const EngineMaker> among) {
  return [choice, resumed, among](const EngineRequest& probe) -> std::string {
    try {
      choose_engine(among, choice, resumed, most_demanding_phase(probe));
    } catch (const Error& error) {
      if (error.code() != ExitCode::wrong_request) throw;
      return error.what();
    }
    return "";
  };
}

std::string place_member(const FitConfig& config, TrainingListener* listener, EngineRequest& request,
                         Identity& identity) {
  const bool is_asked_for = config.placement.placement != PlacementChoice::automatic;
  const Notes notes = [listener](Severity severity, const std::string& message) {
    if (listener != nullptr) listener->note(severity, "each member: " + message);
  };
  const PlacementChoice placement = place_data(
      request,
      {config.placement, is_asked_for ? asking_engines(config.engine, std::nullopt) : no_window_for_many},
      notes);
  if (request.order.is_sharded())
    identity.emplace_back("rows_per_shard", fmt::format("{}", request.order.rows_per_shard));
  return std::string(config::name_of(placement));
}

void place_shared(const PlacementConfig& config, const Notes& notes, EngineRequest& request) {
  place_data(request, {config, no_window_for_many}, notes);
}

}  // namespace stoker
