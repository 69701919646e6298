#pragma once

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
