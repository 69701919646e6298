#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/arrays/stored_array.h"
#include "data/source/source_config.h"

// Cubes in ENVI form: a text, the header, and a file of numbers beside it.
namespace stoker {

enum class Interleave { bsq, bil, bip };

struct EnviHeader {
  std::int64_t samples = 0;  // pixels of a line
  std::int64_t lines = 0;
  std::int64_t bands = 0;
  StoredType type = StoredType::uint8;
  bool is_big_endian = false;
  std::int64_t header_offset = 0;
  Interleave interleave = Interleave::bsq;
  std::vector<double> wavelengths;  // in nm; none where they are not told
  std::string wavelength_note;      // what is to be told of them
  std::optional<double> scale_factor;
  std::optional<double> ignore_value;
  std::map<int, std::string> classes;  // of a classification
  bool is_spectral_library = false;    // a spectrum in each line
};

// Refuses what lacks a field, has one twice or says something impossible; `shown` names it to people.
EnviHeader parse_envi_header(const std::string& text, const std::string& shown);

// Whether a name ends as headers or files of numbers in this form do.
bool is_envi_name(const std::filesystem::path& file);

// Of a file that is called as files of numbers are: its header, where one lies beside it.
std::optional<std::filesystem::path> envi_header_of(const std::filesystem::path& numbers);

struct EnviCube {
  StoredArray array;  // [lines, samples, bands]
  EnviHeader header;
  std::filesystem::path header_file;
  std::filesystem::path data_file;
  std::int64_t stored_numbers = 0;  // in that file, which may be more than the header asks for
};
// Of the path of its header or of its numbers; the other is found beside it.
EnviCube envi_cube(const std::filesystem::path& file, CubeProcessing processing, const std::string& shown);

}  // namespace stoker
