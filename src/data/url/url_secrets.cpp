#include "data/url/url_secrets.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"

namespace stoker {
namespace {

constexpr std::string_view hidden = "***";

struct Parts {
  std::string scheme;     // with "://"
  std::string authority;  // with a name and a password, if any
  std::string path;
  std::string query;  // without its '?'
  bool has_query = false;
};

Parts parts_of(const std::string& url) {
  Parts parts;
  const std::string sent = url.substr(0, url.find('#'));  // what stands behind it never leaves the reader
  const std::size_t scheme_end = sent.find("://");
  const std::size_t begin = scheme_end == std::string::npos ? 0 : scheme_end + 3;
  const std::size_t path_at = std::min(sent.find_first_of("/?", begin), sent.size());
  const std::size_t query_at = std::min(sent.find('?', path_at), sent.size());
  parts.scheme = sent.substr(0, begin);
  parts.authority = sent.substr(begin, path_at - begin);
  parts.path = sent.substr(path_at, query_at - path_at);
  parts.has_query = query_at < sent.size();
  if (parts.has_query) parts.query = sent.substr(query_at + 1);
  return parts;
}

// The address with each value of its query as `replaced` gives it, by the key. What holds a variable already,
// or nothing, stays.
std::string with_values(const std::string& url,
                        const std::function<std::string(const std::string& key)>& replaced) {
  Parts parts = parts_of(url);
  const std::size_t at = parts.authority.rfind('@');
  if (at != std::string::npos) parts.authority.replace(0, at, hidden);
  std::vector<std::string> pairs;
  if (!parts.query.empty()) pairs = split_text(parts.query, '&');
  for (std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    const bool has_key = equals != std::string::npos;
    const std::string_view value = std::string_view(pair).substr(has_key ? equals + 1 : 0);
    if (value.empty() || is_variable_alone(value)) continue;
    const std::string key = has_key ? pair.substr(0, equals) : "";
    pair = (has_key ? key + "=" : "") + replaced(key);
  }
  return parts.scheme + parts.authority + parts.path + (parts.has_query ? "?" : "") + join(pairs, "&");
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string as_variable(std::string text) {
  for (char& c : text) {
    if (!is_name_character(c)) c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Each ${NAME} as `value_of` gives it.
std::string with_variables(const std::string& text, const std::string& shown,
                           const std::function<std::string(const std::string& name)>& value_of) {
  std::string expanded;
  std::size_t done = 0;
  for (std::size_t begin = text.find("${"); begin != std::string::npos; begin = text.find("${", done)) {
    const std::size_t end = text.find('}', begin);
    const std::string name = end == std::string::npos ? "" : text.substr(begin + 2, end - begin - 2);
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_character))
      refuse("the address {} has a ${{ that does not name an environment variable; write ${{NAME}}", shown);
    expanded += text.substr(done, begin - done) + value_of(name);
    done = end + 1;
  }
  return expanded + text.substr(done);
}

std::string value_in_url(const std::string& name, const std::string& url) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') {
    refuse(
        "the address {} needs the environment variable {}, which is not set; runs do not keep the values in "
        "an address's query: set it to the original value, or give the document again",
        shown_url(url), name);
  }
  const std::string text(value);
  hide_value(name, text);
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; }))
    refuse("the environment variable {} holds characters that an address must write as %XX", name);
  return text;
}

std::string value_in_uri(const std::string& name, const std::string& called) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0')
    refuse(
        "{} needs the environment variable {}, which is not set; set it to the address of the database, "
        "or to the part of it that it stands for",
        called, name);
  hide_value(name, value);
  return value;
}

// What stands between `begin` and the next blank or `&` is a secret, unless it is a variable.
bool is_told(std::string_view text, std::size_t begin) {
  const std::string_view value = text.substr(begin, text.find_first_of(" &", begin) - begin);
  return !value.empty() && !is_variable_alone(value);
}

}  // namespace

std::vector<std::string> variables_of_address(const std::string& address) {
  std::vector<std::string> names;
  for (std::size_t at = address.find("${"); at != std::string::npos; at = address.find("${", at + 2))
    names.push_back(address.substr(at + 2, address.find('}', at) - at - 2));
  return names;
}

// What stands beside a variable may be half of a secret.
bool is_variable_alone(std::string_view address) {
  return address.starts_with("${") && address.find('}') == address.size() - 1;
}

bool has_credentials(const std::string& url) {
  return parts_of(url).authority.find('@') != std::string::npos;
}

std::string shown_url(const std::string& url) {
  return with_values(url, [](const std::string&) { return std::string(hidden); });
}

std::string kept_url(const std::string& url, const std::string& card) {
  std::map<std::string, int> used;
  return with_values(url, [&](const std::string& key) {
    const std::string name = as_variable("STOKER_" + card + "_" + (key.empty() ? "QUERY" : key));
    const int times = ++used[name];
    return "${" + name + (times > 1 ? fmt::format("_{}", times) : "") + "}";
  });
}

std::string expanded_url(const std::string& url) {
  return with_variables(url, shown_url(url),
                        [&](const std::string& name) { return value_in_url(name, url); });
}

std::string expanded_uri(const std::string& uri, const std::string& called) {
  return with_variables(uri, "in " + called,
                        [&](const std::string& name) { return value_in_uri(name, called); });
}

bool has_password(const std::string& uri) {
  const Parts parts = parts_of(uri);
  const std::size_t at = parts.authority.rfind('@');
  const std::size_t colon = parts.authority.find(':');
  if (!parts.scheme.empty() && at != std::string::npos && colon < at) {
    const std::string_view password = std::string_view(parts.authority).substr(colon + 1, at - colon - 1);
    if (!password.empty() && !is_variable_alone(password)) return true;
  }
  for (std::size_t found = uri.find("password"); found != std::string::npos;
       found = uri.find("password", found + 1)) {
    const std::size_t equals = uri.find_first_not_of(' ', found + 8);
    if (equals == std::string::npos || uri[equals] != '=') continue;
    const std::size_t value = uri.find_first_not_of(' ', equals + 1);
    if (value != std::string::npos && is_told(uri, value)) return true;
  }
  return false;
}

}  // namespace stoker
