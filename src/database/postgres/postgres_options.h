#pragma once

#include <memory>
#include <string>

#include "database/postgres/postgres_library.h"

namespace stoker::database {

// The keywords of an address and their values, as libpq reads them.
using PostgresOptions = std::unique_ptr<ConnectionOption, void (*)(ConnectionOption*)>;

// Refuses what is no address, in words of our own: those of libpq repeat it. `called` is what it was given
// as.
PostgresOptions postgres_options(const std::string& address, const std::string& called);

// A message of the server or of libpq without the parts of an address that are not in `shown`, as which
// people know it: host, port, user and database.
std::string without_parts_of_address(std::string message, const std::string& address,
                                     const std::string& shown);

}  // namespace stoker::database
