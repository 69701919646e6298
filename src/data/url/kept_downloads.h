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

  // Rows of a database are handed over once, so that nobody holds them longer than they are used.
  static void keep_rows(const std::string& key, std::shared_ptr<const void> rows);
  static std::shared_ptr<const void> take_rows(const std::string& key);  // null where there are none
};

}  // namespace stoker
