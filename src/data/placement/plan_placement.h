#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/field.h"
#include "device/array.h"

// Where the rows of a training lie while it reads them: decided from their bytes and the memory of the
// device, before anything is copied.
namespace stoker {

// vram: the whole dataset in the GPU's memory. window: some shards of it there, and the next one on its way
// while the current one trains. pinned: in the host's memory, read by the GPU over the bus. host: in ordinary
// memory, which a GPU only gets to through a window.
enum class PlacementChoice { automatic, vram, pinned, window, host };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::PlacementChoice>{
    "auto", "vram", "pinned", "window", "host"};

namespace stoker {

struct PlacementConfig {
  PlacementChoice placement = PlacementChoice::automatic;
  std::optional<bool> preload_to_gpu;
  double gpu_memory_fraction = 0.9;
};

inline config::Fields fields(PlacementConfig& c) {
  return {
      config::field("placement", c.placement,
                    "Where the rows lie while a GPU trains on them: vram, all in its memory; window, some "
                    "shards there and the next on its way; pinned, in the host's memory, read over the bus; "
                    "host, as window, from ordinary memory; auto: the first of vram, window and pinned that "
                    "there is room for. With a window, shards and the rows within each are shuffled, on a "
                    "CPU too")
          .changes_conditions(),
      config::field("preload_to_gpu", c.preload_to_gpu,
                    "false: do not lay all rows into the GPU's memory, but use a window or pinned memory; "
                    "true is as placement auto or vram")
          .optional()
          .changes_conditions(),
      config::field("gpu_memory_fraction", c.gpu_memory_fraction,
                    "Share of the GPU's memory that may be in use once the rows are there")
          .above(0)
          .within(0, 1)
          .changes_conditions(),
  };
}

// What is wrong with the settings together, or "".
std::string problem_of(const PlacementConfig& config);

struct PlacementFacts {
  std::int64_t training_rows = 0;
  std::uint64_t training_bytes = 0;
  std::int64_t validation_rows = 0;
  std::uint64_t validation_bytes = 0;
  bool rows_lie_in_file = false;  // those to train on: memory does not hold them (device/row_memory.h)
  std::uint64_t host_bytes = 0;   // that memory has for rows
  Device device;
  std::uint64_t free_bytes = 0;  // of a GPU
  std::uint64_t total_bytes = 0;
  std::int64_t batch_rows = 1;  // the most that a batch may have: no shard is smaller
  std::string no_window;        // why these rows cannot be read through a window; "": they can
  // Large rows: a window has those of a batch alone, which are brought from where they lie, in any order.
  bool by_batches = false;
  std::uint64_t row_bytes = 0;  // of one; 0: their share of all bytes
  // Of a training that goes on: the shards of its order, 0 for none. None: it begins.
  std::optional<std::int64_t> rows_per_shard;
  bool vram_has_failed = false;    // it looked as if there were room, and there was none
  bool window_has_failed = false;  // the same of its shards
};

struct PlacementPlan {
  PlacementChoice placement = PlacementChoice::host;  // automatic never
  Memory training = Memory::host;                     // where the rows come from, of a window
  Memory validation = Memory::host;
  std::int64_t rows_per_shard = 0;  // 0: rows are shuffled all together
  std::int64_t slots = 0;           // shards in the device's memory at a time; 0: there is no window of them
  bool by_batches = false;          // there is one of a batch
  std::string fallback;             // why it is not the first choice; "": it is
};

// Refuses, with the numbers, what was asked for by name and is not possible.
PlacementPlan plan_placement(const PlacementConfig& config, const PlacementFacts& facts);

// One level down, when memory for a plan could not be had as `error` says: all rows in VRAM become a window,
// what passes through one comes from ordinary memory, a window whose shards did not fit becomes pinned
// memory. Throws OutOfMemory, with what to do, where there is no level below.
PlacementPlan plan_below(const PlacementConfig& config, const PlacementFacts& facts,
                         const PlacementPlan& failed, const std::string& error);

// "3,224 training and 806 validation samples in VRAM: 1.1 MiB of 139.8 GiB"
std::string text_of(const PlacementPlan& plan, const PlacementFacts& facts);

}  // namespace stoker
