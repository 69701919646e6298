#pragma once

#include <filesystem>
#include <string>

namespace stoker {

// The exit code says that the request was wrong, which names where to read and write; the cause, that it may
// be right another time.
[[noreturn]] void refuse_of_machine(const std::string& message, int error);
// A request cannot be carried out because of what it wants to read, or where it wants to write. `error` is
// the system's.
[[noreturn]] void refuse_read(const std::filesystem::path& path, int error);
[[noreturn]] void refuse_write(const std::filesystem::path& path, int error);

}  // namespace stoker
