#pragma once

namespace stoker {

// Subnormal numbers, as operands and as results, are zeros to this thread for as long as this lives. The
// moments of weights that get no gradient any more decay until they are subnormal, and stick there (0.9 times
// the least of them rounds to itself); on x86 each one costs a hundred times what another number does.
class FlushToZero {
 public:
  FlushToZero();
  ~FlushToZero();
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  bool before_;
};

bool flushes_to_zero();  // this thread
// From now on, for threads that do nothing else.
void set_flush_to_zero(bool on);

}  // namespace stoker
