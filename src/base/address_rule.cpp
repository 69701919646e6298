#include "base/address_rule.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <netinet/in.h>

namespace stoker {
namespace {

struct Ipv4Range {
  std::uint32_t begin;
  int prefix;  // bits
};

// The IANA registry of special-purpose IPv4 addresses, and multicast.
constexpr std::array<Ipv4Range, 16> special_ipv4{{
    {0x00000000, 8},   // 0.0.0.0/8, "this network"
    {0x0A000000, 8},   // 10.0.0.0/8, private
    {0x64400000, 10},  // 100.64.0.0/10, shared (CGNAT)
    {0x7F000000, 8},   // 127.0.0.0/8, loopback
    {0xA9FE0000, 16},  // 169.254.0.0/16, link-local, metadata of clouds
    {0xAC100000, 12},  // 172.16.0.0/12, private
    {0xC0000000, 24},  // 192.0.0.0/24, protocol assignments
    {0xC0000200, 24},  // 192.0.2.0/24, documentation
    {0xC0586300, 24},  // 192.88.99.0/24, relays of 6to4
    {0xC0A80000, 16},  // 192.168.0.0/16, private
    {0xC6120000, 15},  // 198.18.0.0/15, benchmarks
    {0xC6336400, 24},  // 198.51.100.0/24, documentation
    {0xCB007100, 24},  // 203.0.113.0/24, documentation
    {0xE0000000, 4},   // 224.0.0.0/4, multicast
    {0xF0000000, 4},   // 240.0.0.0/4, reserved, and broadcast
    {0xA83F8110, 32},  // 168.63.129.16, the metadata address of Azure
}};

bool is_public_ipv4(std::uint32_t address) {
  constexpr int bits = 32;
  return std::ranges::none_of(special_ipv4, [&](const Ipv4Range& each) {
    return ((address ^ each.begin) >> (bits - each.prefix)) == 0;
  });
}

struct Ipv6Range {
  std::array<std::uint8_t, 6> begin;
  int prefix;  // bits
};

// Within 2000::/3, outside of which nothing is public: NAT64 (64:ff9b::/96) and mapped addresses are there.
constexpr Ipv6Range all_public_ipv6{{0x20, 0, 0, 0, 0, 0}, 3};
constexpr std::array<Ipv6Range, 4> special_ipv6{{
    {{0x20, 0x01, 0, 0, 0, 0}, 23},        // 2001::/23, protocol assignments, Teredo among them
    {{0x20, 0x01, 0x0D, 0xB8, 0, 0}, 32},  // 2001:db8::/32, documentation
    {{0x20, 0x02, 0, 0, 0, 0}, 16},        // 2002::/16, 6to4
    {{0x3F, 0xFF, 0, 0, 0, 0}, 20},        // 3fff::/20, documentation
}};

bool is_within(const in6_addr& address, const Ipv6Range& range) {
  constexpr int bits_of_byte = 8;
  for (int bit = 0; bit < range.prefix; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / bits_of_byte);
    const int shift = bits_of_byte - 1 - bit % bits_of_byte;
    if (((address.s6_addr[byte] ^ range.begin.at(byte)) >> shift & 1) != 0) return false;
  }
  return true;
}

bool is_public_ipv6(const in6_addr& address) {
  return is_within(address, all_public_ipv6) &&
         std::ranges::none_of(special_ipv6, [&](const Ipv6Range& each) { return is_within(address, each); });
}

}  // namespace

bool connects_to_public_addresses_only() {
  const char* const value = std::getenv(public_addresses_variable);
  return value != nullptr && std::string_view(value) == "1";
}

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    return is_public_ipv4(ntohl(ipv4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    return is_public_ipv6(ipv6.sin6_addr);
  }
  return false;
}

}  // namespace stoker
