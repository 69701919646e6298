#pragma once

#include <string>
#include <vector>

#include "serve/access/allowed_variables.h"

namespace stoker::serve {

// Looks at the databases that the operator has named, before a client can use them: the addresses in allowed
// variables, and the one of libpq's own variables. Refuses a role with rights on the server's files. Returns
// warnings of those that cannot be reached now.
std::vector<std::string> check_known_databases(const std::vector<AllowedVariable>& variables);

}  // namespace stoker::serve
