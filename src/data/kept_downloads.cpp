#include "data/kept_downloads.h"

#include <map>
#include <mutex>

namespace stoker {
namespace {

struct DownloadsByAddress {
  std::mutex mutex;
  bool are_kept = false;
  std::map<std::string, Downloaded> files;
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

}  // namespace stoker
