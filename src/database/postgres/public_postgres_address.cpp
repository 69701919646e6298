#include "database/postgres/public_postgres_address.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include <netdb.h>

#include "base/address_rule.h"
#include "base/error.h"
#include "base/text/text.h"
#include "database/postgres/postgres_options.h"

namespace stoker::database {
namespace {

using KeywordValues = std::map<std::string, std::string>;

// Others name files of this machine, or servers that libpq asks for more.
constexpr std::array<std::string_view, 23> keywords_of_clients{"user",
                                                               "password",
                                                               "dbname",
                                                               "host",
                                                               "hostaddr",
                                                               "port",
                                                               "connect_timeout",
                                                               "client_encoding",
                                                               "options",
                                                               "application_name",
                                                               "fallback_application_name",
                                                               "keepalives",
                                                               "keepalives_idle",
                                                               "keepalives_interval",
                                                               "keepalives_count",
                                                               "tcp_user_timeout",
                                                               "sslmode",
                                                               "sslnegotiation",
                                                               "ssl_min_protocol_version",
                                                               "channel_binding",
                                                               "require_auth",
                                                               "target_session_attrs",
                                                               "load_balance_hosts"};

KeywordValues checked_values(const std::string& address) {
  KeywordValues values;
  const PostgresOptions options = postgres_options(address, "uri");
  for (const ConnectionOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->value == nullptr || *option->value == '\0') continue;
    if (std::ranges::find(keywords_of_clients, std::string_view(option->keyword)) ==
        keywords_of_clients.end())
      refuse(
          "uri: the keyword {} is not accepted in an address from a client; let the operator of the service "
          "set a variable to the whole address, and write ${{NAME}}",
          option->keyword);
    values[option->keyword] = option->value;
  }
  return values;
}

// One text for unknown hosts and private ones: the difference would tell clients which names the network of
// the service has.
[[noreturn]] void refuse_host(const std::string& host) {
  refuse(
      "uri: {} has no public address, and this service connects to no others for an address that a client "
      "has written; its operator can set a variable to the whole address, which is written as ${{NAME}}, or "
      "allow private addresses (--allow-private-urls)",
      host.empty() ? "an address without a host"
                   : fmt::format("the host '{}' is unknown or", printable(host)));
}

// libpq's own default without a host is a socket too.
bool is_socket(const std::string& host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@');
}

std::vector<std::string> numbers_of(const addrinfo* found) {
  std::vector<std::string> numbers;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (is_public_address(*each->ai_addr) && ::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(),
                                                           text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
      numbers.emplace_back(text.data());
  }
  return numbers;
}

// The public addresses of a host, as numbers.
std::vector<std::string> public_numbers(const std::string& host) {
  if (is_socket(host)) refuse_host(host);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) refuse_host(host);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> frees(found, ::freeaddrinfo);
  std::vector<std::string> numbers = numbers_of(found);
  if (numbers.empty()) refuse_host(host);
  return numbers;
}

// libpq takes several hosts, each with its number and its port, or one port for all of them.
std::vector<std::string> listed(const KeywordValues& values, const std::string& keyword, std::size_t count) {
  const auto found = values.find(keyword);
  if (found == values.end()) return std::vector<std::string>(count);
  std::vector<std::string> list = split_text(found->second, ',');
  if (keyword == "port" && list.size() == 1) list = std::vector<std::string>(count, list.front());
  if (list.size() != count) refuse("uri: {} is not a list as long as that of the hosts", keyword);
  return list;
}

std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char each : value) {
    if (each == '\'' || each == '\\') text += '\\';
    text += each;
  }
  return text + "'";
}

struct ListedHosts {
  std::vector<std::string> hosts;
  std::vector<std::string> given;  // as numbers
  std::vector<std::string> ports;
  const std::string& target(std::size_t i) const { return given[i].empty() ? hosts[i] : given[i]; }
};

ListedHosts hosts_in(const KeywordValues& values) {
  const auto counted = values.find(values.contains("host") ? "host" : "hostaddr");
  const std::size_t count = counted == values.end() ? 1 : split_text(counted->second, ',').size();
  return {listed(values, "host", count), listed(values, "hostaddr", count), listed(values, "port", count)};
}

void refuse_sockets(const KeywordValues& values) {
  const ListedHosts listed_hosts = hosts_in(values);
  for (std::size_t i = 0; i < listed_hosts.hosts.size(); ++i)
    if (is_socket(listed_hosts.target(i)))
      refuse(
          "uri: {} leads to a socket of this machine, which an address from a client may not; name a host, "
          "or "
          "let the operator of the service set a variable to the whole address, and write ${{NAME}}",
          listed_hosts.target(i).empty() ? "an address without a host"
                                         : fmt::format("the host '{}'", printable(listed_hosts.target(i))));
}

std::string with_addresses(KeywordValues values) {
  const auto [hosts, given, ports] = hosts_in(values);
  const std::size_t count = hosts.size();
  std::vector<std::string> names;
  std::vector<std::string> numbers;
  std::vector<std::string> ports_of_numbers;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& number : public_numbers(given[i].empty() ? hosts[i] : given[i])) {
      names.push_back(hosts[i].empty() ? number : hosts[i]);
      numbers.push_back(number);
      ports_of_numbers.push_back(ports[i]);
    }
  }
  values["host"] = join(names, ",");
  values["hostaddr"] = join(numbers, ",");
  values["port"] = join(ports_of_numbers, ",");
  std::string address;
  for (const auto& [keyword, value] : values) address += keyword + "=" + quoted(value) + " ";
  return address;
}

bool is_server_of_operator(const KeywordValues& values) {
  const bool names_host = values.contains("host") || values.contains("hostaddr");
  const bool operator_names_host = std::getenv("PGHOST") != nullptr || std::getenv("PGHOSTADDR") != nullptr;
  return !names_host && operator_names_host && !values.contains("port");
}

}  // namespace

std::string postgres_address_of_client(const std::string& address) {
  if (address.empty()) return address;  // then libpq's variables say all, which are the operator's
  const KeywordValues values = checked_values(address);
  if (!is_server_of_operator(values)) refuse_sockets(values);
  return address;
}

std::string public_postgres_address(const std::string& address) {
  if (address.empty()) return address;
  KeywordValues values = checked_values(address);
  return is_server_of_operator(values) ? address : with_addresses(std::move(values));
}

}  // namespace stoker::database
