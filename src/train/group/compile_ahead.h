#pragma once

#include <span>
#include <thread>
#include <vector>

#include "base/process/stop.h"
#include "fused/cuda/fused_cuda.h"
#include "train/fit/fit_request.h"

// A network of a shape that the program does not bring is compiled for the GPU, which takes a second or two.
// That may happen while its data is still being read.
namespace stoker {

// Whether these settings leave the choice to the engine that has such kernels.
bool may_be_fused(const FitConfig& config);

// Whether there is a GPU and an engine that would ask for such a kernel. May take the time that CUDA needs to
// start.
bool compiles_ahead(const ModelSpec& spec, const FitConfig& config);

using CompileForGroup = void (*)(std::span<const EngineRequest> group, const StopSignal& stop);

// Compiles the kernel that fit() will ask for if its rows are like these: the width of the network follows
// from their columns and categories, its output from their target. Where they are not, the kernel is not
// used. The members of an ensemble train side by side, in one kernel for all. Gives up when `stop` is set.
// Throws what fit() would throw.
void compile_ahead(const FitRequest& first_rows, const StopSignal& stop,
                   CompileForGroup compile = fused::compile_ahead);

// For as long as it lives, the kernels of groups that train one after the other are compiled in that order:
// while one trains, those of the next.
class GroupKernelsAhead {
 public:
  explicit GroupKernelsAhead(std::vector<std::vector<EngineRequest>> groups,
                             CompileForGroup compile = fused::compile_ahead);
  GroupKernelsAhead(const GroupKernelsAhead&) = delete;
  GroupKernelsAhead& operator=(const GroupKernelsAhead&) = delete;
  // Gives up what is not done and waits for its threads.
  ~GroupKernelsAhead() { stop_.interrupt(); }

 private:
  StopSignal stop_;
  std::jthread thread_;
};

}  // namespace stoker
