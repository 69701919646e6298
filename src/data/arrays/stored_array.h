#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/array.h"

// Arrays of numbers that lie in files: known by shape, and not yet read.
namespace stoker {

enum class StoredType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
};
std::size_t size_of(StoredType type);

// Numbers one behind the other in a file.
struct StoredNumbers {
  std::filesystem::path file;
  std::int64_t begin = 0;  // byte of the first
  StoredType type = StoredType::float32;
  bool is_big_endian = false;
};

// Numbers `first` to `first + count` as float32. Refuses a file that ends before.
void read_numbers(const StoredNumbers& from, std::int64_t first, std::int64_t count, float* to);

struct StoredArray {
  std::string name;  // in its file; "" where that holds nothing else
  Shape shape;
  // Slices `first` to `first + count` along the first dimension, in row-major order. From several threads at
  // once.
  std::function<void(std::int64_t first, std::int64_t count, float* to)> read;
  std::optional<StoredNumbers> floats = {};  // where its bytes are what is wanted already
  std::string problem = {};                  // why it cannot be read, of one among others
};

// Numbers of that shape, all together and of one slice along the first dimension; refuses a shape without
// any, and more than `most`, for which there are bytes. `shown` names the array to people.
std::int64_t size_of_shape(const Shape& shape, std::int64_t most, const std::string& shown);
std::int64_t size_of_slice(const Shape& shape);
std::string shape_text(const Shape& shape);  // "2 x 3"

// Arrays of an .npy file (one) or an .npz file, and of an HDF5 file those of a group. Nothing is read but
// what tells of them; refuses Python objects and what is shorter than it says.
StoredArray npy_array(const std::filesystem::path& file, const std::string& shown);
std::vector<StoredArray> npz_arrays(const std::filesystem::path& file, const std::string& shown);
// Of several arrays, those that cannot be read have a problem. `key` is a dataset or a group, which may have
// none; "": the root. Arrays whose values are in other files are rejected unless `follow_external`.
std::vector<StoredArray> hdf5_arrays(const std::filesystem::path& file, const std::string& key,
                                     const std::string& shown, bool follow_external);

}  // namespace stoker
