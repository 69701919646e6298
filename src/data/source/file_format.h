#pragma once

#include <filesystem>
#include <string>

#include "data/source/source_config.h"

namespace stoker {

// What is asked for, else what the ending of the name, or the content of the file, tells. Refuses what tells
// nothing.
SourceFormat told_format(SourceFormat asked, const std::filesystem::path& name,
                         const std::filesystem::path& file);

}  // namespace stoker
