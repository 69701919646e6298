#include "train/rows/row_copies.h"

namespace stoker {

Dataset RowCopies::of(const Dataset& dataset, Memory memory, Device device) {
  Dataset copy = dataset;
  for (DatasetArray& each : copy.arrays) {
    each.array = of(each.array, memory, device);
    if (each.has_windows()) each.starts = each.starts.to(memory, device);
  }
  return copy;
}

std::uint64_t RowCopies::bytes_on(Device device) const {
  std::uint64_t bytes = 0;
  for (const Copy& each : copies_)
    if (each.to.memory() == Memory::device && each.to.device() == device) bytes += each.to.bytes();
  return bytes;
}

Array RowCopies::of(const Array& array, Memory memory, Device device) {
  for (const Copy& each : copies_)
    if (each.from.data() == array.data() && each.from.shape() == array.shape() &&
        each.from.type() == array.type() && each.to.memory() == memory)
      return each.to;
  copies_.push_back({array, array.to(memory, device)});
  return copies_.back().to;
}

}  // namespace stoker
