#pragma once

#include <sys/socket.h>

// Which addresses a process may connect to on behalf of somebody else. The rule looks at the resolved
// address, so neither a redirect nor another spelling of a host changes its answer.
namespace stoker {

// Set to "1" for a process and those that it starts, public addresses alone may be connected to. The service
// sets it, because clients choose where it connects.
constexpr const char* public_addresses_variable = "STOKER_PUBLIC_ADDRESSES_ONLY";
bool connects_to_public_addresses_only();

// True for an IPv4 or IPv6 address that the whole internet can reach. False for loopback, private, shared
// (CGNAT), link-local, multicast, unspecified, documentation and reserved addresses, for IPv6 addresses that
// stand for IPv4 addresses (mapped, NAT64, 6to4, Teredo), and for every other family.
bool is_public_address(const sockaddr& address);

}  // namespace stoker
