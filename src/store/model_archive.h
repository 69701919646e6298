#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// A model folder as one file: a tar archive (POSIX.1-1988, ustar) of its files, under model/.
namespace stoker {

// Written bit by bit, without a copy on disk.
class ModelArchive {
 public:
  // Refuses a folder that is no model's.
  explicit ModelArchive(const std::filesystem::path& folder);
  // Adds the next piece to `text`; false: that was all.
  bool more(std::string& text);

 private:
  struct File {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
  };
  std::vector<File> files_;
  std::size_t next_ = 0;
  std::ifstream open_;
  std::uint64_t left_ = 0;     // of the file that is open
  std::uint64_t padding_ = 0;  // behind it
  bool has_ended_ = false;
};

// Unpacks such an archive, which may be anybody's, into an empty folder. Takes the files of a model alone, as
// plain files at the top or in one folder; refuses whatever else it finds: links, other names, sizes that do
// not fit.
void unpack_model(const std::filesystem::path& archive, const std::filesystem::path& folder);

}  // namespace stoker
