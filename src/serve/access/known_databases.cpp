#include "serve/access/known_databases.h"

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process/stop.h"
#include "base/text/text.h"
#include "database/postgres/postgres_connection.h"
#include "database/postgres/role_rights.h"

namespace stoker::serve {
namespace {

bool is_database_address(const std::string& value) {
  const std::string start = lower_case(value.substr(0, 13));
  return start.starts_with("postgres://") || start.starts_with("postgresql://") || start.starts_with("host=");
}

// What is wrong with a connection. It is refused in words of our own, because the server's show the address.
std::optional<std::string> warning_of(const std::string& address, const std::string& called) {
  const StopSignal never;
  try {
    database::PostgresConnection connection(address, "", never);
    database::refuse_privileged_role(connection);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.cause() == Cause::request) refuse("{}: {}", called, error.what());
    return fmt::format("{}: its database cannot be reached now, so its role is checked when it is used",
                       called);
  }
}

}  // namespace

std::vector<std::string> check_known_databases(const std::vector<AllowedVariable>& variables) {
  std::vector<std::string> warnings;
  const auto check = [&](const std::string& address, const std::string& called) {
    if (auto warning = warning_of(address, called)) warnings.push_back(std::move(*warning));
  };
  for (const AllowedVariable& each : variables) {
    const char* const value = std::getenv(each.name.c_str());
    if (value != nullptr && is_database_address(value)) check(value, "--allow-variable " + each.name);
  }
  const bool libpq_names_host = std::getenv("PGHOST") != nullptr || std::getenv("PGHOSTADDR") != nullptr ||
                                std::getenv("PGSERVICE") != nullptr;
  if (libpq_names_host) check("", "--allow-databases: the address in PGHOST");
  return warnings;
}

}  // namespace stoker::serve
