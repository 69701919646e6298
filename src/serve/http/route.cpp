#include "serve/http/route.h"

#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker::serve {
namespace {

std::vector<std::string_view> parts_of_path(std::string_view path) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = path.find('/');
    parts.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return parts;
    path.remove_prefix(end + 1);
  }
}

// How many names the pattern has, if the path is one of its kind.
std::optional<std::size_t> names_in_fit(const std::vector<std::string>& pattern,
                                        const std::vector<std::string_view>& given) {
  const bool takes_rest = pattern.back().ends_with("*}");
  if (takes_rest ? given.size() < pattern.size() : given.size() != pattern.size()) return std::nullopt;
  if (takes_rest && given[pattern.size() - 1].empty()) return std::nullopt;
  const std::size_t single = pattern.size() - (takes_rest ? 1 : 0);
  std::size_t names = pattern.size() - single;
  for (std::size_t i = 0; i < single; ++i) {
    const bool is_name = pattern[i].starts_with('{');
    if (is_name ? given[i].empty() : pattern[i] != given[i]) return std::nullopt;
    names += is_name ? 1 : 0;
  }
  return names;
}

}  // namespace

config::Value Call::body() const {
  if (request.body.empty()) throw HttpError(400, "the request has no body; it takes JSON");
  try {
    return config::parse_json(request.body, "body");
  } catch (const Error& error) {
    throw HttpError(400, error.what());
  }
}

nlohmann::json Call::json() const {
  return config::to_json(body());
}

std::string Call::text(const std::string& name, const std::string& otherwise) const {
  const auto found = request.query.find(name);
  return found == request.query.end() ? otherwise : found->second;
}

std::int64_t Call::number(const std::string& name, std::int64_t otherwise, std::int64_t least,
                          std::int64_t most) const {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return otherwise;
  std::int64_t value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value < least || value > most)
    throw HttpError(400, fmt::format("{} must be a whole number from {} to {}", name, least, most));
  return value;
}

bool Call::truth(const std::string& name) const {
  const std::string given = text(name, "false");
  if (given != "true" && given != "false")
    throw HttpError(400, fmt::format("{} must be true or false", name));
  return given == "true";
}

Response json_response(const nlohmann::json& json, int status) {
  Response response;
  response.status = status;
  response.body = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return response;
}

Response error_response(int status, const std::string& message) {
  return json_response({{"error", message}, {"status", status}}, status);
}

void Routes::add(Route route) {
  patterns_.push_back(split_text(route.path, '/'));
  routes_.push_back(std::move(route));
}

void Routes::add(std::vector<Route> routes) {
  for (Route& each : routes) add(std::move(each));
}

// A path without names in it comes before one with them.
Routes::Found Routes::find(const std::string& method, const std::string& path) const {
  Found found;
  const std::vector<std::string_view> given = parts_of_path(path);
  std::size_t chosen = 0;
  std::size_t fewest = 0;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const auto names = names_in_fit(patterns_[i], given);
    if (!names) continue;
    if (routes_[i].method != method && !(method == "HEAD" && routes_[i].method == "GET")) {
      found.allowed.push_back(routes_[i].method);
    } else if (found.route == nullptr || *names < fewest) {
      found.route = &routes_[i];
      fewest = *names;
      chosen = i;
    }
  }
  if (found.route == nullptr) return found;
  const std::vector<std::string>& pattern = patterns_[chosen];
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i].ends_with("*}")) {
      const std::vector<std::string> rest(given.begin() + static_cast<std::ptrdiff_t>(i), given.end());
      found.parts.emplace(pattern[i].substr(1, pattern[i].size() - 3), join(rest, "/"));
    } else if (pattern[i].starts_with('{')) {
      found.parts.emplace(pattern[i].substr(1, pattern[i].size() - 2), given[i]);
    }
  }
  return found;
}

}  // namespace stoker::serve
