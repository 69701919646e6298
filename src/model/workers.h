#pragma once

#include <cstdint>
#include <functional>

namespace stoker {

// Calls work(0) … work(count - 1) on `threads` threads, the caller's included, and rethrows the first error.
// Which thread takes which item never shows in a result: items must not depend on each other.
void share_among_threads(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

// The same on as many threads as the machine has cores.
void share_among_cores(std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace stoker
