#include "serve/system/log.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/hidden_values.h"
#include "base/text/text.h"

namespace stoker::serve {
namespace {

bool needs_quotes(const std::string& value) {
  return value.empty() || std::ranges::any_of(value, [](unsigned char c) {
           return c <= ' ' || c >= 0x7F || c == '"' || c == '=' || c == '\\';
         });
}

}  // namespace

std::string log_text(std::string_view event,
                     const std::vector<std::pair<std::string_view, std::string>>& details) {
  std::string line = fmt::format("event={}", event);
  for (const auto& [name, value] : details)
    line += fmt::format(
        " {}={}", name,
        needs_quotes(value)
            ? nlohmann::json(printable(value)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
            : value);
  return line;
}

// In one write, so that lines of several threads do not run into each other.
void log_event(std::string_view event, const std::vector<std::pair<std::string_view, std::string>>& details) {
  const std::string line =
      without_hidden_values(fmt::format("time={} {}\n", time_stamp_utc(), log_text(event, details)));
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace stoker::serve
