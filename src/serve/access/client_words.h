#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the program says to who sits at the machine, as a client is told it: who asks over the network knows
// neither the folders of the server nor the options of a command line.
namespace stoker::serve {

using NamedPaths = std::vector<std::pair<std::string, std::string>>;  // a path, and what the client calls it

// Each path by its name.
std::string with_names(std::string text, const NamedPaths& names);
// Files of the data folder as requests name them: "uploads/wells.csv".
NamedPaths names_of_data(const std::filesystem::path& data);
std::string without_folder(std::string text, const std::filesystem::path& data);
// "set header to no (--header no)" without what stands in brackets; "--every-window: …" by the name that a
// request has for it, every_window.
std::string without_options(std::string_view text);

}  // namespace stoker::serve
