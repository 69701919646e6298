#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/process/stop.h"
#include "train/group/many.h"

// Several trainings at once, whoever wants them: the candidates of a sweep, the members of an ensemble.
namespace stoker {

// As long as it lives, engines take at most so many cores each: others train beside them.
class CpuThreadLimit {
 public:
  explicit CpuThreadLimit(int most);
  CpuThreadLimit(const CpuThreadLimit&) = delete;
  CpuThreadLimit& operator=(const CpuThreadLimit&) = delete;
  ~CpuThreadLimit();
};

// Calls work(0) … work(count - 1) on so many threads. When one throws, `stop` is set, so that the others keep
// what they have, and the first error is thrown when all have come back.
void work_side_by_side(std::int64_t count, int threads, StopSignal& stop,
                       const std::function<void(std::int64_t)>& work);

// The same for work that may need more memory than so many threads can have at once. An item that throws
// OutOfMemory while others are under way is done again later, from its beginning, and one thread fewer goes
// on. `is_alone` is true once one thread is left; then OutOfMemory is thrown.
void work_within_memory(std::int64_t count, int threads, StopSignal& stop,
                        const std::function<void(std::int64_t item, bool is_alone)>& work);

// All of one group_key(): together on one device where its engine can, else one after the other for as long
// as `goes_on` says so; the first is always trained. Throws what train_member() throws.
void train_side_by_side(std::span<const Member> members, EngineChoice choice, const StopSignal& stop,
                        const MemberEnded& ended, const std::function<bool()>& goes_on);

// How many trainings like one that took so much of a GPU's memory go on there at once, each from a thread of
// the host: as many as there are cores and as fit what is free now with a tenth to spare. More than a few
// bring nothing.
int trainings_on_gpu(Device device, const MemoryUse& of_one);

// What kernels can be compiled for ahead of the training: the requests without their data.
std::vector<EngineRequest> shapes_of(std::span<const Member> members);

}  // namespace stoker
