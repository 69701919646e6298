#pragma once

#include <vector>

#include "config/diagnostics.h"
#include "pipeline/document/document.h"

namespace stoker {

// What models that a card combines must have in common, and how many weights they are given, as far as the
// document tells it: before any of them is trained. Columns, classes and windows are known when they are.
void check_combined_models(const std::vector<Card>& cards, config::Diagnostics& diagnostics);

}  // namespace stoker
