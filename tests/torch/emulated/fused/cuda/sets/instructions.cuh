#pragma once

#include "fused/cuda/ptx.cuh"

// Those of src/fused/cuda/sets/instructions.cuh.
namespace stoker::fused::sets {

inline void multiply_add(float (&c)[4], const Word (&a)[2], Word b) {
  Multiplied<8> mine{c, a, {b, 0}};
  emulated::with_warp<Multiplied<8>, multiply_together<8>>(mine);
}
using fused::multiply_add;

inline Word pack_held(float low, float high) {
  return pack(std::clamp(low, -65504.0F, 65504.0F), std::clamp(high, -65504.0F, 65504.0F));
}

inline int anew(int number) {
  return number;
}

}  // namespace stoker::fused::sets
