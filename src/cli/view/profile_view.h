#pragma once

#include "cli/view/terminal.h"
#include "pipeline/run/profile.h"

namespace stoker::cli {

// Where the time went, as lines for people and as an object for programs.
Pieces profile_text(const Profile& profile);
nlohmann::json profile_json(const Profile& profile);

}  // namespace stoker::cli
