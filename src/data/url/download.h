#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/process/stop.h"

namespace stoker {

struct DownloadLimits {
  double seconds = 60;
  std::uint64_t bytes = std::uint64_t{1} << 30;
  const StopSignal* stop = nullptr;  // ends it before its time
};

// Fetches an http or https address into a new file. Certificates are verified, up to five redirects are
// followed (never from https to http), and both limits hold for what really arrives; that of time also while
// a name is looked up. One that is interrupted throws with that exit code.
void download(const std::string& url, const std::filesystem::path& target, const DownloadLimits& limits);
// The same of an address that messages name otherwise: it holds what nobody else should see.
void download(const std::string& url, const std::string& shown, const std::filesystem::path& target,
              const DownloadLimits& limits);

// The last part of the address's path without its query, for telling the format: "houses.csv.gz". Of a name
// with a hidden value (base/text/hidden_values.h) only its ending is left: "download.csv".
std::string file_name_of_url(const std::string& url);
// The same of an address that messages name otherwise.
std::string file_name_of_url(const std::string& url, const std::string& shown);

}  // namespace stoker
