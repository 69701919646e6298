#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "serve/service.h"

namespace stoker::serve {

// Throws NotFound.
JobRecord job_named(Service& service, const std::string& id);

// A job as answers have it; whole: with its document, its request and how far it is.
nlohmann::json job_view(Service& service, const JobRecord& job, bool whole);

}  // namespace stoker::serve
