#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "base/text/trimmed.h"
#include "data/cubes/found_cubes.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_list = std::size_t{64} << 20U;

bool is_named_as_mask(const fs::path& file) {
  const std::string stem = lower_case(file.stem().string());
  return stem.ends_with("_mask") || stem.ends_with("_masks");
}

std::string name_of_cube(const fs::path& relative) {
  return fs::path(relative).replace_extension().generic_string();
}

struct ListedCube {
  std::string cube;
  std::string mask;
  std::size_t line = 0;
};

std::string cell_of_list(std::string_view text) {
  text = trimmed(text, " \t\r");
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::vector<ListedCube> lines_of_list(const std::string& text, const std::string& shown) {
  std::vector<ListedCube> listed;
  std::istringstream stream(text);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    const std::size_t between = line.find_first_of(",;\t");
    const std::string cube = cell_of_list(std::string_view(line).substr(0, between));
    const std::string mask =
        between == std::string::npos ? "" : cell_of_list(std::string_view(line).substr(between + 1));
    if ((cube.empty() && mask.empty()) || cube.starts_with('#')) continue;
    if (mask.find_first_of(",;\t") != std::string::npos)
      refuse("{}, line {}: each line has a cube and at most one mask; found '{}'", shown, number,
             printable(shortened(line)));
    const bool is_header = listed.empty() && (lower_case(cube) == "cube" || lower_case(cube) == "path") &&
                           (mask.empty() || lower_case(mask) == "mask");
    if (!is_header) listed.push_back({cube, mask, number});
  }
  if (listed.empty()) refuse("{} lists no cubes", shown);
  return listed;
}

// A list may come from anywhere: it names nothing outside of its folder, by links neither.
fs::path path_inside(const fs::path& folder, const std::string& given, const std::string& where) {
  if (given.empty()) refuse("{}: the path of the cube is missing", where);
  const fs::path path = folder / given;
  std::error_code error;
  const fs::path there = fs::weakly_canonical(path, error);
  if (error) refuse("{}: '{}' cannot be opened: {}", where, printable(shortened(given)), error.message());
  const fs::path here = fs::weakly_canonical(folder, error);
  const fs::path inside = there.lexically_relative(here);
  if (fs::path(given).is_absolute() || inside.empty() || *inside.begin() == "..")
    refuse("{}: '{}' is outside the folder of the list", where, printable(given));
  return path;
}

// Of two files that differ in their ending alone, both keep it.
std::vector<std::string> names_of_cubes(const std::vector<fs::path>& files) {
  std::map<std::string, int> files_of_name;
  for (const fs::path& each : files) ++files_of_name[name_of_cube(each)];
  std::vector<std::string> names;
  for (const fs::path& each : files) {
    const std::string name = name_of_cube(each);
    names.push_back(files_of_name[name] == 1 ? name : each.generic_string());
  }
  return names;
}

}  // namespace

bool is_cube_list(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  return ending == ".csv" || ending == ".txt" || ending == ".tsv" || ending == ".lst";
}

void add_cubes_of_folder(const fs::path& folder, const std::string& shown, const SourceConfig& config,
                         FoundCubes& found) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path name = entries->path().filename();
    std::error_code missing;
    if (entries->is_regular_file(missing) && may_hold_cubes(name) && !is_named_as_mask(name) &&
        !name.string().starts_with('.'))
      files.push_back(name);
  }
  if (error) refuse("the folder {} cannot be read: {}", shown, error.message());
  if (files.empty())
    refuse("the folder {} has no cubes in it: ENVI headers (.hdr), .npy, .npz, .h5 or .hdf5", shown);
  // Beside what was exported of them.
  const auto is_session = [](const fs::path& file) {
    return lower_case(file.extension().string()) == ".cu3s";
  };
  if (!std::ranges::all_of(files, is_session))
    if (const std::size_t left_out = std::erase_if(files, is_session); left_out > 0)
      found.remarks.push_back(fmt::format("{}: {} of cuvis (.cu3s) {} left out", shown,
                                          counted(left_out, "session file"), left_out == 1 ? "is" : "are"));
  std::ranges::sort(files);
  const std::vector<std::string> names = names_of_cubes(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::size_t first = found.cubes.size();
    add_cubes_of_file(folder / files[i], fmt::format("'{}'", printable(files[i].string())), names[i], config,
                      found);
    attach_mask_beside(folder / files[i], config, first, found);
  }
}

void add_cubes_of_list(const fs::path& list, const std::string& shown, const SourceConfig& config,
                       FoundCubes& found) {
  found.files.push_back(list);
  const std::vector<ListedCube> listed = lines_of_list(read_file(list, longest_list), shown);
  std::vector<fs::path> files;
  for (const ListedCube& each : listed) files.emplace_back(each.cube);
  const std::vector<std::string> names = names_of_cubes(files);
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::string where = fmt::format("{}, line {}", shown, listed[i].line);
    const std::size_t first = found.cubes.size();
    const std::string cube_shown = fmt::format("'{}'", printable(listed[i].cube));
    add_cubes_of_file(path_inside(list.parent_path(), listed[i].cube, where),
                      fmt::format("{}: {}", where, cube_shown), names[i], config, found);
    if (listed[i].mask.empty()) {
      attach_mask_beside(list.parent_path() / listed[i].cube, config, first, found, list.parent_path());
      continue;
    }
    const std::string mask_shown = fmt::format("{}: '{}'", where, printable(listed[i].mask));
    attach_masks(
        mask_array(path_inside(list.parent_path(), listed[i].mask, where), mask_shown, config, found),
        mask_shown, found.cubes, first, found.cubes.size() - first);
  }
}

}  // namespace stoker
