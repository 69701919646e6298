#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stoker {

// A file as it goes into an archive, under a name there.
struct FileToPack {
  std::string name;
  std::filesystem::path path;
};

// Writes a zip archive of files as they are, none of them packed tighter: NumPy opens one of npy files as
// npz. Refuses more than the format holds without extensions, 65,535 files or 4 GiB. Written atomically.
void write_zip(const std::vector<FileToPack>& files, const std::filesystem::path& path);

}  // namespace stoker
