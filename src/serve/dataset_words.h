#pragma once

#include <string>
#include <vector>

#include "data/source_config.h"
#include "serve/service.h"

// A source that a request names, as `stoker datasets add` takes it.
namespace stoker::serve {

// Where it lies. Refuses what the operator does not allow, and what the command would take for something
// else.
std::string place_of_source(const SourceConfig& source, const ServiceConfig& config);
// The settings that are not as usual.
std::vector<std::string> flags_of_source(const SourceConfig& source);

}  // namespace stoker::serve
