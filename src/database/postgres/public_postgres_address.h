#pragma once

#include <string>

namespace stoker::database {

// An address that a client has written, as it is. Rejects sockets of this machine, and keywords that name
// files or other servers.
std::string postgres_address_of_client(const std::string& address);

// The same for a process that may connect to public addresses alone
// (base/address_rule.h): the address with the numbers of its hosts, so that libpq looks no name up
// again, which could lead elsewhere by then. Rejects hosts without a public address too.
std::string public_postgres_address(const std::string& address);

}  // namespace stoker::database
