#include "database/postgres/role_rights.h"

#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "database/postgres/postgres_connection.h"

namespace stoker::database {
namespace {

// A query can become any role that its own is a member of, by set_config('role', …). The role of the session
// counts as well: a query can go back to it.
constexpr const char* privileged_roles =
    "SELECT CASE WHEN each.rolsuper THEN 'a superuser' ELSE 'a member of ' || each.rolname END "
    "FROM pg_catalog.pg_roles AS each "
    "WHERE (each.rolsuper OR each.rolname IN ('pg_read_server_files', 'pg_write_server_files', "
    "'pg_execute_server_program')) AND (pg_catalog.pg_has_role(session_user, each.oid, 'MEMBER') OR "
    "pg_catalog.pg_has_role(current_user, each.oid, 'MEMBER')) ORDER BY each.rolsuper DESC, 1 LIMIT 1";

// These are granted one by one too.
constexpr const char* privileged_functions =
    "SELECT 'allowed to call ' || each.proname FROM pg_catalog.pg_proc AS each "
    "WHERE each.pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND "
    "each.proname IN ('pg_read_file', 'pg_read_binary_file', 'lo_import', 'lo_export') AND "
    "(pg_catalog.has_function_privilege(session_user, each.oid, 'EXECUTE') OR "
    "pg_catalog.has_function_privilege(current_user, each.oid, 'EXECUTE')) ORDER BY 1 LIMIT 1";

}  // namespace

bool reads_with_plain_roles_only() {
  const char* const value = std::getenv(plain_roles_variable);
  return value != nullptr && std::string_view(value) == "1";
}

void refuse_privileged_role(PostgresConnection& connection) {
  for (const char* const question : {privileged_roles, privileged_functions}) {
    const auto rows = connection.rows_of(question);
    if (!rows.empty())
      refuse(
          "the PostgreSQL role of this address is {}, so queries of clients could read files of the database "
          "server; use a role that can only read the tables it is for",
          rows.front().at(0).value_or("privileged"));
  }
}

}  // namespace stoker::database
