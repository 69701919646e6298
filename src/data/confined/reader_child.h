#pragma once

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace stoker {

// The word by which this program is started as the child of confined_reader.h.
constexpr const char* reader_child_word = "--reader";

// The file in the scratch folder that rows are handed over in.
constexpr const char* name_of_rows = "rows.arrow";

// Requests that modules above this one add to those of the child, by the name in the request's `do`.
using ReaderRequests = std::map<std::string, std::function<nlohmann::json(const nlohmann::json& request)>>;

// Does what the parent asks for on the dialogue until the parent ends it.
ExitCode serve_as_reader_child(const ReaderRequests& more = {});

}  // namespace stoker
