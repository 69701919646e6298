#pragma once

#include <string>

namespace stoker {

// An http or https address in its parts.
struct Url {
  bool secure = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string target;  // path and query, beginning with '/'

  std::string origin() const;  // "https://example.org:8443"
  std::string host_header() const;
};

// Refuses other schemes, credentials in the address, and characters that have no place in one. `shown` is how
// a refusal names it.
Url parse_url(const std::string& text, const std::string& shown);
Url parse_url(const std::string& text);

// Where a redirect from `from` to the Location `location` leads.
std::string redirected(const Url& from, const std::string& location);

}  // namespace stoker
