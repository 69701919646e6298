#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace stoker {

struct Downloaded {
  std::filesystem::path file;
  std::shared_ptr<const void> keeps_file;
};

// While one lives, what an address has given is kept and not fetched again: for who looks at a table before
// it is read. One at a time.
class KeptDownloads {
 public:
  KeptDownloads();
  KeptDownloads(const KeptDownloads&) = delete;
  KeptDownloads& operator=(const KeptDownloads&) = delete;
  ~KeptDownloads();

  static std::optional<Downloaded> find(const std::string& address);
  static void keep(const std::string& address, const Downloaded& downloaded);  // where one lives
};

}  // namespace stoker
