#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

json content_of(const std::string& type, const json& schema) {
  return {{type, {{"schema", schema}}}};
}

// What takes slashes too has no form of its own there.
std::string described_path(std::string path) {
  if (path.ends_with("*}")) path.erase(path.size() - 2, 1);
  return path;
}

json parameters_of(const Route& route) {
  json parameters = json::array();
  for (const std::string& part : split_text(described_path(route.path), '/'))
    if (part.starts_with('{'))
      parameters.push_back({{"name", part.substr(1, part.size() - 2)},
                            {"in", "path"},
                            {"required", true},
                            {"schema", {{"type", "string"}, {"minLength", 1}}}});
  for (const Parameter& each : route.parameters)
    parameters.push_back(
        {{"name", each.name}, {"in", each.place}, {"description", each.help}, {"schema", each.schema}});
  return parameters;
}

json answers_of(const Route& route) {
  const json error{{"$ref", "#/components/schemas/Error"}};
  json answers = json::object();
  for (const Answer& answer : route.answers) {
    const bool is_error = answer.status >= 400;
    answers[std::to_string(answer.status)] = {
        {"description", answer.help},
        {"content",
         content_of(is_error ? "application/json" : answer.type, is_error ? error : answer.schema)}};
  }
  const auto also = [&](int status, const char* help) {
    if (!answers.contains(std::to_string(status)))
      answers[std::to_string(status)] = {{"description", help},
                                         {"content", content_of("application/json", error)}};
  };
  also(400, "The request is malformed");
  also(429, "Too many requests");
  also(503, "The service cannot answer now");
  if (route.access != Access::anybody) {
    also(401, "A token is needed");
    also(403, "The role may not do that");
  }
  if (!route.body.is_null() || route.is_upload) {
    also(413, "The body is too large");
    also(415, "The body has another type");
    also(422, "What is wrong with it");
  }
  return answers;
}

}  // namespace

json openapi_of(const Routes& routes) {
  json paths = json::object();
  for (const Route& route : routes.all()) {
    json operation{{"operationId", route.name},
                   {"summary", route.help},
                   {"parameters", parameters_of(route)},
                   {"responses", answers_of(route)}};
    if (!route.body.is_null()) {
      json content = json::object();
      for (const std::string& type : route.body_types) content[type] = {{"schema", route.body}};
      operation["requestBody"] = {{"required", true}, {"content", content}};
    }
    operation["security"] =
        route.access == Access::anybody ? json::array() : json::array({{{"token", json::array()}}});
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[described_path(route.path)][method] = std::move(operation);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Stoker"},
            {"version", STOKER_VERSION},
            {"description", "Training jobs and what belongs to them."}}},
          {"paths", paths},
          {"components",
           {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"schemas",
             {{"Error",
               {{"type", "object"},
                {"required", {"error", "status"}},
                {"properties", {{"error", {{"type", "string"}}}, {"status", {{"type", "integer"}}}}}}}}}}}};
}

}  // namespace stoker::serve
