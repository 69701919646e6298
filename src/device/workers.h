#pragma once

#include <cstdint>
#include <functional>

namespace stoker {

// Calls work(0) … work(count - 1) on `threads` threads, the caller's included, and rethrows the first error.
// Which thread takes which item never shows in a result: items must not depend on each other.
void share_among_threads(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

// Cores for one of the threads that share them, while it works: all of the machine's where no items are
// shared.
int cores_to_share();

// The same on as many threads as there are cores to share: within an item of another such call, no more than
// the threads beside it leave.
void share_among_cores(std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace stoker
