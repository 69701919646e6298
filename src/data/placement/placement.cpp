#include <string>

#include "base/error.h"
#include "base/text/text.h"
#include "data/placement/dataset.h"

namespace stoker {
namespace {

Placement placed_in(const Dataset& dataset, Memory memory, Device device) {
  Placement placement;
  placement.memory = memory;
  for (const DatasetArray& part : dataset.arrays) {
    DatasetArray placed = part;
    placed.array = part.array.to(memory, device);
    if (part.has_windows()) placed.starts = part.starts.to(memory, device);
    placement.dataset.arrays.push_back(std::move(placed));
  }
  return placement;
}

}  // namespace

Placement place(const Dataset& dataset, Device device, const Notes& notes) {
  if (!device.is_cuda()) return placed_in(dataset, Memory::host, Device::cpu());
  try {
    return placed_in(dataset, Memory::device, device);
  } catch (const OutOfMemory& error) {
    notes(Severity::warning,
          fmt::format("the data ({}) does not fit into the memory of {}: it stays pinned "
                      "in the host's memory, from which the device reads it more slowly ({})",
                      human_bytes(dataset.bytes()), device.name(), error.what()));
  }
  return placed_in(dataset, Memory::pinned, device);
}

}  // namespace stoker
