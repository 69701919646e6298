#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

// NumPy's .npy: a magic, a version, the length of a header, the header (a Python dictionary of three known
// keys, here parsed as exactly that and never evaluated), and the numbers.
namespace stoker {

struct NpyHeader {
  std::string descr;  // type of the numbers, as NumPy writes it: "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  // none below 0; their product may be anything
  std::int64_t begin = 0;           // of the numbers, from the start of the stream
};

// Refuses what is no such header; `file` names it to people. The stream is left where the numbers begin.
NpyHeader read_npy_header(std::istream& stream, const std::string& file);

}  // namespace stoker
