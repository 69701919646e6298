#pragma once

#include "base/stop.h"
#include "train/fit.h"

// A network of a shape that the program does not bring is compiled for the GPU, which takes a second or two.
// That may happen while its data is still being read.
namespace stoker {

// Whether there is a GPU and an engine that would ask for such a kernel. May take the time that CUDA needs to
// start.
bool compiles_ahead(const ModelSpec& spec, const FitConfig& config);

// Compiles the kernel that fit() will ask for if its rows are like these: the width of the network follows
// from their columns and categories, its output from their target. Where they are not, the kernel is not
// used. Gives up when `stop` is set. Throws what fit() would throw.
void compile_ahead(const FitRequest& first_rows, const StopSignal& stop);

}  // namespace stoker
