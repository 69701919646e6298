#pragma once

#include "base/process/stop.h"
#include "pipeline/run/run.h"

namespace stoker {

// Runs the cards in order; the first failure ends the run and is written into run.json before it is thrown.
RunSummary run_pipeline(const Document& document, const RunOptions& options, RunListener& listener,
                        const StopSignal& stop);

}  // namespace stoker
