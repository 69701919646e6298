#include "base/address_rule.h"

#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/un.h>

namespace stoker {
namespace {

bool is_public(const std::string& text) {
  sockaddr_storage address{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
  } else if (inet_pton(AF_INET6, text.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
  } else {
    ADD_FAILURE() << text << " is no address";
  }
  return is_public_address(reinterpret_cast<const sockaddr&>(address));
}

TEST(AddressRule, SpecialIpv4AddressesAreNotPublic) {
  for (const char* each :
       {"0.0.0.0",         "0.1.2.3",     "10.0.0.1",        "10.255.255.255",  "100.64.0.1",
        "100.127.255.255", "127.0.0.1",   "127.255.255.254", "168.63.129.16",   "169.254.0.1",
        "169.254.169.254", "172.16.0.1",  "172.31.255.255",  "192.0.0.8",       "192.0.2.1",
        "192.88.99.1",     "192.168.0.1", "192.168.255.255", "198.18.0.1",      "198.19.255.255",
        "198.51.100.7",    "203.0.113.9", "224.0.0.1",       "239.255.255.255", "240.0.0.1",
        "255.255.255.255"})
    EXPECT_FALSE(is_public(each)) << each;
}

TEST(AddressRule, NeighborsOfSpecialIpv4RangesArePublic) {
  for (const char* each :
       {"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "8.8.8.8"})
    EXPECT_TRUE(is_public(each)) << each;
}

TEST(AddressRule, SpecialIpv6AddressesAreNotPublic) {
  for (const char* each : {"::",
                           "::1",
                           "::127.0.0.1",
                           "::ffff:127.0.0.1",
                           "::ffff:8.8.8.8",
                           "::ffff:0:127.0.0.1",
                           "64:ff9b::7f00:1",
                           "64:ff9b::808:808",
                           "64:ff9b:1::a00:1",
                           "100::1",
                           "2001::1",
                           "2001:0:7f00:1::",
                           "2001:10::1",
                           "2001:db8::1",
                           "2002:7f00:1::1",
                           "2002:808:808::1",
                           "3fff::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "5f00::1"})
    EXPECT_FALSE(is_public(each)) << each;
}

TEST(AddressRule, GlobalIpv6AddressesArePublic) {
  for (const char* each : {"2606:4700::1111", "2a00:1450:4001::1", "2001:200::1", "2003::1", "2400::1"})
    EXPECT_TRUE(is_public(each)) << each;
}

TEST(AddressRule, SocketOfTheMachineIsNotPublic) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/run/postgresql/.s.PGSQL.5432");
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr&>(address)));
}

TEST(AddressRule, HoldsOnlyIfItsVariableIsOne) {
  unsetenv(public_addresses_variable);
  EXPECT_FALSE(connects_to_public_addresses_only());
  setenv(public_addresses_variable, "1", 1);
  EXPECT_TRUE(connects_to_public_addresses_only());
  unsetenv(public_addresses_variable);
}

}  // namespace
}  // namespace stoker
