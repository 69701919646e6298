#pragma once

#include <cstdint>

#include <sys/types.h>

namespace stoker {

// Of all processes that descend from this one, as far as the system tells. Pages that several share count
// once.
std::uint64_t memory_below(pid_t process);

}  // namespace stoker
