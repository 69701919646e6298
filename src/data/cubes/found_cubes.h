#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/arrays/stored_array.h"
#include "data/source/source_config.h"

// What a source of cubes consists of: everything that can be told before a number is read.
namespace stoker {

struct FoundCube {
  std::string name;
  std::string shown;           // for people: the file, and what of it
  std::filesystem::path file;  // whose name annotations may have
  std::shared_ptr<const StoredArray> array;
  std::optional<std::int64_t> slice = {};  // of an array of several cubes
  std::vector<double> wavelengths = {};
  std::function<void(std::uint8_t* to)> read_mask = {};  // none: it has none; of its height and width

  std::int64_t size(std::size_t axis) const;  // height, width, channels
  std::string size_text() const;              // "8 x 8 pixels"
};

struct FoundCubes {
  std::vector<FoundCube> cubes;
  std::vector<double> wavelengths = {};      // in nm
  std::map<int, std::string> classes = {};   // of the masks
  std::vector<std::filesystem::path> files;  // all that is read
  std::vector<std::string> remarks = {};     // for people
  std::vector<std::string> warnings = {};
};

// Refuses cubes of several sizes or numbers of channels, masks that do not fit, and files that cannot be
// read. Relative paths are taken from `base`.
FoundCubes find_cubes(const SourceConfig& config, const std::filesystem::path& base);

// Of one file, whatever its form (cube_file.cpp). `name` is that of the cubes.
void add_cubes_of_file(const std::filesystem::path& file, const std::string& shown, const std::string& name,
                       const SourceConfig& config, FoundCubes& found);
// The array of a file of masks.
StoredArray mask_array(const std::filesystem::path& file, const std::string& shown,
                       const SourceConfig& config, FoundCubes& found);
// Wavelengths that are this far apart at most are those of one channel.
inline constexpr double nearly_the_same_nm = 0.5;

bool may_hold_cubes(const std::filesystem::path& file);  // by its name

// Masks of cubes one behind the other, of one array (cube_masks.cpp). Refuses an array of another size.
void attach_masks(const StoredArray& masks, const std::string& shown, std::vector<FoundCube>& cubes,
                  std::size_t first, std::size_t count);
// NAME_mask beside the file NAME of the cubes from `first` on, unless mask_path says where masks are. A mask
// that is a link out of the folder `within` is an error, if that is given.
void attach_mask_beside(const std::filesystem::path& file, const SourceConfig& config, std::size_t first,
                        FoundCubes& found, const std::filesystem::path& within = {});
// Those of mask_path, for cubes that have none yet.
void attach_masks_of_path(const SourceConfig& config, const std::filesystem::path& base, FoundCubes& found);

// A folder of cubes, and a list of them (cube_list.cpp).
void add_cubes_of_folder(const std::filesystem::path& folder, const std::string& shown,
                         const SourceConfig& config, FoundCubes& found);
void add_cubes_of_list(const std::filesystem::path& list, const std::string& shown,
                       const SourceConfig& config, FoundCubes& found);
bool is_cube_list(const std::filesystem::path& file);

}  // namespace stoker
