#pragma once

#include <functional>

#include "kernels/launch.h"

struct CUgraphExec_st;

namespace stoker::fused::experts {

// Launches that were recorded once and are repeated by one call of the host. What they read and write must
// stay where it is.
class CapturedSteps {
 public:
  CapturedSteps() = default;
  // `launch` puts its work into the stream.
  CapturedSteps(kernels::Stream stream, const std::function<void()>& launch);
  CapturedSteps(CapturedSteps&& other) noexcept;
  CapturedSteps& operator=(CapturedSteps&& other) noexcept;
  ~CapturedSteps();

  bool is_there() const { return graph_ != nullptr; }
  void launch(kernels::Stream stream) const;

 private:
  CUgraphExec_st* graph_ = nullptr;
};

}  // namespace stoker::fused::experts
