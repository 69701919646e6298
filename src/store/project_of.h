#pragma once

#include <string>

#include "store/records.h"

namespace stoker {

// What has an id that no other project has for something of its own.
enum class NamedThing { document, job, model, run };

// The project that it belongs to; empty if there is none of this id. A run is found by the job that it is of,
// `sweep` being the run of the sweep that it may be the winner of.
std::string project_of(Records& records, NamedThing thing, const std::string& id,
                       const std::string& sweep = "");

}  // namespace stoker
