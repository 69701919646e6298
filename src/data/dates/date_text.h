#pragma once

#include <string>

namespace stoker {

// A moment, in seconds since 1970 in UTC, as it is written in that form of dates; without one, as 2019-02-06,
// followed by the time of day unless that is midnight.
std::string date_text(double seconds, const std::string& form = "");

}  // namespace stoker
