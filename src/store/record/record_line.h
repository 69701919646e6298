#pragma once

#include <optional>
#include <string_view>

#include "store/runs.h"

namespace stoker {

// What a line about a run says, straight from the text of run.json: several times as fast as parsing all of
// it. Nothing for a run that goes on, and for what is not just as this Stoker writes it; the parser that can
// explain it is for that.
std::optional<RunRecord> line_of_record(std::string_view json);

}  // namespace stoker
