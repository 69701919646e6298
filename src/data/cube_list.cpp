#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "data/column_values.h"
#include "data/found_cubes.h"

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
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  text = text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
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
      refuse("{}, line {}: a line has a cube and at most a mask, found '{}'", shown, number,
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
  if (given.empty()) refuse("{}: a cube has no path", where);
  const fs::path path = folder / given;
  const fs::path inside = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder));
  if (fs::path(given).is_absolute() || inside.empty() || *inside.begin() == "..")
    refuse("{}: '{}' is outside of the folder that the list lies in", where, printable(given));
  return path;
}

// NAME_mask beside NAME, in a form that masks have.
void attach_mask_beside(const fs::path& file, const SourceConfig& config, std::size_t first,
                        FoundCubes& found) {
  if (!config.mask_path.empty()) return;
  for (const char* ending : {"_mask.npy", "_masks.npy", "_mask.hdr"}) {
    const fs::path mask = fs::path(file).replace_extension().string() + ending;
    std::error_code error;
    if (!fs::is_regular_file(mask, error)) continue;
    const std::string shown = fmt::format("'{}'", printable(mask.filename().string()));
    return attach_masks(mask_array(mask, shown, config, found), shown, found.cubes, first,
                        found.cubes.size() - first);
  }
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

std::int64_t FoundCube::size(std::size_t axis) const {
  return array->shape[axis + (slice ? 1 : 0)];
}

std::string FoundCube::size_text() const {
  return fmt::format("{} x {} pixels", size(0), size(1));
}

bool is_cube_list(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  return ending == ".csv" || ending == ".txt" || ending == ".tsv" || ending == ".lst";
}

void add_cubes_of_folder(const fs::path& folder, const std::string& shown, const SourceConfig& config,
                         FoundCubes& found) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
    const fs::path name = each.path().filename();
    if (each.is_regular_file() && may_hold_cubes(name) && !is_named_as_mask(name) &&
        !name.string().starts_with('.'))
      files.push_back(name);
  }
  if (files.empty())
    refuse("the folder {} has no cubes in it: ENVI headers (.hdr), .npy, .npz, .h5 or .hdf5", shown);
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
    if (listed[i].mask.empty()) continue;
    const std::string mask_shown = fmt::format("{}: '{}'", where, printable(listed[i].mask));
    attach_masks(
        mask_array(path_inside(list.parent_path(), listed[i].mask, where), mask_shown, config, found),
        mask_shown, found.cubes, first, found.cubes.size() - first);
  }
}

namespace {

void refuse_unlike_cubes(const FoundCubes& found) {
  const FoundCube& first = found.cubes.front();
  for (const FoundCube& each : found.cubes) {
    if (each.size(2) != first.size(2))
      refuse("{} has {}, but {} has {}; all cubes of a source have the same channels", each.shown,
             counted(static_cast<std::uint64_t>(each.size(2)), "channel"), first.shown,
             counted(static_cast<std::uint64_t>(first.size(2)), "channel"));
    if (each.size(0) != first.size(0) || each.size(1) != first.size(1))
      refuse("{} has {}, but {} has {} (height x width); all cubes of a source have one size: crop them",
             each.shown, each.size_text(), first.shown, first.size_text());
  }
}

void settle_wavelengths(const SourceConfig& config, FoundCubes& found) {
  constexpr double same = 0.05;  // nm: headers round them
  const FoundCube& first = found.cubes.front();
  if (!config.wavelengths.empty()) {
    if (std::ssize(config.wavelengths) != first.size(2))
      refuse("wavelengths has {}, but the cubes have {}", counted(config.wavelengths.size(), "number"),
             counted(static_cast<std::uint64_t>(first.size(2)), "channel"));
    found.wavelengths = config.wavelengths;
    return;
  }
  found.wavelengths = first.wavelengths;
  for (const FoundCube& each : found.cubes) {
    if (std::ranges::equal(each.wavelengths, found.wavelengths,
                           [](double a, double b) { return std::abs(a - b) <= same; }))
      continue;
    found.warnings.push_back(
        fmt::format("{} has other wavelengths than {}, whose are taken for all", each.shown, first.shown));
    return;
  }
}

}  // namespace

FoundCubes find_cubes(const SourceConfig& config, const fs::path& base) {
  FoundCubes found;
  const fs::path path = fs::absolute(base / config.path);
  const std::string shown = fmt::format("'{}'", printable(config.path));
  std::error_code error;
  if (fs::is_directory(path, error)) {
    add_cubes_of_folder(path, shown, config, found);
  } else if (is_cube_list(path) && fs::is_regular_file(path, error)) {
    add_cubes_of_list(path, shown, config, found);
  } else {
    add_cubes_of_file(path, shown, path.stem().string(), config, found);
    attach_mask_beside(path, config, 0, found);
  }
  refuse_unlike_cubes(found);
  attach_masks_of_path(config, base, found);
  settle_wavelengths(config, found);
  return found;
}

}  // namespace stoker
