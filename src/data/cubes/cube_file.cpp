#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/text/text.h"
#include "data/arrays/envi.h"
#include "data/cubes/found_cubes.h"
#include "data/format/zip.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

enum class CubeForm { npy, npz, hdf5, envi };

[[noreturn]] void refuse_session(const std::string& shown) {
  refuse(
      "{} is a session file of cuvis (.cu3s), whose format is proprietary; export it with the cuvis SDK and "
      "read that: as ENVI (cuvis.Export.EnviExporter), or cube by cube as npy (np.save(\"NAME.npy\", "
      "measurement.data[\"cube\"].array))",
      shown);
}

CubeForm form_of(const fs::path& file, const std::string& shown) {
  std::error_code error;
  if (lower_case(file.extension().string()) == ".cu3s") refuse_session(shown);
  if (!fs::exists(file, error)) refuse("{} does not exist", shown);
  if (!fs::is_regular_file(file, error)) refuse("{} is not a file", shown);
  std::array<char, 8> bytes{};
  std::ifstream(file, std::ios::binary).read(bytes.data(), bytes.size());
  const std::string_view start(bytes.data(), bytes.size());
  if (start.starts_with("\x93NUMPY")) return CubeForm::npy;
  if (start == std::string_view("\x89HDF\r\n\x1a\n", 8)) return CubeForm::hdf5;
  if (is_zip(file)) return CubeForm::npz;
  const std::string ending = lower_case(file.extension().string());
  if (is_envi_name(file) || ending.empty()) return CubeForm::envi;
  if (ending == ".npy" || ending == ".npz" || ending == ".h5" || ending == ".hdf5")
    refuse("{} is damaged: its content is not what its name says", shown);
  refuse("{} is not a file of cubes; ENVI (.hdr with its numbers beside it), npy, npz and HDF5 can be read",
         shown);
}

bool is_called(const StoredArray& array, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, lower_case(array.name)) != names.end();
}
bool is_called_mask(const StoredArray& array, const SourceConfig& config) {
  return config.mask_key.empty() ? is_called(array, {"mask", "masks"}) : array.name == config.mask_key;
}

std::string names_of(const std::vector<StoredArray>& arrays) {
  std::vector<std::string> names;
  for (const StoredArray& each : arrays)
    names.push_back(fmt::format("{} ({})", printable(each.name),
                                each.problem.empty() ? shape_text(each.shape) : "cannot be read"));
  return shortened(join(names, ", "));
}

const StoredArray& readable(const StoredArray& array) {
  if (!array.problem.empty()) refuse("{}", array.problem);
  return array;
}

std::vector<StoredArray> chosen_arrays(const std::vector<StoredArray>& arrays, const std::string& key,
                                       const SourceConfig& config, const std::string& shown) {
  std::vector<StoredArray> chosen;
  if (!key.empty()) {
    for (const StoredArray& each : arrays)
      if (each.name == key) return {readable(each)};
    refuse("{} has no array '{}'; it has {}", shown, printable(key), names_of(arrays));
  }
  const auto take = [&](std::size_t dimensions) {
    for (const StoredArray& each : arrays)
      if (each.problem.empty() && each.shape.size() == dimensions && !is_called_mask(each, config))
        chosen.push_back(each);
  };
  take(4);
  if (chosen.size() > 1)
    refuse("{} has several arrays of four dimensions: {}; name the one that holds the cubes with cube_key",
           shown, names_of(arrays));
  if (chosen.empty()) take(3);
  if (chosen.empty())
    refuse("{} has no array of three dimensions (height, width, channels) or four (cubes first); it has {}",
           shown, names_of(arrays));
  return chosen;
}

// The shortest number that is the same float: 430.12, not 430.1199951.
double plain_double(float value) {
  const std::string text = fmt::format("{}", value);
  double number = value;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<double> wavelengths_among(const std::vector<StoredArray>& arrays, std::int64_t channels) {
  for (const StoredArray& each : arrays) {
    if (!each.problem.empty() || each.shape != Shape{channels} ||
        !is_called(each, {"wavelength", "wavelengths"}))
      continue;
    std::vector<float> values(static_cast<std::size_t>(channels));
    each.read(0, channels, values.data());
    std::vector<double> wavelengths;
    for (const float value : values) wavelengths.push_back(plain_double(value));
    return wavelengths;
  }
  return {};
}

// Which would else be missed without a word.
void tell_of_odd_wavelengths(const std::vector<StoredArray>& arrays, std::int64_t channels,
                             const FoundCube& like, FoundCubes& found) {
  for (const StoredArray& each : arrays)
    if (is_called(each, {"wavelength", "wavelengths"}) && each.shape != Shape{channels})
      found.remarks.push_back(fmt::format(
          "{}: the array '{}' has the shape {} instead of one number for each of the {}; it is not used",
          like.shown, printable(each.name), shape_text(each.shape),
          counted(static_cast<std::uint64_t>(channels), "channel")));
}

// The cubes of one array, and how many they are.
void add_cubes_of_array(const StoredArray& given, const FoundCube& like, FoundCubes& found) {
  constexpr std::int64_t most_cubes = 10'000'000;
  const std::size_t dimensions = given.shape.size();
  if (dimensions != 3 && dimensions != 4)
    refuse(
        "{} has the shape {}; a cube has three dimensions (height, width, channels), several cubes have "
        "four, the first of which counts them",
        like.shown, shape_text(given.shape));
  FoundCube cube = like;
  cube.array = std::make_shared<const StoredArray>(given);
  if (dimensions == 3) {
    found.cubes.push_back(std::move(cube));
    return;
  }
  if (given.shape[0] > most_cubes)
    refuse("{} has {} cubes; at most {} can be read", like.shown, given.shape[0], most_cubes);
  for (std::int64_t i = 0; i < given.shape[0]; ++i) {
    cube.slice = i;
    cube.name = fmt::format("{}_{}", like.name, i);
    found.cubes.push_back(cube);
  }
}

void add_named_arrays(const std::vector<StoredArray>& arrays, const std::vector<StoredArray>& chosen,
                      const FoundCube& like, const SourceConfig& config, FoundCubes& found) {
  const std::size_t first = found.cubes.size();
  for (const StoredArray& each : chosen) {
    FoundCube cube = like;
    if (chosen.size() > 1) cube.name = fmt::format("{}/{}", like.name, each.name);
    cube.shown = fmt::format("{}: the array '{}'", like.shown, printable(each.name));
    if (each.shape.size() >= 3) {
      cube.wavelengths = wavelengths_among(arrays, each.shape.back());
      if (cube.wavelengths.empty()) tell_of_odd_wavelengths(arrays, each.shape.back(), like, found);
    }
    add_cubes_of_array(each, cube, found);
  }
  for (const StoredArray& each : arrays)
    if (is_called_mask(each, config))
      return attach_masks(readable(each), fmt::format("{}: the array '{}'", like.shown, printable(each.name)),
                          found.cubes, first, found.cubes.size() - first);
  if (!config.mask_key.empty() && config.mask_path.empty())
    refuse("{} has no array '{}' for mask_key; it has {}", like.shown, printable(config.mask_key),
           names_of(arrays));
}

// The one array that holds masks, of a dataset or of a group of them.
const StoredArray& array_of_masks(const std::vector<StoredArray>& arrays, const SourceConfig& config,
                                  const std::string& shown) {
  for (const StoredArray& each : arrays)
    if (arrays.size() == 1 || is_called_mask(each, config)) return readable(each);
  if (arrays.empty())
    refuse("{} has no datasets there; name the one that holds the masks with mask_key", shown);
  refuse("{} has several arrays: {}; name the one that holds the masks with mask_key", shown,
         names_of(arrays));
}

void add_hdf5(const FoundCube& like, const SourceConfig& config, FoundCubes& found) {
  std::vector<StoredArray> arrays = hdf5_arrays(like.file, "", like.shown, config.follow_external);
  if (!config.mask_key.empty() && config.mask_path.empty()) {
    const std::vector<StoredArray> masks =
        hdf5_arrays(like.file, config.mask_key, like.shown, config.follow_external);
    arrays.insert(arrays.begin(), array_of_masks(masks, config, like.shown));
    arrays.front().name = config.mask_key;
  }
  if (config.cube_key.empty() && arrays.empty())
    refuse(
        "{} has only groups at the top level; say where the cubes are with cube_key: GROUP or GROUP/DATASET",
        like.shown);
  if (config.cube_key.empty())
    return add_named_arrays(arrays, chosen_arrays(arrays, "", config, like.shown), like, config, found);
  // A dataset alone, or those of a group.
  const std::vector<StoredArray> inner =
      hdf5_arrays(like.file, config.cube_key, like.shown, config.follow_external);
  if (inner.empty())
    refuse("{}: the group '{}' of cube_key has no datasets", like.shown, printable(config.cube_key));
  const bool is_one = inner.size() == 1;
  const std::vector<StoredArray> chosen =
      is_one ? std::vector{readable(inner.front())} : chosen_arrays(inner, "", config, like.shown);
  if (!is_one) arrays.insert(arrays.begin(), inner.begin(), inner.end());
  add_named_arrays(arrays, chosen, like, config, found);
}

void add_envi(const FoundCube& like, const SourceConfig& config, FoundCubes& found) {
  const EnviCube cube = envi_cube(like.file, config.processing, like.shown);
  FoundCube added = like;
  added.wavelengths = cube.header.wavelengths;
  added.file = cube.data_file;
  found.files.back() = cube.header_file;
  found.files.push_back(cube.data_file);
  const Shape& shape = cube.array.shape;
  if (const std::int64_t wanted = shape[0] * shape[1] * shape[2]; wanted < cube.stored_numbers)
    found.remarks.push_back(
        fmt::format("{}: the header asks for {} numbers, but {} has {}; if a size in the header is wrong, "
                    "pixels and channels are mixed up",
                    like.shown, human_count(static_cast<std::uint64_t>(wanted)),
                    printable(cube.data_file.filename().string()),
                    human_count(static_cast<std::uint64_t>(cube.stored_numbers))));
  if (!cube.header.wavelength_note.empty())
    found.remarks.push_back(fmt::format("{}: {}", like.shown, cube.header.wavelength_note));
  if (cube.header.scale_factor && *cube.header.scale_factor != 1)
    found.remarks.push_back(
        config.processing == CubeProcessing::reflectance
            ? fmt::format("{}: the numbers are divided by {}, the reflectance scale factor of the header",
                          like.shown, *cube.header.scale_factor)
            : fmt::format("{}: the numbers are left as they are stored; divided by {}, they are reflectances",
                          like.shown, *cube.header.scale_factor));
  if (cube.header.ignore_value)
    found.remarks.push_back(
        fmt::format("{}: the value {} means that there is no data, as the header says, and becomes NaN",
                    like.shown, *cube.header.ignore_value));
  add_cubes_of_array(cube.array, added, found);
}

}  // namespace

bool may_hold_cubes(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  constexpr std::array<std::string_view, 6> known{".npy", ".npz", ".hdr", ".h5", ".hdf5", ".cu3s"};
  return std::ranges::find(known, ending) != known.end();
}

void add_cubes_of_file(const fs::path& file, const std::string& shown, const std::string& name,
                       const SourceConfig& config, FoundCubes& found) {
  const FoundCube like{.name = name, .shown = shown, .file = file, .array = {}};
  const CubeForm form = form_of(file, shown);
  found.files.push_back(file);
  switch (form) {
    case CubeForm::npy:
      return add_cubes_of_array(npy_array(file, shown), like, found);
    case CubeForm::npz: {
      const std::vector<StoredArray> arrays = npz_arrays(file, shown);
      return add_named_arrays(arrays, chosen_arrays(arrays, config.cube_key, config, shown), like, config,
                              found);
    }
    case CubeForm::hdf5:
      return add_hdf5(like, config, found);
    case CubeForm::envi:
      return add_envi(like, config, found);
  }
}

StoredArray mask_array(const fs::path& file, const std::string& shown, const SourceConfig& config,
                       FoundCubes& found) {
  const CubeForm form = form_of(file, shown);
  found.files.push_back(file);
  if (form == CubeForm::npy) return npy_array(file, shown);
  if (form == CubeForm::envi) {
    EnviCube cube = envi_cube(file, CubeProcessing::raw, shown);
    found.files.back() = cube.header_file;
    found.files.push_back(cube.data_file);
    found.classes.merge(cube.header.classes);
    return cube.array;
  }
  const std::vector<StoredArray> arrays =
      form == CubeForm::npz ? npz_arrays(file, shown)
                            : hdf5_arrays(file, config.mask_key, shown, config.follow_external);
  return array_of_masks(arrays, config, shown);
}

}  // namespace stoker
