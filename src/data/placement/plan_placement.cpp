#include "data/placement/plan_placement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

// Three, so that a batch may reach from one shard into the next while a third is on its way.
constexpr std::int64_t most_slots = 3;
constexpr std::int64_t fewest_slots = 2;
// Where memory is not what bounds them: an epoch then mixes an eighth of the rows at a time.
constexpr std::int64_t shards_of_choice = 8;

std::uint64_t allowed_bytes(const PlacementConfig& config, const PlacementFacts& facts) {
  const auto limit =
      static_cast<std::uint64_t>(static_cast<double>(facts.total_bytes) * config.gpu_memory_fraction);
  const std::uint64_t in_use = facts.total_bytes - std::min(facts.free_bytes, facts.total_bytes);
  return limit > in_use ? limit - in_use : 0;
}

std::uint64_t shard_bytes(const PlacementFacts& facts, std::int64_t rows) {
  if (facts.row_bytes > 0) return facts.row_bytes * static_cast<std::uint64_t>(rows);
  const double share =
      static_cast<double>(rows) / static_cast<double>(std::max<std::int64_t>(facts.training_rows, 1));
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(facts.training_bytes) * share));
}

std::string room_text(const PlacementConfig& config, const PlacementFacts& facts) {
  const std::uint64_t in_use = facts.total_bytes - std::min(facts.free_bytes, facts.total_bytes);
  return fmt::format("{} of {} may be used (gpu_memory_fraction {} of {}, of which {} are taken)",
                     human_bytes(allowed_bytes(config, facts)), facts.device.name(),
                     config.gpu_memory_fraction, human_bytes(facts.total_bytes), human_bytes(in_use));
}

std::string no_vram(const PlacementConfig& config, const PlacementFacts& facts) {
  if (facts.vram_has_failed)
    return fmt::format("{} could not be had of the memory of {}", human_bytes(facts.training_bytes),
                       facts.device.name());
  if (facts.training_bytes <= allowed_bytes(config, facts)) return "";
  return fmt::format("the training rows take {}, but only {}", human_bytes(facts.training_bytes),
                     room_text(config, facts));
}

// How the rows of a training that begins would be cut, or 0 shards that fit.
struct Cut {
  std::int64_t rows_per_shard = 0;
  std::int64_t slots = 0;
};

std::int64_t rows_of_choice(const PlacementFacts& facts) {
  return std::clamp((facts.training_rows + shards_of_choice - 1) / shards_of_choice,
                    std::min(facts.batch_rows, facts.training_rows), facts.training_rows);
}

Cut cut_for(const PlacementFacts& facts, std::uint64_t room) {
  for (std::int64_t slots = most_slots; slots >= fewest_slots; --slots) {
    const std::uint64_t of_slot = room / static_cast<std::uint64_t>(slots);
    std::int64_t rows = facts.rows_per_shard ? *facts.rows_per_shard : rows_of_choice(facts);
    if (!facts.rows_per_shard && shard_bytes(facts, rows) > of_slot)
      rows =
          static_cast<std::int64_t>(static_cast<double>(of_slot) / static_cast<double>(facts.training_bytes) *
                                    static_cast<double>(facts.training_rows));
    if (rows >= std::min(facts.batch_rows, facts.training_rows) && shard_bytes(facts, rows) <= of_slot)
      return {rows, slots};
  }
  return {};
}

std::string no_window(const PlacementFacts& facts) {
  if (facts.window_has_failed)
    return fmt::format("its shards could not be had of the memory of {}", facts.device.name());
  if (!facts.no_window.empty() || facts.rows_per_shard != 0) return facts.no_window;
  return "the training that goes on has shuffled its rows all together so far";
}

// A shard at a time is read at random, so that it has to fit into memory while the others need not.
std::int64_t rows_from_file(const PlacementFacts& facts) {
  const double of_row = static_cast<double>(facts.training_bytes) /
                        static_cast<double>(std::max<std::int64_t>(facts.training_rows, 1));
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(facts.host_bytes) / of_row);
  return std::max(std::min(rows_of_choice(facts), fitting), std::min(facts.batch_rows, facts.training_rows));
}

PlacementPlan on_the_cpu(const PlacementConfig& config, const PlacementFacts& facts) {
  if (config.placement == PlacementChoice::vram || config.placement == PlacementChoice::pinned)
    refuse("placement {} needs an NVIDIA GPU, but the training is on the CPU; use auto, window or host",
           config::name_of(config.placement));
  PlacementPlan plan;
  plan.rows_per_shard = facts.rows_per_shard.value_or(0);
  const bool is_wanted = config.placement == PlacementChoice::window;
  if (!is_wanted && (config.placement == PlacementChoice::host || !facts.rows_lie_in_file)) return plan;
  const std::string problem = no_window(facts);
  if (!problem.empty() && is_wanted) refuse("placement window: {}", problem);
  if (!problem.empty()) {
    plan.fallback =
        fmt::format("they are read from all over the file, which takes long: no window: {}", problem);
    return plan;
  }
  plan.placement = PlacementChoice::window;
  if (!facts.rows_per_shard)
    plan.rows_per_shard = facts.rows_lie_in_file ? rows_from_file(facts) : rows_of_choice(facts);
  return plan;
}

// What a batch takes on the device, and one to validate with.
std::uint64_t batch_bytes(const PlacementFacts& facts) {
  return shard_bytes(facts, std::min(facts.batch_rows, facts.training_rows)) +
         shard_bytes(facts, std::min(facts.batch_rows, facts.validation_rows));
}

// Nothing is copied beforehand: rows come from ordinary memory or from their file.
std::string plan_batches(const PlacementConfig& config, const PlacementFacts& facts, PlacementPlan& plan) {
  if (!facts.no_window.empty()) return facts.no_window;
  if (batch_bytes(facts) > allowed_bytes(config, facts))
    return fmt::format(
        "a batch of {} takes {}, but only {}",
        counted(static_cast<std::uint64_t>(std::min(facts.batch_rows, facts.training_rows)), "sample"),
        human_bytes(batch_bytes(facts)), room_text(config, facts));
  plan.placement = PlacementChoice::window;
  plan.training = plan.validation = Memory::host;
  plan.by_batches = true;
  return "";
}

// Why there can be no window, or "" with the plan of one.
std::string plan_window(const PlacementConfig& config, const PlacementFacts& facts, PlacementPlan& plan) {
  if (facts.by_batches) return plan_batches(config, facts, plan);
  if (std::string problem = no_window(facts); !problem.empty()) return problem;
  const std::uint64_t allowed = allowed_bytes(config, facts);
  const bool has_validation_there = facts.validation_bytes <= allowed / 2;
  const std::uint64_t room = allowed - (has_validation_there ? facts.validation_bytes : 0);
  // Shards that are yet to be cut leave half of it to the network: larger ones train no better.
  const Cut cut = cut_for(facts, facts.rows_per_shard ? room : room / 2);
  if (cut.slots == 0)
    return fmt::format("{} shards of {} samples do not fit: only {}", fewest_slots,
                       human_count(static_cast<std::uint64_t>(
                           facts.rows_per_shard.value_or(std::min(facts.batch_rows, facts.training_rows)))),
                       room_text(config, facts));
  plan.placement = PlacementChoice::window;
  plan.training = facts.rows_lie_in_file ? Memory::host : Memory::pinned;
  plan.validation = has_validation_there ? Memory::device : Memory::pinned;
  plan.rows_per_shard = cut.rows_per_shard;
  plan.slots = cut.slots;
  return "";
}

void plan_vram(const PlacementConfig& config, const PlacementFacts& facts, PlacementPlan& plan) {
  plan.placement = PlacementChoice::vram;
  plan.training = Memory::device;
  const bool has_room = facts.validation_bytes <= allowed_bytes(config, facts) - facts.training_bytes;
  plan.validation = has_room ? Memory::device : Memory::pinned;
}

void plan_pinned(const PlacementConfig& config, const PlacementFacts& facts, PlacementPlan& plan) {
  plan.placement = PlacementChoice::pinned;
  plan.training = Memory::pinned;
  plan.validation = facts.validation_bytes <= allowed_bytes(config, facts) ? Memory::device : Memory::pinned;
}

std::string told_samples(std::int64_t rows, std::string_view kind) {
  return fmt::format("{} {} {}", human_count(static_cast<std::uint64_t>(rows)), kind,
                     rows == 1 ? "sample" : "samples");
}

const char* name_of_place(const PlacementFacts& facts, Memory memory) {
  if (memory == Memory::pinned) return "pinned in the host's memory";
  return facts.rows_lie_in_file ? "in a mapped file, larger than memory" : "in the host's memory";
}

std::string validation_text(const PlacementPlan& plan, const PlacementFacts& facts) {
  if (facts.validation_rows == 0) return "";
  const char* place = plan.validation == Memory::device   ? "in VRAM"
                      : plan.validation == Memory::pinned ? "pinned in the host's memory"
                                                          : "in the host's memory";
  return fmt::format(", {} {}", told_samples(facts.validation_rows, "validation"), place);
}

std::string training_text(const PlacementPlan& plan, const PlacementFacts& facts) {
  const std::string rows = told_samples(facts.training_rows, "training");
  const std::string shard = human_count(static_cast<std::uint64_t>(plan.rows_per_shard));
  if (plan.slots > 0)
    return fmt::format("{} ({}) pass through VRAM from {}, {} shards of {} at a time", rows,
                       human_bytes(facts.training_bytes),
                       plan.training == Memory::pinned ? "pinned memory"
                       : facts.rows_lie_in_file        ? "a mapped file"
                                                       : "ordinary memory",
                       plan.slots, shard);
  if (plan.by_batches)
    return fmt::format(
        "{} ({}) pass through VRAM from {}, a batch of {} at a time", rows, human_bytes(facts.training_bytes),
        facts.rows_lie_in_file ? "a mapped file" : "ordinary memory",
        human_count(static_cast<std::uint64_t>(std::min(facts.batch_rows, facts.training_rows))));
  const std::string order = plan.rows_per_shard > 0 ? fmt::format(", in shards of {}", shard) : "";
  if (plan.training == Memory::device) return rows + " in VRAM" + order;
  return fmt::format("{} ({}) {}{}", rows, human_bytes(facts.training_bytes),
                     name_of_place(facts, plan.training), order);
}

}  // namespace

std::string problem_of(const PlacementConfig& config) {
  if (!config.preload_to_gpu || config.placement == PlacementChoice::automatic) return "";
  const bool is_vram = config.placement == PlacementChoice::vram;
  if (*config.preload_to_gpu == is_vram) return "";
  return fmt::format(
      "preload_to_gpu is {}, but placement {} {}; leave one of them out", *config.preload_to_gpu,
      config::name_of(config.placement),
      is_vram ? "lays all rows into the GPU's memory" : "does not lay all rows into the GPU's memory");
}

PlacementPlan plan_placement(const PlacementConfig& config, const PlacementFacts& facts) {
  if (const std::string problem = problem_of(config); !problem.empty()) refuse("{}", problem);
  if (!facts.device.is_cuda()) return on_the_cpu(config, facts);
  PlacementPlan plan;
  plan.rows_per_shard = facts.rows_per_shard.value_or(0);
  const PlacementChoice wanted = config.placement;
  const bool is_automatic = wanted == PlacementChoice::automatic;
  if (wanted == PlacementChoice::vram || (is_automatic && config.preload_to_gpu.value_or(true))) {
    plan.fallback = no_vram(config, facts);
    if (plan.fallback.empty()) {
      plan_vram(config, facts, plan);
      return plan;
    }
    if (!is_automatic) refuse("placement vram: {}; use window or auto", plan.fallback);
  }
  if (wanted != PlacementChoice::pinned) {
    const std::string problem = plan_window(config, facts, plan);
    if (problem.empty()) {
      if (wanted != PlacementChoice::host) return plan;
      plan.placement = PlacementChoice::host;
      plan.training = Memory::host;
      return plan;
    }
    if (!is_automatic) refuse("placement {}: {}; use auto, vram or pinned", config::name_of(wanted), problem);
    plan.fallback += fmt::format("{}no window: {}", plan.fallback.empty() ? "" : "; ", problem);
  }
  plan_pinned(config, facts, plan);
  return plan;
}

PlacementPlan plan_below(const PlacementConfig& config, const PlacementFacts& facts,
                         const PlacementPlan& failed, const std::string& error) {
  if (failed.placement == PlacementChoice::vram || facts.window_has_failed) {
    // Pinned memory is the last level, and it was tried.
    if (failed.placement != PlacementChoice::pinned) return plan_placement(config, facts);
  } else if (failed.slots > 0 && failed.training == Memory::pinned) {
    PlacementPlan plan = failed;
    plan.training = Memory::host;
    plan.fallback += fmt::format("{}{}", plan.fallback.empty() ? "" : "; ", error);
    return plan;
  }
  throw OutOfMemory(fmt::format(
      "{}: the training rows ({}) fit nowhere that {} reads them; end what else uses the memory, raise "
      "gpu_memory_fraction, set a smaller batch_size, or train on fewer rows",
      error, human_bytes(facts.training_bytes), facts.device.name()));
}

std::string text_of(const PlacementPlan& plan, const PlacementFacts& facts) {
  const bool both =
      plan.slots == 0 && !plan.by_batches && plan.training == plan.validation && facts.validation_rows > 0;
  std::uint64_t there = plan.by_batches ? batch_bytes(facts)
                        : plan.slots > 0
                            ? static_cast<std::uint64_t>(plan.slots) * shard_bytes(facts, plan.rows_per_shard)
                        : plan.training == Memory::device ? facts.training_bytes
                                                          : 0;
  if (plan.validation == Memory::device) there += facts.validation_bytes;
  const std::string bytes =
      there > 0 ? fmt::format(": {} of {}", human_bytes(there), human_bytes(facts.total_bytes)) : "";
  if (both && plan.training == Memory::device && plan.rows_per_shard == 0)
    return fmt::format("{} training and {} in VRAM{}",
                       human_count(static_cast<std::uint64_t>(facts.training_rows)),
                       told_samples(facts.validation_rows, "validation"), bytes);
  return training_text(plan, facts) + validation_text(plan, facts) + bytes;
}

}  // namespace stoker
