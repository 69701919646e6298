#pragma once

#include <cstdlib>

namespace stoker::test {

// STOKER_FP32 for as long as this lives.
class WantedFp32Kernel {
 public:
  explicit WantedFp32Kernel(const char* name) { setenv("STOKER_FP32", name, 1); }
  ~WantedFp32Kernel() { unsetenv("STOKER_FP32"); }
  WantedFp32Kernel(const WantedFp32Kernel&) = delete;
  WantedFp32Kernel& operator=(const WantedFp32Kernel&) = delete;
};

}  // namespace stoker::test
