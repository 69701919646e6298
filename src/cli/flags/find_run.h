#pragma once

#include <filesystem>
#include <string>

#include "store/runs.h"

namespace stoker::cli {

// A run as people name it: the path of its folder, its id, the beginning of its id, or "latest". Ids are
// looked for under `out`.
ListedRun run_named(const std::string& name, const std::filesystem::path& out);

// The folder of a sweep, named likewise; latest is the newest sweep.
std::filesystem::path sweep_named(const std::string& name, const std::filesystem::path& out);

// The model folder that is meant: itself, that of a run folder, or that of a run by its id.
std::filesystem::path model_named(const std::string& name, const std::filesystem::path& out);

}  // namespace stoker::cli
