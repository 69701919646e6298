// Downloads where only public addresses may be connected to.
#include <atomic>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/address_rule.h"
#include "data/fixtures.h"
#include "data/loopback_server.h"
#include "data/planned_network.h"
#include "data/url/download.h"

namespace stoker {
namespace {

using test::planned_network;
using test::PlannedNetwork;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

int port_of(const LoopbackServer& server) {
  const std::string url = server.url("");
  return std::stoi(url.substr(url.rfind(':') + 1));
}

class PublicDownload : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv(public_addresses_variable, "1", 1);
    PlannedNetwork& network = planned_network();
    network.answers = {{PlannedNetwork::public_address}};
    network.lookups = 0;
    network.port_of_public_address = port_of(public_server_);
    network.connections.clear();
  }
  void TearDown() override { unsetenv(public_addresses_variable); }

  std::string fetched(const std::string& url) const {
    download(url, folder_.path() / "file", {});
    return read_file(folder_.path() / "file", 1 << 20);
  }
  std::string private_port() const { return ":" + std::to_string(port_of(private_server_)); }

  TestFolder folder_;
  std::string location_;  // where the public server sends its clients; none: it answers itself
  std::atomic<int> private_hits_ = 0;
  LoopbackServer public_server_{[this](const auto&, const auto& write) {
    if (location_.empty()) return (void)write(answer("200 OK", "", "public"));
    write(answer("302 Found", "Location: " + location_ + "\r\n", ""));
  }};
  LoopbackServer private_server_{[this](const auto&, const auto& write) {
    ++private_hits_;
    write(answer("200 OK", "", "private"));
  }};
};

// Every spelling that getaddrinfo() takes for this machine or a private network.
const std::vector<std::string> private_hosts{"127.0.0.1",
                                             "127.1",
                                             "127.0.1",
                                             "127.255.255.254",
                                             "2130706433",
                                             "0x7f000001",
                                             "0x7F.1",
                                             "0x7f.0x0.0x0.0x1",
                                             "0177.0.0.1",
                                             "017700000001",
                                             "0",
                                             "0.0.0.0",
                                             "localhost",
                                             "LOCALHOST",
                                             "localhost.",
                                             "[::1]",
                                             "[0:0:0:0:0:0:0:1]",
                                             "[::]",
                                             "[::127.0.0.1]",
                                             "[::ffff:127.0.0.1]",
                                             "[::ffff:7f00:1]",
                                             "[::ffff:0:127.0.0.1]",
                                             "[64:ff9b::127.0.0.1]",
                                             "[64:ff9b:1::127.0.0.1]",
                                             "[2002:7f00:1::]",
                                             "[2001:0:7f00:1::]",
                                             "[fd00:ec2::254]",
                                             "[fe80::1]",
                                             "[fc00::1]",
                                             "[ff02::1]",
                                             "169.254.169.254",
                                             "2852039166",
                                             "0xA9FEA9FE",
                                             "10.0.0.1",
                                             "172.16.0.1",
                                             "192.168.0.1",
                                             "100.64.0.1",
                                             "224.0.0.1",
                                             "255.255.255.255",
                                             "168.63.129.16"};

TEST_F(PublicDownload, PublicAddressIsFetched) {
  EXPECT_EQ(fetched("http://moves.invalid/a.csv"), "public");
}

TEST_F(PublicDownload, NoSpellingOfAPrivateAddressIsConnectedTo) {
  for (const std::string& host : private_hosts) {
    const std::string url = "http://" + host + private_port() + "/a.csv";
    const std::string said = refusal([&] { fetched(url); });
    EXPECT_THAT(said, HasSubstr("is unknown or has no public address")) << url;
  }
  EXPECT_EQ(private_hits_, 0);
  EXPECT_TRUE(planned_network().connections.empty());
}

TEST_F(PublicDownload, NoRedirectLeadsToAPrivateAddress) {
  for (const std::string& host : private_hosts) {
    location_ = "http://" + host + private_port() + "/a.csv";
    EXPECT_NE(refusal([&] { fetched("http://moves.invalid/a.csv"); }), "") << location_;
  }
  EXPECT_EQ(private_hits_, 0);
  EXPECT_EQ(planned_network().connections.size(), private_hosts.size());
  EXPECT_THAT(planned_network().connections, Each(PlannedNetwork::public_address));
}

TEST_F(PublicDownload, NameThatChangesItsAddressIsRejectedAtItsNextConnection) {
  planned_network().answers = {{PlannedNetwork::public_address}, {"127.0.0.1"}};
  location_ = "http://moves.invalid" + private_port() + "/a.csv";
  EXPECT_THAT(refusal([&] { fetched("http://moves.invalid/a.csv"); }), HasSubstr("has no public address"));
  EXPECT_EQ(planned_network().lookups, 2);  // one for each connection, of which only the first was made
  EXPECT_EQ(private_hits_, 0);
  EXPECT_THAT(planned_network().connections, Each(PlannedNetwork::public_address));
}

TEST_F(PublicDownload, NameIsLookedUpOnceForEachConnection) {
  planned_network().answers = {{PlannedNetwork::public_address}, {"127.0.0.1"}};
  EXPECT_EQ(fetched("http://moves.invalid" + private_port() + "/a.csv"), "public");
  EXPECT_EQ(planned_network().lookups, 1);
}

TEST_F(PublicDownload, PrivateAddressesOfANameAreSkipped) {
  planned_network().answers = {{"127.0.0.1", "10.0.0.1", "::1", PlannedNetwork::public_address}};
  EXPECT_EQ(fetched("http://moves.invalid" + private_port() + "/a.csv"), "public");
  EXPECT_EQ(private_hits_, 0);
}

TEST_F(PublicDownload, ProxiesOfTheEnvironmentAreNotUsed) {
  const std::string proxy = "http://127.0.0.1" + private_port();
  for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"})
    setenv(name, proxy.c_str(), 1);
  EXPECT_EQ(fetched("http://moves.invalid/a.csv"), "public");
  for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"})
    unsetenv(name);
  EXPECT_EQ(private_hits_, 0);
}

TEST_F(PublicDownload, RejectionDoesNotShowThePrivateAddressOfAName) {
  planned_network().answers = {{"10.11.12.13"}};
  EXPECT_THAT(refusal([&] { fetched("http://moves.invalid/a.csv"); }),
              AllOf(HasSubstr("--allow-private-urls"), Not(HasSubstr("10.11.12.13"))));
}

// Otherwise a client could find out which names the network of the service has.
TEST_F(PublicDownload, UnknownNameAndPrivateNameGiveTheSameError) {
  const auto said_of = [&](const std::vector<std::string>& addresses) {
    planned_network().answers = {addresses};
    return refusal([&] { fetched("http://moves.invalid/a.csv"); });
  };
  EXPECT_EQ(said_of({}), said_of({"10.11.12.13"}));
}

TEST_F(PublicDownload, RedirectToUnknownNameAndToPrivateNameGiveTheSameError) {
  location_ = "http://moves.invalid/b.csv";
  const auto said_of = [&](const std::vector<std::string>& addresses) {
    planned_network().lookups = 0;
    planned_network().answers = {{PlannedNetwork::public_address}, addresses};
    return refusal([&] { fetched("http://moves.invalid/a.csv"); });
  };
  EXPECT_EQ(said_of({}), said_of({"10.11.12.13"}));
}

TEST_F(PublicDownload, WithoutTheRuleTheErrorNamesTheExactReason) {
  unsetenv(public_addresses_variable);
  planned_network().answers = {{}};
  EXPECT_THAT(refusal([&] { fetched("http://moves.invalid/a.csv"); }),
              AllOf(HasSubstr("'moves.invalid' is unknown"), Not(HasSubstr("public"))));
}

}  // namespace
}  // namespace stoker
