#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/notes.h"
#include "engine/engine.h"

// What the steps of a network took on this machine when `stoker advise` or `auto` measured them: `device:
// auto` and `engine: auto` then know which way is faster. Kept in the user's cache folder, a file for each
// network.
namespace stoker {

struct StepFigures {
  std::string device;
  std::string model;  // of the device: figures of another one say nothing
  std::string engine;
  double step_seconds = 0;
  double ready_seconds = 0;  // until the first step: rows placed, engine made
};

// Of everything that decides how long a step takes, the device and the engine apart.
std::string figures_key(const EngineRequest& request);

// In place of earlier ones of the same devices. A cache that cannot be written is none: nothing is kept then.
void record_figures(const std::string& key, std::span<const StepFigures> figures);
// None where nothing is on record, or what is there is damaged, of another version or of a device that is not
// here. GPUs are looked for only where `with_gpus` says so, because CUDA takes a while to begin.
std::vector<StepFigures> recorded_figures(const std::string& key, bool with_gpus);

// That so many steps take on the device, with what comes before the first, by the fastest engine that is
// known; none: nothing is known of it.
std::optional<double> known_seconds(Device device, std::span<const StepFigures> figures, std::int64_t steps);

// Where `auto` has a GPU: the CPU, where figures of both say that so many steps take longer on the GPU, by
// more than a tenth. Says so in a note.
Device device_by_figures(Device automatic, std::span<const StepFigures> figures, std::int64_t steps,
                         const Notes& notes);
// Where `auto` would take the CPU: whether figures of both say that so many steps take longer there than on
// the GPU, by more than a tenth, and the two times in words; "": nothing is known of one of them.
struct GpuByFigures {
  bool is_faster = false;
  std::string told;
};
GpuByFigures gpu_by_figures(Device gpu, std::span<const StepFigures> figures, std::int64_t steps);
// The engine that was faster on the device than `automatic`, by more than a tenth, and a sentence that says
// so, for whoever takes it; none: `automatic` is right, or nothing is known of it.
struct FasterEngine {
  std::string name;
  std::string told;
};
std::optional<FasterEngine> engine_by_figures(Device device, std::string_view automatic,
                                              std::span<const StepFigures> figures, std::int64_t steps);

}  // namespace stoker
