#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/unnamed_file.h"

namespace stoker {

struct UnzippedFile {
  std::string name;  // in the archive, without its folders
  std::shared_ptr<const UnnamedFile> file;
};

bool is_zip(const std::filesystem::path& path);

// The one file of an archive; folders and what systems put beside it (__MACOSX, names with a dot in front) do
// not count. Refuses archives that hold none or several, that are damaged or encrypted, and those that would
// take far more memory than their size, as a packed text does. `shown` names the archive to people.
UnzippedFile unzip_only_file(const std::filesystem::path& path, const std::string& shown);

}  // namespace stoker
