#include "data/url/kept_downloads.h"

#include <map>
#include <mutex>

namespace stoker {
namespace {

struct DownloadsByAddress {
  std::mutex mutex;
  bool are_kept = false;
  std::map<std::string, Downloaded> files;
  std::map<std::string, std::shared_ptr<const void>> rows;
};

DownloadsByAddress& downloads_by_address() {
  static DownloadsByAddress all;
  return all;
}

}  // namespace

KeptDownloads::KeptDownloads() {
  const std::lock_guard lock(downloads_by_address().mutex);
  downloads_by_address().are_kept = true;
}

KeptDownloads::~KeptDownloads() {
  const std::lock_guard lock(downloads_by_address().mutex);
  downloads_by_address().are_kept = false;
  downloads_by_address().files.clear();
  downloads_by_address().rows.clear();
}

std::optional<Downloaded> KeptDownloads::find(const std::string& address) {
  const std::lock_guard lock(downloads_by_address().mutex);
  const auto found = downloads_by_address().files.find(address);
  if (found == downloads_by_address().files.end()) return std::nullopt;
  return found->second;
}

void KeptDownloads::keep(const std::string& address, const Downloaded& downloaded) {
  const std::lock_guard lock(downloads_by_address().mutex);
  if (downloads_by_address().are_kept) downloads_by_address().files[address] = downloaded;
}

void KeptDownloads::keep_rows(const std::string& key, std::shared_ptr<const void> rows) {
  const std::lock_guard lock(downloads_by_address().mutex);
  if (downloads_by_address().are_kept) downloads_by_address().rows[key] = std::move(rows);
}

std::shared_ptr<const void> KeptDownloads::take_rows(const std::string& key) {
  const std::lock_guard lock(downloads_by_address().mutex);
  const auto found = downloads_by_address().rows.extract(key);
  return found.empty() ? nullptr : std::move(found.mapped());
}

}  // namespace stoker
