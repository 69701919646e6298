#pragma once

#include <string>

#include "config/value.h"
#include "data/source.h"

namespace stoker::cli {

// The settings that say how DATA is read; where it lies is said by DATA itself.
config::Fields reading_settings(SourceConfig& source);

// DATA as it was named on the command line, with the settings that were given as flags.
SourceConfig source_named(const std::string& data, const config::Value& given);

}  // namespace stoker::cli
