#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace stoker {

// Bytes that the environment has a memory pass for, so that a large dataset can be tried out with a small
// one; none where the variable is not set. Refuses what is no number of bytes.
std::optional<std::uint64_t> bytes_in_environment(const char* variable);

// What this process can still have of the host's memory: what the system has free or could free, and what its
// control group leaves it. What the system keeps of files counts as free.
std::uint64_t free_host_memory();

// What control groups leave, of version 1 or 2 and at every level that has a limit; none where none has.
// `process` is the file that says which groups these are, `tree` where they are mounted.
std::optional<std::uint64_t> room_in_control_groups(const std::filesystem::path& process,
                                                    const std::filesystem::path& tree);

}  // namespace stoker
