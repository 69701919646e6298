#pragma once

#include <string>

namespace stoker::database {

class PostgresConnection;

// Set to "1" for a process and those that it starts, PostgreSQL is read only with roles that have no rights
// on the server's files and programs. The service sets it, because clients write queries.
constexpr const char* plain_roles_variable = "STOKER_PLAIN_ROLES_ONLY";
bool reads_with_plain_roles_only();

// Refuses a role that is a superuser, may read or write files of the server or run programs there, or may
// become such a role.
void refuse_privileged_role(PostgresConnection& connection);

}  // namespace stoker::database
