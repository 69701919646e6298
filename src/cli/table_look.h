#pragma once

#include <string>

#include "config/value.h"
#include "data/source.h"

namespace stoker::cli {

// Whether the target seems to hold classes, by a quick look at the first rows of a file; what the setting
// `task` says, where it is given (null: it is not). A guess for a default: false where a look is not quick,
// or where the source has something wrong that reading it will tell.
bool target_looks_like_classes(const SourceConfig& source, const std::string& target,
                               const config::Value* task);

}  // namespace stoker::cli
