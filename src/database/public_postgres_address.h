#pragma once

#include <string>

namespace stoker::database {

// An address that a client has written, for a process that may connect to public addresses alone
// (base/address_rule.h): the same address with the numbers of its hosts, so that libpq looks no name up
// again, which could lead elsewhere by then. Refuses hosts without a public address, sockets of this machine,
// and keywords that name files or other servers.
std::string public_postgres_address(const std::string& address);

}  // namespace stoker::database
