#include "train/place_data.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/trace.h"
#include "device/device.h"
#include "train/choose_batch.h"
#include "train/engines.h"
#include "train/phases.h"

namespace stoker {
namespace {

// Bytes that a GPU is taken to have, so that a large dataset can be tried out with a small one.
constexpr const char* limit_variable = "STOKER_VRAM_LIMIT";

std::optional<std::uint64_t> limit_of_vram() {
  const char* given = std::getenv(limit_variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  const std::string_view text = given;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || bytes == 0)
    refuse("{} is '{}'; it must be a number of bytes", limit_variable, text);
  return bytes;
}

void look_at_memory(PlacementFacts& facts) {
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device != facts.device) continue;
    facts.free_bytes = info.free_bytes;
    facts.total_bytes = info.total_bytes;
  }
  if (const auto limit = limit_of_vram()) {
    facts.total_bytes = std::min(facts.total_bytes, *limit);
    facts.free_bytes = std::min(facts.free_bytes, *limit);
  }
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

// Whether an engine takes a window is asked of a request that has one, in shards of any size.
std::string why_no_window(const EngineRequest& request, const PlacementWishes& wishes) {
  if (has_series(request.training))
    return "the rows are windows of a series, which overlap and cannot be cut into shards";
  EngineRequest probe = request;
  probe.validation = {};
  probe.order.rows_per_shard = std::max<std::int64_t>(request.training.rows(), 1);
  probe.window_slots = 2;
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
  if (names_window || wanted != PlacementChoice::automatic || plan.placement != PlacementChoice::pinned)
    return plan;
  facts.no_window = why_no_window(request, wishes);
  return plan_placement(wishes.config, facts);
}

Dataset copied_to(const Dataset& dataset, Memory memory, Device device) {
  Dataset copy = dataset;
  for (DatasetArray& each : copy.arrays) {
    each.array = each.array.to(memory, device);
    if (each.has_windows()) each.starts = each.starts.to(memory, device);
  }
  return copy;
}

// In an order of its own, the same for every epoch and sitting. Copied in the host's memory.
Dataset mixed(const Dataset& dataset, std::uint64_t seed, Memory memory) {
  constexpr std::uint64_t once = ~std::uint64_t{0};  // in place of an epoch and a shard
  Dataset copy = dataset;
  for (DatasetArray& each : copy.arrays) each.array = Array(each.array.type(), each.array.shape(), memory);
  const auto rows = static_cast<std::uint64_t>(dataset.rows());
  const Permutation order(random_key(seed, Purpose::shard, once), rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t from = order(row);
    for (std::size_t i = 0; i < copy.arrays.size(); ++i) {
      const std::size_t bytes = dataset.arrays[i].array.bytes() / rows;
      std::memcpy(static_cast<std::byte*>(copy.arrays[i].array.data()) + row * bytes,
                  static_cast<const std::byte*>(dataset.arrays[i].array.data()) + from * bytes, bytes);
    }
  }
  return copy;
}

struct PlacedRows {
  Dataset training;
  Dataset validation;
};

// Validation rows do not keep training rows from where they are faster.
PlacedRows placed(const EngineRequest& request, PlacementPlan& plan, const Notes& notes) {
  PlacedRows rows;
  const Memory on_host = plan.training == Memory::pinned ? Memory::pinned : Memory::host;
  rows.training =
      copied_to(plan.rows_per_shard > 0 ? mixed(request.training, request.seed, on_host) : request.training,
                plan.training, request.device);
  try {
    rows.validation = copied_to(request.validation, plan.validation, request.device);
  } catch (const OutOfMemory& error) {
    if (plan.validation != Memory::device) throw;
    notes(Severity::warning,
          fmt::format("{}: the validation rows stay pinned in the host's memory", error.what()));
    plan.validation = Memory::pinned;
    rows.validation = copied_to(request.validation, plan.validation, request.device);
  }
  return rows;
}

// Without what failed: VRAM becomes a window, and a window copies from where the rows are.
PlacedRows placed_where_it_fits(const EngineRequest& request, const PlacementWishes& wishes,
                                PlacementFacts& facts, PlacementPlan& plan, const Notes& notes) {
  for (;;) {
    try {
      return placed(request, plan, notes);
    } catch (const OutOfMemory& error) {
      if (plan.placement == PlacementChoice::vram) {
        facts.vram_has_failed = true;
        look_at_memory(facts);
        plan = planned(request, wishes, facts);
      } else if (plan.slots > 0 && plan.training == Memory::pinned) {
        plan.training = Memory::host;
        plan.fallback = error.what();
      } else {
        throw;
      }
    }
  }
}

}  // namespace

PlacementChoice place_data(EngineRequest& request, const PlacementWishes& wishes, const Notes& notes) {
  const Traced traced(TraceKind::training, "placing the data");
  PlacementFacts facts;
  facts.training_rows = request.training.rows();
  facts.training_bytes = request.training.bytes();
  facts.validation_rows = request.validation.rows();
  facts.validation_bytes = request.validation.bytes();
  facts.device = request.device;
  facts.batch_rows = largest_batch_of(request);
  facts.rows_per_shard = wishes.rows_per_shard;
  if (facts.device.is_cuda()) look_at_memory(facts);
  PlacementPlan plan = planned(request, wishes, facts);
  PlacedRows rows = placed_where_it_fits(request, wishes, facts, plan, notes);
  request.training = std::move(rows.training);
  request.validation = std::move(rows.validation);
  request.order.rows_per_shard = plan.rows_per_shard;
  request.window_slots = plan.slots;
  if (facts.device.is_cuda() || wishes.config.placement != PlacementChoice::automatic) {
    const std::string text = text_of(plan, facts);
    if (plan.fallback.empty())
      notes(Severity::info, text);
    else
      notes(Severity::warning, fmt::format("{} ({})", text, plan.fallback));
  }
  return plan.placement;
}

NoWindow asking_engines(EngineChoice choice, const std::optional<std::string>& resumed) {
  return [choice, resumed](const EngineRequest& probe) -> std::string {
    try {
      choose_engine(engines(), choice, resumed, most_demanding_phase(probe));
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
