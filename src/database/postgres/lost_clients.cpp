#include "database/postgres/lost_clients.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace stoker::database {

std::optional<double> seconds_of_queries() {
  const char* const value = std::getenv(query_seconds_variable);
  const double seconds = value == nullptr ? 0 : std::strtod(value, nullptr);
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::vector<std::string> statements_for_lost_clients(int server_version, std::optional<double> seconds) {
  constexpr int first_version_that_looks = 140'000;
  std::vector<std::string> statements;
  if (server_version >= first_version_that_looks)
    statements.emplace_back("SET client_connection_check_interval = '1s'");
  if (!seconds) return statements;
  constexpr double most_milliseconds = 2'147'483'647;  // that the setting takes; 0 is none
  const double limit = std::clamp(std::ceil(*seconds * 1000), 1.0, most_milliseconds);
  statements.push_back(fmt::format(
      "SELECT pg_catalog.set_config('statement_timeout', '{0:.0f}', false) FROM pg_catalog.pg_settings "
      "WHERE name = 'statement_timeout' AND (setting = '0' OR setting::bigint > {0:.0f})",
      limit));
  return statements;
}

}  // namespace stoker::database
