#pragma once

#include <filesystem>

namespace stoker {

// flock(2), tried again where a signal came between: 0, or the system's error.
int lock_file(int descriptor, int operation);

// Whether the file or folder that is open is the one of this name; a link is not followed.
bool is_open_as(int descriptor, const std::filesystem::path& name);

}  // namespace stoker
