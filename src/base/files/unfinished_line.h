#pragma once

#include <filesystem>

namespace stoker {

// Takes away what a killed process began to write to the end of a file of lines, so that the next line does
// not run into it. Nothing where there is no such file.
void drop_unfinished_line(const std::filesystem::path& path);

}  // namespace stoker
