#pragma once

#include <filesystem>
#include <string>

#include "serve/service.h"
#include "store/runs.h"

namespace stoker::serve {

// The folder of a run of that name; throws NotFound for what is none, or a link.
std::filesystem::path run_folder_named(Service& service, const std::string& id);

// The job that made a run, or the sweep whose winner it is; "": nobody.
std::string owner_of_run(Service& service, const std::string& id);

}  // namespace stoker::serve
