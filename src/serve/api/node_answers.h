#pragma once

#include <nlohmann/json.hpp>

#include "pipeline/document/document.h"

namespace stoker::serve {

// Of every card whose model is a graph of nodes: by node, the ports that are connected and those that it has,
// with the shapes that are known before there are cubes.
nlohmann::json graphs_view(const Document& document);

}  // namespace stoker::serve
