#pragma once

#include <string_view>

#include "base/process/stop.h"

namespace stoker {

// Throws when the solver was asked to stop before it has a solution: interrupted (exit code 130), or out of
// time, which is a failure because there is no model so far to keep.
void refuse_to_go_on(const StopSignal& stop, std::string_view model);
// The first of the two alone, for a solver that has something to show when its time is over.
void heed_interruption(const StopSignal& stop);

}  // namespace stoker
