#pragma once

#include "base/notes.h"
#include "engine/engine.h"
#include "train/loop/engines.h"

namespace stoker {

// Makes engines whose epochs also tell validation_NAME of each metric, where the network is a graph of nodes
// that scores pixels and cubes with masks are held back. What is best stays what the validation loss says. A
// tenth of the time may go into it: beyond that it is some of the cubes, the same in every epoch, and a note
// says how many.
MakeEngine measuring_epochs(MakeEngine make, const EngineRequest& request, const Notes& notes);

}  // namespace stoker
