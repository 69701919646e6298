#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/notes.h"
#include "data/cubes/cube_sight.h"
#include "data/table/table.h"
#include "device/array.h"

// Hyperspectral cubes: images with a spectrum in every pixel. They go with a table that has a row for each of
// them, and are looked up by Table::source_rows, so that whatever divides the rows divides the cubes.
namespace stoker {

// What was found in one cube.
struct CubeFacts {
  float lowest = 0;  // of its finite values
  float highest = 0;
  bool has_values = false;           // finite ones
  std::int64_t nan_pixels = 0;       // with a value that is NaN
  std::int64_t infinite_pixels = 0;  // with one that is infinite
  std::int64_t masked_pixels = 0;    // of a class other than 0
  bool has_mask = false;             // else all of its mask is 0 because nobody knows better
};

// Cubes of one size. Never changed once a table has them.
struct Cubes {
  Array values;                             // float32 [cubes, height, width, channels]
  Array masks = {};                         // uint8 [cubes, height, width], 0: nothing; none: empty
  std::vector<double> wavelengths = {};     // of the channels, in nm; none where they are not known
  std::vector<std::string> names = {};      // of the cubes
  std::vector<CubeFacts> facts = {};        // of the cubes
  std::map<int, std::string> classes = {};  // names of those of the masks, where there are any
  std::filesystem::path values_file = {};   // that the cache keeps them in, if any
  std::filesystem::path masks_file = {};

  std::int64_t count() const { return values.shape()[0]; }
  std::int64_t height() const { return values.shape()[1]; }
  std::int64_t width() const { return values.shape()[2]; }
  std::int64_t channels() const { return values.shape()[3]; }
  std::int64_t pixels() const { return height() * width(); }  // of one cube
  bool has_masks() const { return !masks.empty(); }
  std::uint64_t bytes() const { return values.bytes() + (has_masks() ? masks.bytes() : 0); }
};

// Room for values of that shape; refuses what neither memory nor the disk holds. `shown` names them to
// people.
Array room_for_cubes(DType type, const Shape& shape, const std::string& shown);

// Looks at all values and masks, on all cores.
void find_facts(Cubes& cubes);

// The table that cubes go with: their names, masked_pixels where there are masks, pixels that are not finite.
constexpr const char* column_of_marks = "masked_pixels";
constexpr const char* column_of_nan = "nan_pixels";
constexpr const char* column_of_infinite = "infinite_pixels";
Table table_of_cubes(std::shared_ptr<const Cubes> cubes);

// Which of the cubes a row of such a table is.
std::int64_t cube_of(const Table& table, std::int64_t row);
// Its values [height, width, channels].
std::span<const float> values_of_cube(const Table& table, std::int64_t row);

// For who reads tables alone: "windows are made of a table, …".
void refuse_cubes(const Table& table, const std::string& what);

// For a look, over the cubes of the table's rows.
struct CubesLook {
  std::int64_t cubes = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<double> wavelengths;
  float lowest = 0;
  float highest = 0;
  std::int64_t nan_pixels = 0;
  std::int64_t infinite_pixels = 0;
  std::int64_t cubes_with_masks = 0;
  std::map<int, std::int64_t> pixels_of_class;  // of those but 0
  std::map<int, std::string> classes;
  CubeSight sight;  // of the first cube with marked pixels, else of the first; empty without cubes

  // Each a word and what is to be said of it: "wavelengths", "430 to 920 nm".
  std::vector<std::pair<std::string, std::string>> lines() const;
};
CubesLook look_at(const Table& table);
nlohmann::json to_json(const CubesLook& look);

}  // namespace stoker
