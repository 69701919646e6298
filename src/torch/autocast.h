#pragma once

#include "engine/engine.h"

namespace stoker::torch_door {

// While it lives, LibTorch's operations on the device take operands of that precision where that is safe, as
// torch.autocast does; for fp32 and tf32 nothing changes. Casts are not kept from one operation to the next:
// a captured step would replay them with old weights.
class Autocast {
 public:
  Autocast(Device device, Precision precision);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  Device device_;
  bool is_on_;
  bool kept_casts_ = false;
};

inline bool has_16_bits(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

}  // namespace stoker::torch_door
