#include "kernels/place.h"

#include "base/error.h"

namespace stoker::kernels {

void check_launch(LaunchError error, const char* kernel) {
  if (error != nullptr) fail("CUDA: starting the kernel '{}' failed: {}", kernel, error);
}

}  // namespace stoker::kernels
