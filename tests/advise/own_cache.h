#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace stoker::test {

// While it is there, what stoker keeps for a person is kept in this folder, here and in processes that are
// started.
class OwnCache {
 public:
  explicit OwnCache(const std::filesystem::path& folder) {
    if (const char* cache = std::getenv("XDG_CACHE_HOME")) before_ = cache;
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() {
    before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

}  // namespace stoker::test
