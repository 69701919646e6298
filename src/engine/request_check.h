#pragma once

#include <string>

#include "engine/engine.h"

namespace stoker {

// Why no engine can run the request, or "": a contradiction in it, or data that is not what its network reads
// or not where its device can read it. Values within the arrays are not looked at.
std::string request_problem(const EngineRequest& request);

// The outputs that a term is a loss of.
inline std::int64_t width_of(const LossTerm& term, const Network& network) {
  return term.outputs > 0 ? term.outputs : network.outputs;
}

}  // namespace stoker
