#include "data/url/url.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/error.h"
#include "base/text/text.h"
#include "data/url/url_secrets.h"

namespace stoker {
namespace {

void split_port(Url& url, std::string_view authority, const std::string& shown) {
  std::size_t port_at = authority.rfind(':');
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) refuse("'{}' has an opening bracket that is never closed", shown);
    url.host = authority.substr(1, end - 1);
    port_at = end + 1 < authority.size() ? end + 1 : std::string_view::npos;
    if (port_at != std::string_view::npos && authority[port_at] != ':')
      refuse("'{}' is not a valid address", shown);
  } else {
    url.host = authority.substr(0, port_at);
  }
  url.port = url.secure ? "443" : "80";
  if (port_at == std::string_view::npos) return;
  url.port = authority.substr(port_at + 1);
  const bool digits =
      std::all_of(url.port.begin(), url.port.end(), [](unsigned char c) { return std::isdigit(c); });
  if (!digits || url.port.empty() || url.port.size() > 5 || std::stoi(url.port) > 65'535) {
    refuse("'{}' has an invalid port", shown);
  }
}

}  // namespace

std::string Url::host_header() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (secure ? "443" : "80") ? name : name + ":" + port;
}

std::string Url::origin() const {
  return (secure ? "https://" : "http://") + host_header();
}

Url parse_url(const std::string& text) {
  return parse_url(text, shown_url(text));
}

Url parse_url(const std::string& text, const std::string& shown) {
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!printable) refuse("'{}' has spaces or other characters that an address must write as %XX", shown);
  Url url;
  const std::string scheme = lower_case(text.substr(0, text.find("://")));
  if (scheme != "http" && scheme != "https") refuse("'{}' is not an http:// or https:// address", shown);
  url.secure = scheme == "https";
  const std::string rest = text.substr(scheme.size() + 3, text.find('#') - scheme.size() - 3);
  const std::size_t path_at = std::min(rest.find_first_of("/?"), rest.size());
  const std::string authority = rest.substr(0, path_at);
  if (authority.find('@') != std::string::npos)
    refuse("{}: an address with a user name or password is not accepted", shown);
  split_port(url, authority, shown);
  if (url.host.empty()) refuse("'{}' does not name a host", shown);
  url.target = rest.substr(path_at);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

std::string redirected(const Url& from, const std::string& location) {
  if (location.empty()) refuse("{} redirects without an address", from.origin());
  const std::size_t scheme_end = location.find("://");
  if (scheme_end != std::string::npos && scheme_end < location.find_first_of("/?#")) return location;
  if (location.starts_with("//")) return (from.secure ? "https:" : "http:") + location;
  if (location.starts_with('/')) return from.origin() + location;
  const std::string path = from.target.substr(0, from.target.find('?'));
  return from.origin() + path.substr(0, path.rfind('/') + 1) + location;
}

}  // namespace stoker
