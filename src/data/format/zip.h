#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source/unnamed_file.h"

namespace stoker {

struct UnzippedFile {
  std::string name;  // in the archive, without its folders
  std::shared_ptr<const UnnamedFile> file;
};

bool is_zip(const std::filesystem::path& path);

// A file of an archive that is read in place, or unpacked when somebody asks for its bytes.
struct ZippedFile {
  std::string name;         // in the archive, with its folders
  std::uint64_t bytes = 0;  // unpacked
  std::string start;        // its first bytes, as many as were asked for and are there
  // Where it lies as it is: from this byte of the archive on.
  std::optional<std::int64_t> begin;
  std::function<std::shared_ptr<const UnnamedFile>()> unpack;  // of a packed one
  bool is_link = false;                                        // a symbolic one, as systems like Unix keep it
  // Into a new file; refuses what is damaged.
  std::function<void(const std::filesystem::path& path)> write_to;
};

// All files of an archive. Refuses those that are damaged or encrypted.
std::vector<ZippedFile> zipped_files(const std::filesystem::path& path, const std::string& shown,
                                     std::size_t start_bytes);

// The one file of an archive; folders and what systems put beside it (__MACOSX, names with a dot in front) do
// not count. Refuses archives that hold none or several, that are damaged or encrypted, and those that would
// take far more memory than their size, as a packed text does. `shown` names the archive to people.
UnzippedFile unzip_only_file(const std::filesystem::path& path, const std::string& shown);

}  // namespace stoker
