#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker::cli {

// What train/explain/explain_step.h tells, for people to read: each part of the step with some of its
// numbers.
std::string step_text(const nlohmann::json& explained);

}  // namespace stoker::cli
