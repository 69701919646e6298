#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "device/array.h"

namespace stoker {

// The safetensors format (8-byte header length, JSON header, data), readable by the Python package of that
// name. Written atomically. Reading refuses truncated, overlapping, oversized and foreign files by name.
void write_safetensors(const std::filesystem::path& path, const NamedArrays& arrays,
                       const std::map<std::string, std::string>& metadata = {});
NamedArrays read_safetensors(const std::filesystem::path& path);

}  // namespace stoker
