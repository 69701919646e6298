#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

// Files of cubes in one zip archive, which may be anybody's: that is how several of them go over a network.
namespace stoker {

// Whether it holds several files that belong together rather than one table: those of a cube in ENVI form, or
// arrays side by side. Refuses an archive that is damaged.
bool is_cube_archive(const std::filesystem::path& archive, const std::string& shown);

// Whether it is what NumPy calls npz: arrays and nothing else.
bool has_arrays_alone(const std::filesystem::path& archive, const std::string& shown);

// Unpacks the archive into an empty folder. Takes files of cubes and of their masks, side by side at the top
// or in one folder, and of ENVI numbers only those with a header; refuses whatever else it finds: paths that
// lead elsewhere, links, two files of one name, more than so many bytes. `shown` names it to people.
// Returns the name of the COCO JSON among them, which marks their pixels; empty: there is none.
std::string unpack_cubes(const std::filesystem::path& archive, const std::string& shown,
                         const std::filesystem::path& folder, std::uint64_t most_bytes);

}  // namespace stoker
