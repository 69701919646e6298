#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"
#include "device/array.h"

namespace stoker {

// What an array of a dataset is for. All arrays of a dataset have the same first dimension.
enum class Role : std::uint8_t { features, targets, weights, mask };

struct DatasetArray {
  std::string name;
  Role role = Role::features;
  Array array;
};

struct Dataset {
  std::vector<DatasetArray> arrays;

  std::int64_t rows() const { return arrays.empty() ? 0 : arrays.front().array.dimension(0); }
  const Array* find(Role role) const;
  const Array& features() const;  // [rows, columns]
  const Array& targets() const;   // [rows, 1] float, or [rows] int64 class numbers
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
