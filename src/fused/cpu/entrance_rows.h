#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/array.h"
#include "fused/cpu/step.h"
#include "model/network/entrance.h"

// Rows on their way into the first layer of a network that does not read them as they stand, and what comes
// back.
namespace stoker::fused_cpu {

// Where the numbers of an entrance lie in the flat buffers, behind the layers that end at network.size, which
// grows by them.
struct EntrancePlaces {
  std::vector<std::int64_t> categories;  // [size][width] of each
};
EntrancePlaces place_entrance(const Entrance& entrance, Network& network);

// Named parameters to their places in a flat buffer and back, as pack() does it for the layers.
void pack_entrance(const Entrance& entrance, const Network& network, const EntrancePlaces& places,
                   const NamedArrays& arrays, const std::string& prefix, Array& flat);
void append_unpacked_entrance(const Entrance& entrance, const Network& network, const EntrancePlaces& places,
                              const Array& flat, const std::string& prefix, NamedArrays& arrays);

// What a slice of a batch takes beside its layers.
class EntranceSpace {
 public:
  EntranceSpace(const Entrance& entrance, const Network& network, std::int64_t rows);

  void show(Workspace& space);  // its buffers
  float* numbers_of(std::int64_t row) { return numbers_.as<float>().data() + row * entrance_.numbers; }
  std::int64_t* codes_of(std::int64_t row) {
    return codes_.data() + row * static_cast<std::int64_t>(entrance_.categories.size());
  }

 private:
  Entrance entrance_;
  Array numbers_;
  Array waves_;
  Array input_deltas_;
  Array deltas_;
  Array turned_;
  std::vector<std::int64_t> codes_;
};

// Row `source` of a dataset as row `row` of the slice: all but what the kernels embed. `learnt` has the edges
// of bins and the values of categories.
struct LearntValues {
  const float* edges = nullptr;
  std::vector<const float*> categories;
};
void put_row(const EnteringRows& rows, const LearntValues& learnt, std::int64_t source, std::int64_t row,
             std::int64_t stride, EntranceSpace& entered, Workspace& space);

// Gradients of the categories of `rows` rows, from the deltas of the first layer's inputs.
void sum_categories(const Entrance& entrance, const Network& network, const EntrancePlaces& places,
                    std::int64_t rows, EntranceSpace& entered, Workspace& space, bool adds);

}  // namespace stoker::fused_cpu
