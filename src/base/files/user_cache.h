#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace stoker {

// $XDG_CACHE_HOME/stoker/NAME, or that of the home folder: for what may be lost. None where there is neither.
std::optional<std::filesystem::path> user_cache(std::string_view name);

}  // namespace stoker
