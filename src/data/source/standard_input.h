#pragma once

#include <memory>

#include "base/process/stop.h"
#include "data/source/unnamed_file.h"

namespace stoker {

// The path that stands for standard input.
inline constexpr const char* standard_input_path = "-";

// All of standard input, read when it is first asked for and kept as long as the program runs: what needs it
// twice gets the same. Heeds an interruption.
std::shared_ptr<const UnnamedFile> read_standard_input(const StopSignal* stop);

}  // namespace stoker
