#pragma once

#include "pipeline/run/outputs.h"
#include "pipeline/run/run.h"
#include "pipeline/run/run_folder.h"

namespace stoker {

// What a card has put out, as files that people look for and as lines of the summary.
void keep_outputs(const Card& card, const Outputs& outputs, bool reused, RunFolder& folder,
                  RunSummary& summary);

}  // namespace stoker
