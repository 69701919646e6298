#pragma once

#include <cstdint>

namespace stoker {

// What this process has in memory now; 0 where the system does not say.
std::uint64_t resident_memory_bytes();

}  // namespace stoker
