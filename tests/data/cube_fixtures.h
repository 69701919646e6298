#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/cubes/cubes.h"
#include "data/fixtures.h"

namespace stoker {

// Numbers as NumPy lays them out (NumPy Enhancement Proposal 1), independent of the reader.
inline std::string npy_file(const std::string& descr, const std::string& shape, const std::string& numbers,
                            bool fortran_order = false) {
  const std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}\n", descr,
                                         fortran_order ? "True" : "False", shape);
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xffU);
  file += static_cast<char>(header.size() >> 8U);
  return file + header + numbers;
}

template <class T>
std::string bytes_laid(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// 0, 1, 2, … from `first` on.
template <class T = float>
std::vector<T> counting(std::size_t count, T first = 0) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(first + static_cast<T>(i));
  return values;
}

inline std::string float_cube(const std::string& shape, std::size_t count, float first = 0) {
  return npy_file("<f4", shape, bytes_laid(counting<float>(count, first)));
}
inline std::string mask_file(const std::string& shape, const std::vector<std::uint8_t>& classes) {
  return npy_file("|u1", shape, bytes_laid(classes));
}

inline SourceConfig cubes_at(const std::filesystem::path& path) {
  return Source::config_for("cubes:" + path.string());
}

inline Table read_cubes(const SourceConfig& config, const Notes& notes = no_notes()) {
  return Source::open(config, ".").read({}, notes);
}

inline std::vector<float> values_in(const Table& table) {
  const auto values = table.cubes->values.as<float>();
  return {values.begin(), values.end()};
}
inline std::vector<int> masks_in(const Table& table) {
  const auto masks = table.cubes->masks.as<std::uint8_t>();
  return {masks.begin(), masks.end()};
}

}  // namespace stoker
