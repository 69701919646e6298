#include "data/cubes/cubes_files.h"

#include <fstream>
#include <span>
#include <string>
#include <system_error>

#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "data/cubes/cubes.h"
#include "data/format/npy_header.h"
#include "data/memory/mapped_file.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* cubes_key = "stoker.cubes";
constexpr std::size_t largest_cube_facts = std::size_t{1} << 30;

fs::path cube_file_beside(const fs::path& path, const char* what) {
  return path.parent_path() / fmt::format("{}.{}", path.stem().string(), what);
}

// Parts of a split have the same cubes: one file is enough for them. Files of the cache are never changed,
// only replaced.
void write_values(const Array& array, const fs::path& kept, const fs::path& path) {
  std::error_code failed = std::make_error_code(std::errc::no_such_file_or_directory);
  if (!kept.empty()) fs::create_hard_link(kept, path, failed);
  if (failed) write_npy(array, path);
}

Array mapped_values(const fs::path& path, DType type, std::size_t dimensions) {
  std::ifstream stream(path, std::ios::binary);
  const NpyHeader header = read_npy_header(stream, path.string());
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type));
  bool is_sound = header.shape.size() == dimensions && !header.fortran_order &&
                  header.descr == (type == DType::uint8 ? "|u1" : "<f4") &&
                  header.begin % static_cast<std::int64_t>(size_of(type)) == 0;
  for (const std::int64_t each : header.shape)
    is_sound = is_sound && each > 0 && !__builtin_mul_overflow(bytes, each, &bytes);
  if (!is_sound) refuse("a table of cubes is damaged: {} does not hold what it should", path.string());
  return Array::over(type, header.shape, mapped_bytes(path, header.begin, bytes));
}

json facts_json(const Cubes& cubes) {
  json facts = json::array();
  for (const CubeFacts& each : cubes.facts)
    facts.push_back({each.lowest, each.highest, each.has_values, each.nan_pixels, each.infinite_pixels,
                     each.masked_pixels, each.has_mask});
  json classes = json::array();
  for (const auto& [number, name] : cubes.classes) classes.push_back({number, name});
  return {{"names", cubes.names},
          {"wavelengths", cubes.wavelengths},
          {"facts", std::move(facts)},
          {"classes", std::move(classes)},
          {"masks", cubes.has_masks()}};
}

void take_facts(const json& told, Cubes& cubes) {
  told.at("names").get_to(cubes.names);
  told.at("wavelengths").get_to(cubes.wavelengths);
  for (const json& each : told.at("facts"))
    cubes.facts.push_back({.lowest = each.at(0),
                           .highest = each.at(1),
                           .has_values = each.at(2),
                           .nan_pixels = each.at(3),
                           .infinite_pixels = each.at(4),
                           .masked_pixels = each.at(5),
                           .has_mask = each.at(6)});
  for (const json& each : told.at("classes")) cubes.classes[each.at(0).get<int>()] = each.at(1);
}

void refuse_cubes_unlike(const Table& table, const Cubes& cubes) {
  const auto count = static_cast<std::size_t>(cubes.count());
  bool is_sound = cubes.names.size() == count && cubes.facts.size() == count;
  if (cubes.has_masks())
    is_sound = is_sound && cubes.masks.shape() == Shape{cubes.count(), cubes.height(), cubes.width()};
  if (!cubes.wavelengths.empty()) is_sound = is_sound && std::ssize(cubes.wavelengths) == cubes.channels();
  for (std::int64_t row = 0; row < table.rows() && is_sound; ++row) {
    const std::int64_t cube = cube_of(table, row);
    is_sound = cube >= 0 && cube < cubes.count();
  }
  if (!is_sound) refuse("a table of cubes is damaged: its rows and its cubes do not match");
}

}  // namespace

void tell_of_cubes(const Table& table, arrow::KeyValueMetadata& metadata) {
  if (table.cubes) metadata.Append(cubes_key, "beside");
}

// As NumPy itself writes it, so that the numbers begin at a multiple of 64 bytes.
std::string npy_start(DType type, const Shape& shape) {
  std::string sizes;
  for (const std::int64_t each : shape) sizes += fmt::format("{}, ", each);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   type == DType::uint8 ? "|u1" : "<f4", sizes);
  constexpr std::size_t before = 10;
  while ((before + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xffU);
  start += static_cast<char>(header.size() >> 8U);
  return start + header;
}

void write_npy(const Array& array, const fs::path& path) {
  AtomicFile file(path);
  file.write(npy_start(array.type(), array.shape()));
  file.write(std::span(static_cast<const std::byte*>(array.data()), array.bytes()));
  file.commit();
}

void write_cubes_beside(const Table& table, const fs::path& path) {
  if (!table.cubes) return;
  const Cubes& cubes = *table.cubes;
  write_values(cubes.values, cubes.values_file, cube_file_beside(path, "cubes.npy"));
  if (cubes.has_masks()) write_values(cubes.masks, cubes.masks_file, cube_file_beside(path, "masks.npy"));
  write_file(cube_file_beside(path, "cubes.json"),
             facts_json(cubes).dump(-1, ' ', false, json::error_handler_t::replace));
}

void take_cubes(Table& table, const arrow::KeyValueMetadata& metadata, const fs::path& path) {
  if (!metadata.Contains(cubes_key)) return;
  auto cubes = std::make_shared<Cubes>();
  try {
    const json told = json::parse(read_file(cube_file_beside(path, "cubes.json"), largest_cube_facts));
    take_facts(told, *cubes);
    cubes->values_file = cube_file_beside(path, "cubes.npy");
    cubes->values = mapped_values(cubes->values_file, DType::float32, 4);
    if (told.at("masks").get<bool>()) {
      cubes->masks_file = cube_file_beside(path, "masks.npy");
      cubes->masks = mapped_values(cubes->masks_file, DType::uint8, 3);
    }
  } catch (const json::exception& error) {
    refuse("a table of cubes is damaged: {}", error.what());
  }
  refuse_cubes_unlike(table, *cubes);
  table.cubes = std::move(cubes);
}

}  // namespace stoker
