#pragma once

#include <cstdint>

#include "engine/engine.h"

namespace stoker::torch_door {

// Called once, when the library is opened: LibTorch's default is a thread per core for everything, however
// small. settle_cpu() raises the number before work that is large enough.
void begin_on_one_thread();
// Threads that operations called from this thread are divided among.
int threads_in_use();

// How LibTorch should go about work on the CPU that goes through so many multiply-adds at once, on at most so
// many threads (0: as many as pay); settings of the whole process, so made before every piece of work.
void settle_cpu(std::int64_t multiply_adds, int most_threads);
// Before every chunk of a training.
void settle_cpu_for(const EngineRequest& request);

// Rows that a step of the training takes at once, and the threads that are worth their cost for them.
std::int64_t rows_of_step(const EngineRequest& request);
int threads_for(const EngineRequest& request);

// While it lives, operations called from this thread are not divided among threads.
class OnOneThread {
 public:
  OnOneThread();
  ~OnOneThread();
  OnOneThread(const OnOneThread&) = delete;
  OnOneThread& operator=(const OnOneThread&) = delete;

 private:
  int before_;
  int before_in_products_;
};

// FlushToZero for the calling thread and for those that LibTorch shares its loops with; these take over the
// caller's own way again afterwards.
class FlushAllToZero {
 public:
  FlushAllToZero();
  ~FlushAllToZero();
  FlushAllToZero(const FlushAllToZero&) = delete;
  FlushAllToZero& operator=(const FlushAllToZero&) = delete;

 private:
  bool before_;
};

// At most so many threads per chunk from now on, for callers who run models beside each other; 0: no limit.
void limit_threads(int most);

}  // namespace stoker::torch_door
