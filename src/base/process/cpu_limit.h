#pragma once

#include <ctime>
#include <string>

namespace stoker {

// While it lives, the calling thread has `seconds` of CPU time, for work in a library that damaged input
// keeps busy without an end. Waiting takes no CPU time, so a busy machine makes no difference. A thread that
// exceeds the limit ends its process: with SIGXCPU, or, after explain_cpu_limits(), with `text` on standard
// error and the exit code of a wrong request.
class CpuLimit {
 public:
  CpuLimit(double seconds, const std::string& text);
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;
  ~CpuLimit();

 private:
  std::string text_;
  timer_t timer_ = nullptr;
};

void explain_cpu_limits();

}  // namespace stoker
