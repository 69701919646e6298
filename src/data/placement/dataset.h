#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "device/array.h"

namespace stoker {

// What an array of a dataset is for.
enum class Role : std::uint8_t {
  features,
  targets,
  weights,
  mask,
  base,  // [rows] float64, in the target's unit: what the answers of each row are told relative to
};

// An array as whoever reads it expects it; `shape` is that of one row.
struct ArraySpec {
  std::string name;
  Role role = Role::features;
  DType type = DType::float32;
  Shape shape;
  // Of numbers of categories: how many values each column has, from 0 on. None: any numbers.
  std::vector<std::int64_t> sizes = {};

  bool operator==(const ArraySpec&) const = default;
};

// The numbers of a table's row, as most families read them.
ArraySpec table_features(DType type, std::int64_t columns);

// All arrays of a dataset have the same number of rows.
struct DatasetArray {
  std::string name;
  Role role = Role::features;
  Array array;  // [rows, ...]; with windows a series, [moments, ...]
  // Windows: each row is `length` moments of the series, from its start on. They may overlap, and cost one
  // number each.
  Array starts = {};  // int64 [rows]; empty: no windows
  std::int64_t length = 0;

  bool has_windows() const { return length > 0; }
  std::int64_t rows() const {
    const Shape& shape = (has_windows() ? starts : array).shape();
    return shape.empty() ? 0 : shape.front();  // a single number has no rows
  }
  Shape row_shape() const;
};

struct Dataset {
  std::vector<DatasetArray> arrays;

  std::int64_t rows() const { return arrays.empty() ? 0 : arrays.front().rows(); }
  const Array* find(Role role) const;
  const DatasetArray* find(std::string_view name) const;  // null when there is none
  const Array& features() const;                          // [rows, columns]
  const Array& targets() const;                           // [rows, 1] float, or [rows] int64 class numbers
  std::size_t bytes() const;
};

// A dataset where the engine reads it: in the device's memory if it fits, else pinned in the host's memory,
// from where a GPU reads rows over the bus. On the CPU it stays as it is.
struct Placement {
  Dataset dataset;
  Memory memory = Memory::host;
};
Placement place(const Dataset& dataset, Device device, const Notes& notes);

}  // namespace stoker
