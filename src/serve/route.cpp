#include "serve/route.h"

#include <charconv>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace stoker::serve {
namespace {

bool fits(const std::string& pattern, const std::string& path, std::map<std::string, std::string>& parts) {
  const auto wanted = split_text(pattern, '/');
  const auto given = split_text(path, '/');
  const bool takes_rest = wanted.back().ends_with("*}");
  if (takes_rest ? given.size() < wanted.size() : given.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (takes_rest && i + 1 == wanted.size()) {
      const std::string rest = join(std::span(given).subspan(i), "/");
      if (rest.empty()) return false;
      parts[wanted[i].substr(1, wanted[i].size() - 3)] = rest;
    } else if (wanted[i].starts_with('{')) {
      if (given[i].empty()) return false;
      parts[wanted[i].substr(1, wanted[i].size() - 2)] = given[i];
    } else if (wanted[i] != given[i]) {
      return false;
    }
  }
  return true;
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
  routes_.push_back(std::move(route));
}

void Routes::add(std::vector<Route> routes) {
  for (Route& each : routes) add(std::move(each));
}

// A path without names in it comes before one with them.
Routes::Found Routes::find(const std::string& method, const std::string& path) const {
  Found found;
  for (const Route& route : routes_) {
    std::map<std::string, std::string> parts;
    if (!fits(route.path, path, parts)) continue;
    if (route.method != method && !(method == "HEAD" && route.method == "GET")) {
      found.allowed.push_back(route.method);
      continue;
    }
    if (found.route == nullptr || parts.size() < found.parts.size()) {
      found.route = &route;
      found.parts = std::move(parts);
    }
  }
  return found;
}

}  // namespace stoker::serve
