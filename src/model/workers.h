#pragma once

#include <cstdint>
#include <functional>

namespace stoker {

// Calls work(0) … work(count - 1) on the machine's cores, the caller's thread included, and rethrows the
// first error. Which thread takes which item never shows in a result: items must not depend on each other.
void share_among_cores(std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace stoker
