#include "base/files/user_cache.h"

#include <cstdlib>

namespace stoker {

std::optional<std::filesystem::path> user_cache(std::string_view name) {
  namespace fs = std::filesystem;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "stoker" / name;
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "stoker" / name;
  return std::nullopt;
}

}  // namespace stoker
