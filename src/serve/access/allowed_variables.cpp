#include "serve/access/allowed_variables.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "data/url/url.h"
#include "data/url/url_secrets.h"
#include "database/postgres/postgres_options.h"

namespace stoker::serve {
namespace {

bool is_name_of_variable(const std::string& name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// "db.example.org", "db.example.org:5432", "[::1]" or "[::1]:5432".
bool is_host_with_port(const std::string& text) {
  if (text.find_first_of("/?#@%") != std::string::npos) return false;
  try {
    parse_url("http://" + text, text);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::string value_of_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

bool is_web_address_value(const std::string& address) {
  const std::string start = lower_case(address.substr(0, 8));
  return start.starts_with("http://") || start.starts_with("https://");
}

struct HostAndPort {
  std::string host;
  std::string port;
};

std::vector<std::string> list_of(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : split_text(text, ',');
}

// None where the address leaves it to libpq, or names a number or a service besides.
std::vector<HostAndPort> hosts_of_postgres(const std::string& address) {
  std::string hosts;
  std::string ports;
  const database::PostgresOptions options = database::postgres_options(address, "uri");
  for (const database::ConnectionOption* each = options.get(); each->keyword != nullptr; ++each) {
    const std::string keyword = each->keyword;
    if (each->value == nullptr || *each->value == '\0') continue;
    if (keyword == "hostaddr" || keyword == "service" || keyword == "servicefile") return {};
    if (keyword == "host") hosts = each->value;
    if (keyword == "port") ports = each->value;
  }
  const std::vector<std::string> all_ports = list_of(ports);
  std::vector<HostAndPort> found;
  for (const std::string& host : list_of(hosts)) {
    const std::size_t i = all_ports.size() == 1 ? 0 : found.size();
    const std::string port = i < all_ports.size() ? all_ports[i] : "";
    found.push_back({host, port.empty() ? "5432" : port});
  }
  return found;
}

std::vector<HostAndPort> hosts_of_address(const std::string& address) {
  if (!is_web_address_value(address)) return hosts_of_postgres(address);
  const Url url = parse_url(address);
  return {{url.host, url.port}};
}

// Reads postgresql://USER:PASSWORD@HOST:PORT/DATABASE without libpq.
HostAndPort host_in_authority(const std::string& address) {
  const std::string rest = address.substr(address.find("://") + 3);
  std::string authority = rest.substr(0, rest.find_first_of("/?#"));
  authority.erase(0, authority.rfind('@') + 1);  // nothing where there is none
  const Url url = parse_url("http://" + authority, "the value of a variable");
  return {url.host, authority.ends_with(":" + url.port) ? url.port : "5432"};
}

// Where libpq is missing, no database can be read, but the value of a variable could still be sent in a web
// address: it must not leave for another host than that in it.
std::vector<HostAndPort> hosts_of_value(const std::string& value) {
  try {
    return hosts_of_address(value);
  } catch (const Error& error) {
    if (error.cause() != Cause::machine) throw;
    return {host_in_authority(value)};
  }
}

// A host without a port stands for all of its ports.
bool is_host_of(const HostAndPort& found, const std::string& allowed) {
  const Url url = parse_url("http://" + allowed, allowed);
  const bool has_port = allowed.ends_with(":" + url.port);
  return lower_case(found.host) == lower_case(url.host) && (!has_port || found.port == url.port);
}

bool leads_only_to(const std::string& address, const std::string& allowed) {
  const std::vector<HostAndPort> hosts = hosts_of_address(address);
  return !hosts.empty() &&
         std::ranges::all_of(hosts, [&](const HostAndPort& each) { return is_host_of(each, allowed); });
}

std::string expanded_address(const std::string& address) {
  const bool is_web = is_web_address_value(address);
  return is_web ? expanded_url(address) : expanded_uri(address);
}

// Empty: any. One that is a whole address goes nowhere but there.
std::string host_of_variable(const AllowedVariable& variable) {
  const std::string value = value_of_variable(variable.name);
  if (!variable.host.empty() || value.find("://") == std::string::npos) return variable.host;
  try {
    const std::vector<HostAndPort> hosts = hosts_of_value(value);
    if (hosts.size() != 1) return "";
    const std::string& host = hosts.front().host;
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + hosts.front().port;
  } catch (const Error&) {
    return "";  // It looks like an address and is none.
  }
}

}  // namespace

AllowedVariable allowed_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  AllowedVariable variable{.name = text.substr(0, equals), .host = ""};
  if (equals != std::string::npos) variable.host = text.substr(equals + 1);
  if (!is_name_of_variable(variable.name) ||
      (equals != std::string::npos && !is_host_with_port(variable.host)))
    refuse(
        "--allow-variable '{}' is neither NAME nor NAME=HOST; write the name of an environment variable and "
        "the host that may receive its value, such as DB_PASSWORD=db.example.org or "
        "DB_PASSWORD=db.example.org:5432",
        printable(text));
  return variable;
}

std::vector<std::string> hide_variables(const std::vector<AllowedVariable>& variables) {
  std::vector<std::string> warnings;
  for (const AllowedVariable& each : variables) {
    const std::string value = value_of_variable(each.name);
    hide_value(each.name, value);
    if (value.empty()) {
      warnings.push_back(fmt::format("--allow-variable {}: this variable is not set", each.name));
      continue;
    }
    if (value.size() < shortest_hidden_value)
      warnings.push_back(
          fmt::format("--allow-variable {}: its value has fewer than {} characters, so it is not hidden in "
                      "messages",
                      each.name, shortest_hidden_value));
    if (host_of_variable(each).empty())
      warnings.push_back(
          fmt::format("--allow-variable {}: clients can send its value to any host; allow one host with "
                      "--allow-variable {}=HOST",
                      each.name, each.name));
  }
  return warnings;
}

void refuse_variables_not_allowed(const std::string& address, const std::vector<AllowedVariable>& variables) {
  for (const std::string& name : variables_of_address(address)) {
    const auto found = std::ranges::find(variables, name, &AllowedVariable::name);
    if (found == variables.end())
      refuse(
          "this service does not allow its variable {} in addresses; its operator can allow it "
          "(--allow-variable {})",
          printable(name), printable(name));
    const std::string host = host_of_variable(*found);
    if (!host.empty() && !leads_only_to(expanded_address(address), host))
      refuse("this service sends its variable {} only to the host that its operator has allowed for it",
             name);
  }
}

}  // namespace stoker::serve
