#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker::config {

// As dump() writes it, with bytes that are no UTF-8 replaced. Long texts in which nothing is to be escaped,
// such as the numbers of a cube in base64, are copied at one go.
std::string json_text(const nlohmann::json& value);

}  // namespace stoker::config
