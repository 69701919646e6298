#pragma once

#include <functional>
#include <utility>

#include "kernels/launch.h"

namespace stoker::fused::experts {

// That of src/fused/cuda/experts/captured_steps.h. What is recorded runs when it is launched, not before.
class CapturedSteps {
 public:
  CapturedSteps() = default;
  CapturedSteps(kernels::Stream, std::function<void()> launch) : launch_(std::move(launch)) {}
  bool is_there() const { return launch_ != nullptr; }
  void launch(kernels::Stream) const { launch_(); }

 private:
  std::function<void()> launch_;
};

}  // namespace stoker::fused::experts
