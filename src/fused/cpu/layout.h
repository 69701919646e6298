#pragma once

#include <string>

#include "device/array.h"
#include "fused/cpu/entrance_rows.h"
#include "fused/cpu/step.h"
#include "fused/cpu/zeros.h"
#include "model/network/mlp.h"

namespace stoker::fused_cpu {

// The layers of a network with the places of their numbers in the flat buffers; the buffers are not set.
struct LaidNetwork {
  Network network;
  EntrancePlaces entrance;
};
LaidNetwork network_of(const MlpShape& shape);
std::int64_t transposed_size(const Network& network);

// A layer by the names of its arrays. What enters it may lie in sections of so many values, each padded to
// whole panels; 0: it does not.
struct NamedLayer {
  std::string weight;
  std::string bias;
  std::int64_t inputs = 0;  // without the padding
  std::int64_t section = 0;
};
// Between the numbers of a layer in a flat buffer, of which its places are counted from, and those of
// torch.nn.Linear: weights [width, inputs] and biases [width].
void copy_into(const Layer& layer, const NamedLayer& named, const float* weights, const float* biases,
               float* flat);
void copy_out_of(const Layer& layer, const NamedLayer& named, const float* flat, float* weights,
                 float* biases);

void pack_layer(const Layer& layer, const NamedLayer& named, const NamedArrays& arrays,
                const std::string& prefix, Array& flat);
void append_unpacked_layer(const Layer& layer, const NamedLayer& named, const Array& flat,
                           const std::string& prefix, NamedArrays& arrays);

// An array of floats; refuses one that is missing or of another shape.
const Array& fitting_array(const NamedArrays& arrays, const std::string& name, const Shape& shape);

// Named parameters, as torch.nn.Linear lays them out, to their places in a flat buffer and back. Refuses
// arrays that are missing or of another shape.
void pack(const MlpShape& shape, const LaidNetwork& laid, const NamedArrays& arrays,
          const std::string& prefix, Array& flat);
void append_unpacked(const MlpShape& shape, const LaidNetwork& laid, const Array& flat,
                     const std::string& prefix, NamedArrays& arrays);

}  // namespace stoker::fused_cpu
