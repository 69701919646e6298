#include "data/download.h"

#include "base/error.h"

namespace stoker {
void download(const std::string&, const std::filesystem::path&, const DownloadLimits&) {
  fail("not yet");
}
std::string file_name_of_url(const std::string&) {
  return "";
}
}  // namespace stoker
