#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::serve {

// A line on standard error of what happened to the service: time=… event=… and what else there is to say, as
// name=value. Nobody's secrets belong here.
void log_event(std::string_view event, const std::vector<std::pair<std::string_view, std::string>>& details);

// The line without its time.
std::string log_text(std::string_view event,
                     const std::vector<std::pair<std::string_view, std::string>>& details);

}  // namespace stoker::serve
