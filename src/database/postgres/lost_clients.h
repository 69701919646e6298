#pragma once

#include <optional>
#include <string>
#include <vector>

// How a server ends the query of a client that is gone. A reader that is killed cannot cancel its query, and
// a server otherwise notices only when it has rows to send.
namespace stoker::database {

// Set for a process and those that it starts: the seconds in which its reader of a query must be done. The
// service sets it, because its readers are killed after that.
constexpr const char* query_seconds_variable = "STOKER_QUERY_SECONDS";
std::optional<double> seconds_of_queries();

// The statements that have a server of this version (140002 is 14.2) end such a query, the best first; the
// first that it accepts is enough. Servers before version 14, and those on systems that cannot look at a
// connection, have a time limit alone. A lower limit that the server or the role has stays.
std::vector<std::string> statements_for_lost_clients(int server_version, std::optional<double> seconds);

}  // namespace stoker::database
