#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/process/stop.h"
#include "data/confined/reader_reach.h"
#include "data/source/source_config.h"
#include "data/source/source_reader.h"

// Files of other people are read in a child process that can reach nothing else (base/process/confinement.h).
// A damaged file that crashes a library ends that child alone, and a file made to take a library over finds
// neither a network nor other files.
namespace stoker {

// True if confined_readers_variable is set.
bool confines_readers();
// Samples and standard input are this process's own, and datasets on record consist of other sources.
bool is_read_confined(const SourceConfig& config);

// The same as the kind's own reader, opened in a child.
OpenedSource open_confined(const SourceConfig& config, const std::filesystem::path& base,
                           const StopSignal* stop);
// What refresh_query answers.
std::string answer_confined(const SourceConfig& config, const std::filesystem::path& base,
                            const StopSignal* stop);
// Of a file, by what it holds.
SourceKind kind_of_file_confined(const std::filesystem::path& file);

// What cube_archive.h does.
bool is_cube_archive_confined(const std::filesystem::path& archive, const std::string& shown);
bool has_arrays_alone_confined(const std::filesystem::path& archive, const std::string& shown);
std::string unpack_cubes_confined(const std::filesystem::path& archive, const std::string& shown,
                                  const std::filesystem::path& folder, std::uint64_t most_bytes);

// Has a child that can read this file, and write into these folders, do one of its ReaderRequests. It adds
// the file to the request.
nlohmann::json ask_confined(const std::filesystem::path& file, const std::string& shown,
                            nlohmann::json request, std::vector<std::filesystem::path> writable);

}  // namespace stoker
