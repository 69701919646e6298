#pragma once

#include <cstdint>
#include <vector>

#include "data/placement/dataset.h"

namespace stoker {

// Copies of datasets in other memory. What several have in common, as the lines of cubes that are split, is
// copied once, and what was copied ahead of time is not copied again.
class RowCopies {
 public:
  Dataset of(const Dataset& dataset, Memory memory, Device device);
  std::uint64_t bytes_on(Device device) const;

 private:
  struct Copy {
    Array from;  // held, so that no other can have its place
    Array to;
  };
  Array of(const Array& array, Memory memory, Device device);

  std::vector<Copy> copies_;
};

}  // namespace stoker
