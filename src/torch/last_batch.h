#pragma once

#include <cstdint>

namespace stoker::torch_door {

// How the last batch of an epoch is trained on where it is smaller than the others: as a step of its own size
// or, padded with rows that do not count, as a step like the others.
enum class LastBatch { as_it_pays, cut, padded };

// A captured step of another size is another graph, with all of its memory. A padded one needs neither and
// takes as long as a full one, which may be at most an eighth of an epoch's rows more than there are.
inline bool padding_pays(std::int64_t rows, std::int64_t batch_size) {
  const std::int64_t padding = batch_size - rows % batch_size;
  return padding <= rows / 8;
}

}  // namespace stoker::torch_door
