#include "data/cubes/cube_archive.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "data/arrays/envi.h"
#include "data/cubes/found_cubes.h"
#include "data/format/zip.h"
#include "data/memory/unpacked_limits.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files_of_archive = 10'000;
constexpr std::size_t longest_name_in_archive = 150;

std::string ending_in_lower_case(const std::string& name) {
  return lower_case(fs::path(name).extension().string());
}

bool is_header_of_envi(const std::string& name) {
  return ending_in_lower_case(name) == ".hdr";
}

// Without an ending too, as some programs leave it.
bool may_be_envi_numbers(const std::string& name) {
  return !is_header_of_envi(name) && (is_envi_name(name) || ending_in_lower_case(name).empty());
}

bool is_array_file(const std::string& name) {
  const std::string ending = ending_in_lower_case(name);
  return ending == ".npy" || ending == ".npz" || ending == ".h5" || ending == ".hdf5";
}

// The folder that a file lies in, and its name there.
struct PlaceInArchive {
  std::string folder;
  std::string name;
};

PlaceInArchive place_in_archive(const ZippedFile& file, const std::string& shown) {
  const auto refuse_name = [&](const char* why) {
    refuse("{}: the name '{}' in the archive {}", shown, printable(shortened(file.name)), why);
  };
  if (file.is_link) refuse_name("is a link; pack the files themselves");
  if (file.name.find('\\') != std::string::npos || printable(file.name) != file.name)
    refuse_name("has a character that names of files here may not have");
  const std::vector<std::string> parts = split_text(file.name, '/');
  for (const std::string& part : parts)
    if (part.empty() || part == "." || part == "..") refuse_name("leads out of the archive's own folder");
  if (parts.size() > 2) refuse_name("lies in a folder of a folder; cubes lie side by side, in one at most");
  if (parts.back().size() > longest_name_in_archive)
    refuse_name(fmt::format("is longer than {} characters", longest_name_in_archive).c_str());
  return {parts.size() == 2 ? parts.front() : "", parts.back()};
}

// By the names that they get. Refuses what cannot lie side by side.
std::map<std::string, const ZippedFile*> side_by_side(const std::vector<ZippedFile>& files,
                                                      const std::string& shown) {
  std::map<std::string, const ZippedFile*> by_name;
  std::set<std::string> folders;
  for (const ZippedFile& each : files) {
    const PlaceInArchive place = place_in_archive(each, shown);
    folders.insert(place.folder);
    if (folders.size() > 1)
      refuse(
          "{}: '{}' lies in another folder of the archive than the files before it; cubes lie side by side",
          shown, printable(each.name));
    if (!by_name.emplace(place.name, &each).second)
      refuse("{}: '{}' is in the archive twice", shown, printable(each.name));
  }
  return by_name;
}

bool has_header(const std::string& numbers, const std::map<std::string, const ZippedFile*>& files) {
  for (const char* ending : {".hdr", ".HDR"})
    if (files.contains(numbers + ending) ||
        files.contains(fs::path(numbers).replace_extension(ending).string()))
      return true;
  return false;
}

bool is_marks_of_cubes(const std::string& name) {
  return ending_in_lower_case(name) == ".json";
}

void refuse_other_files(const std::map<std::string, const ZippedFile*>& files, const std::string& shown) {
  std::vector<std::string> marks;
  bool has_cubes = false;
  for (const auto& [name, file] : files) {
    has_cubes = has_cubes || may_hold_cubes(name);
    if (may_hold_cubes(name)) continue;
    if (is_marks_of_cubes(name)) {
      marks.push_back(name);
    } else if (!may_be_envi_numbers(name)) {
      refuse(
          "{}: '{}' in the archive is no file of cubes; it takes ENVI headers (.hdr) with their numbers, "
          ".npy, .npz, .h5 and .hdf5, their masks (NAME_mask) and one COCO .json",
          shown, name);
    } else if (!has_header(name, files)) {
      refuse("{}: there is no ENVI header for '{}' in the archive, such as {}", shown, name,
             fs::path(name).replace_extension(".hdr").string());
    }
  }
  if (marks.size() > 1)
    refuse("{}: there are {} files of marks in the archive ('{}', '{}'), but one is read", shown,
           marks.size(), marks[0], marks[1]);
  if (!has_cubes) refuse("{} is a zip archive without a cube in it", shown);
}

}  // namespace

bool is_cube_archive(const fs::path& archive, const std::string& shown) {
  const std::vector<ZippedFile> files = zipped_files(archive, shown, 0);
  return std::ranges::any_of(files, [&](const ZippedFile& each) {
    // A text of rows may be called .dat too.
    const bool is_envi = is_envi_name(each.name) && ending_in_lower_case(each.name) != ".dat";
    return is_envi || (files.size() > 1 && is_array_file(each.name));
  });
}

bool has_arrays_alone(const fs::path& archive, const std::string& shown) {
  return std::ranges::all_of(zipped_files(archive, shown, 0), [](const ZippedFile& each) {
    return ending_in_lower_case(each.name) == ".npy";
  });
}

std::string unpack_cubes(const fs::path& archive, const std::string& shown, const fs::path& folder,
                         std::uint64_t most_bytes) {
  const std::vector<ZippedFile> files = zipped_files(archive, shown, 0);
  if (files.size() > most_files_of_archive)
    refuse("{} is a zip archive of {} files; at most {} are taken", shown, files.size(),
           most_files_of_archive);
  std::uint64_t bytes = 0;
  for (const ZippedFile& each : files) bytes += each.bytes;
  // A small upload must not fill the disk.
  refuse_if_packed_too_well(bytes, fs::file_size(archive), shown);
  if (bytes > most_bytes)
    refuse("{} would take {} unpacked; at most {} are taken", shown, human_bytes(bytes),
           human_bytes(most_bytes));
  const auto by_name = side_by_side(files, shown);
  refuse_other_files(by_name, shown);
  std::string marks;
  for (const auto& [name, file] : by_name) {
    file->write_to(folder / name);
    if (is_marks_of_cubes(name)) marks = name;
  }
  return marks;
}

}  // namespace stoker
