#pragma once

#include <filesystem>
#include <string>

#include "pipeline/card/port.h"

namespace stoker {

// A value of a port as a file of the cache: a table as Arrow IPC, a model as its folder, arrays as
// safetensors, the rest as JSON.
std::string port_file_name(const Port& port);
void write_port_value(const PortValue& value, const Port& port, const std::filesystem::path& folder);
// Refuses a file that is damaged.
PortValue read_port_value(const Port& port, const std::filesystem::path& folder);

}  // namespace stoker
