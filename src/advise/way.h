#pragma once

#include <string>
#include <vector>

#include "pipeline/document/document.h"

namespace stoker::advise {

// One way to run a document: what its cards that train are to say. "auto" leaves it to the program, "" as the
// document has it.
struct Way {
  std::string device;
  std::string engine;
  std::string placement;
};

// As --set takes them. Settings that say the same in other words (gpu_mode, preload_to_gpu) give way. A model
// that is solved has neither engine nor placement.
std::vector<std::string> assignments_of_way(const Document& document, const Way& way);

// Whether a training is cut that is only to be measured for so many seconds. One that is solved has no steps
// to go by and would come to no model at all, and of one that walks forward only some folds would be known:
// neither ever is. Nor is one that its own time limit ends before.
bool is_to_be_cut(const Document& document, const Card& card, double seconds);
// For all that are; they share the seconds.
std::vector<std::string> assignments_of_cut(const Document& document, double seconds);

}  // namespace stoker::advise
