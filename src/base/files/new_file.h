#pragma once

#include <filesystem>
#include <string_view>

namespace stoker {

// Written whole or not at all, as write_file() does, but never over what is there: false if something has the
// name by then.
bool write_new_file(const std::filesystem::path& path, std::string_view content);

}  // namespace stoker
