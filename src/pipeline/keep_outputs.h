#pragma once

#include "pipeline/outputs.h"
#include "pipeline/run.h"
#include "pipeline/run_folder.h"

namespace stoker {

// What a card has put out, as files that people look for and as lines of the summary.
void keep_outputs(const Card& card, const Outputs& outputs, bool reused, RunFolder& folder,
                  RunSummary& summary);

}  // namespace stoker
