#include "serve/http/http.h"

#include <algorithm>
#include <array>

#include <poll.h>

namespace stoker::serve {
namespace {

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool leads_upwards(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == ".." || part == ".") return true;
    begin = end + 1;
  }
  return false;
}

constexpr std::array<std::pair<int, std::string_view>, 25> status_texts{{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
}};

}  // namespace

std::string_view status_text(int status) {
  for (const auto& [code, text] : status_texts)
    if (code == status) return text;
  return "Error";
}

std::string_view Request::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

bool Request::client_has_left() const {
  if (connection < 0) return false;
  pollfd state{connection, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hexadecimal(text[i + 1]);
      const int low = hexadecimal(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

bool read_target(std::string_view target, Request& request) {
  if (target.empty() || target.front() != '/') return false;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const auto path = percent_decoded(target.substr(0, mark), false);
  if (!path || path->find('\0') != std::string::npos || leads_upwards(*path)) return false;
  request.path = *path;
  std::string_view rest = mark < target.size() ? target.substr(mark + 1) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals), true);
    const auto value =
        percent_decoded(equals < pair.size() ? pair.substr(equals + 1) : std::string_view(), true);
    if (!name || !value) return false;
    if (!name->empty()) request.query[*name] = *value;
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
  }
  return true;
}

}  // namespace stoker::serve
