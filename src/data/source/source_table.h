#pragma once

#include <filesystem>

#include "data/source/source_config.h"
#include "data/source/source_reader.h"

namespace stoker {

// The kind of source that a configuration names.
const SourceOfKind& source_of(const SourceConfig& config);

// Of a file, by its first bytes and, of cubes, by its name and shape.
SourceKind kind_of_file(const std::filesystem::path& file);

}  // namespace stoker
