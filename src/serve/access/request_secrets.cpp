#include "serve/access/request_secrets.h"

#include <string_view>

#include "base/error.h"
#include "base/text/text.h"
#include "data/url/url_secrets.h"

namespace stoker::serve {
namespace {

[[noreturn]] void refuse_secret(const std::string& path, const char* what) {
  refuse(
      "{}{}, which would be kept with what you send; write it as ${{NAME}} and let the operator of the "
      "service "
      "set that environment variable",
      path.empty() ? "" : printable(path) + ": ", what);
}

bool is_web_address(const std::string& text) {
  const std::string start = lower_case(text.substr(0, 8));
  return start.starts_with("http://") || start.starts_with("https://");
}

// A variable in front of the @ tells nothing.
bool has_told_name(const std::string& address) {
  const std::size_t begin = address.find("://") + 3;
  const std::string authority = address.substr(begin, address.find_first_of("/?#", begin) - begin);
  const std::size_t at = authority.rfind('@');
  return at != std::string::npos && !(authority.starts_with("${") && authority.find('}') == at - 1);
}

// An address in the midst of other text ends at a blank or a quote.
void check_addresses(std::string_view text, const std::string& path) {
  constexpr std::string_view ends = " \t\r\n\"'`<>";
  for (std::size_t found = text.find("://"); found != std::string_view::npos;
       found = text.find("://", found + 3)) {
    const std::size_t before = text.find_last_of(ends, found);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string address(text.substr(begin, text.find_first_of(ends, found) - begin));
    if (has_password(address)) refuse_secret(path, "an address contains a password");
    if (is_web_address(address) && has_told_name(address))
      refuse_secret(path, "an address contains a user name");
  }
}

// The values in the query of an address are taken for secrets everywhere: none is kept by a run.
void check_source_address(const std::string& key, const std::string& text, const std::string& path) {
  if (key == "uri" && has_password(text)) refuse_secret(path, "the address contains a password");
  if (key == "url" && shown_url(text) != text)
    refuse_secret(path, "the query of the address contains a value that may be secret");
}

void check_value(const config::Value& value, const std::string& key, const std::string& path) {
  if (const auto* map = value.get_if<config::Value::Map>()) {
    for (const config::Entry& each : *map) {
      check_addresses(each.key, path);
      check_value(each.value, each.key, path.empty() ? each.key : path + "." + each.key);
    }
  } else if (const auto* list = value.get_if<config::Value::List>()) {
    for (const config::Value& each : *list) check_value(each, key, path);
  } else if (const auto* text = value.get_if<std::string>()) {
    check_addresses(*text, path);
    check_source_address(key, *text, path);
  }
}

}  // namespace

void refuse_secrets(const config::Value& body) {
  check_value(body, "", "");
}

void refuse_secrets_in_document(const std::string& text) {
  check_addresses(text, "");
  config::Value document;
  try {
    document = config::parse_document(text, "document");
  } catch (const Error&) {
    return;  // it can be kept, but not be run
  }
  check_value(document, "", "");
}

}  // namespace stoker::serve
