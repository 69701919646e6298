#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

// What processes and folders take, as far as the system tells.
namespace stoker {

// In memory, of all processes that descend from this one. Pages that several share count once.
std::uint64_t memory_below(pid_t process);

// Of regular files in the folder and those in it; what cannot be looked at counts nothing.
std::uint64_t bytes_of_files_below(const std::filesystem::path& folder);

}  // namespace stoker
