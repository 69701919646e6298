#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/table/table.h"

// What is odd about the values of cubes.
namespace stoker {

// A cube with pixels that have a value which is no finite number.
struct OddCube {
  std::string name;
  std::int64_t nan_pixels = 0;
  std::int64_t infinite_pixels = 0;
};

// A channel with one value in all pixels of a cube, as far as they are finite: of a detector that gave out,
// or of cubes without content.
struct DeadChannel {
  std::int64_t channel = 0;               // counted from 0
  std::optional<double> wavelength = {};  // in nm
  std::int64_t cubes = 0;                 // in which it is dead
};

struct CubeFaults {
  std::int64_t cubes = 0;    // that were looked at
  std::vector<OddCube> odd;  // in the order of the rows
  std::vector<DeadChannel> dead;

  std::string of_odd() const;   // a sentence about them; "" where there are none
  std::string of_dead() const;  // likewise
};
// Of the cubes of the table's rows.
CubeFaults find_cube_faults(const Table& table);
nlohmann::json to_json(const CubeFaults& faults);

// Those with pixels that are not finite, as they were counted when the cubes were read.
std::vector<OddCube> odd_cubes(const Table& table);

// "2 of 40 cubes to train on have pixels …: flight_3 (12 pixels NaN), …". Refuses nothing where there are
// none.
void refuse_odd_cubes(const Table& table, const std::string& purpose);

}  // namespace stoker
