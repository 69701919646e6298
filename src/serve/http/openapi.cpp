#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "serve/access/request_project.h"
#include "serve/http/schema.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

json error_schema() {
  return schema::object("Error", {{"error", schema::text("What is wrong, for people")},
                                  {"status", schema::whole("As that of the answer")}});
}

// Puts every schema with a title, also inside of others, under that title where all look it up.
json hoisted(json schema, json& components) {
  if (schema.is_array()) {
    for (json& each : schema) each = hoisted(std::move(each), components);
    return schema;
  }
  if (!schema.is_object()) return schema;
  for (auto& [name, each] : schema.items())
    if (name != "default" && name != "enum" && name != "const" && name != "example" && name != "examples")
      each = hoisted(std::move(each), components);
  schema.erase("$schema");
  const auto title = schema.find("title");
  if (title == schema.end() || !title->is_string()) return schema;
  const std::string name = *title;
  if (!components.contains(name)) components[name] = schema;
  // Another one of the same title stays where it is.
  if (components[name] != schema) return schema;
  return {{"$ref", "#/components/schemas/" + name}};
}

json content_of(const std::string& type, const json& schema, const json& example) {
  json content{{"schema", schema}};
  if (!example.is_null()) content["example"] = example;
  return {{type, content}};
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
  const bool names_project = route.path.starts_with("/api/projects/{id}");
  if (route.access != Access::anybody && project_use_of(route) != ProjectUse::none && !names_project)
    parameters.push_back(
        {{"name", "project"},
         {"in", "query"},
         {"description", "Id of the project to work in; if not given, the only one of the token, or default"},
         {"schema", {{"type", "string"}, {"pattern", "^[a-z0-9-]{1,64}$"}}}});
  for (const Parameter& each : route.parameters)
    parameters.push_back(
        {{"name", each.name}, {"in", each.place}, {"description", each.help}, {"schema", each.schema}});
  return parameters;
}

json answers_of(const Route& route, json& components) {
  const json error = hoisted(error_schema(), components);
  json answers = json::object();
  for (const Answer& answer : route.answers) {
    const bool is_error = answer.status >= 400;
    json& told = answers[std::to_string(answer.status)];
    told["description"] = answer.help;
    // Of one status there may be answers of several types.
    if (answer.status != 204 && answer.status != 304)
      told["content"].update(
          is_error ? content_of("application/json", error, nullptr)
                   : content_of(answer.type, hoisted(answer.schema, components), answer.example));
  }
  const auto also = [&](int status, const char* help) {
    if (!answers.contains(std::to_string(status)))
      answers[std::to_string(status)] = {{"description", help},
                                         {"content", content_of("application/json", error, nullptr)}};
  };
  also(400, "The request is malformed");
  also(421, "Asked for by a name that is not the service's");
  also(429, "Too many requests");
  also(503, "The service cannot answer now");
  if (route.path.find('{') != std::string::npos) also(404, "There is none");
  if (route.access != Access::anybody && project_use_of(route) != ProjectUse::none)
    also(404, "The token belongs to no such project");
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

// The least that a token needs in the project, or for what is about the service, in any.
std::string_view role_of(Access access) {
  switch (access) {
    case Access::anybody:
      return "anybody";
    case Access::viewer:
      return "viewer";
    case Access::user:
      return "user";
    case Access::admin:
      return "admin";
  }
  return "admin";
}

json operation_of(const Route& route, json& components) {
  json operation{{"operationId", route.name},
                 {"summary", route.help},
                 {"tags", {tag_of(route)}},
                 {"parameters", parameters_of(route)},
                 {"responses", answers_of(route, components)}};
  if (!route.body.is_null()) {
    json content = json::object();
    const json body = hoisted(route.body, components);
    for (const std::string& type : route.body_types)
      content.update(content_of(type, body, type == "application/json" ? route.example : json()));
    operation["requestBody"] = {{"required", true}, {"content", content}};
  }
  operation["x-role"] = role_of(route.access);
  operation["security"] =
      route.access == Access::anybody ? json::array() : json::array({{{"token", json::array()}}});
  return operation;
}

}  // namespace

// What comes first in the path behind /api; jobs of all kinds are jobs.
std::string tag_of(const Route& route) {
  const auto parts = split_text(route.path, '/');
  if (parts.size() < 3 || parts[1] != "api" || parts[2].find('.') != std::string::npos || parts[2] == "docs")
    return "service";
  return parts[2] == "training" && parts.size() > 3 ? parts[3] : parts[2];
}

json openapi_of(const Routes& routes) {
  json paths = json::object();
  json components = json::object();
  json tags = json::array();
  for (const Route& route : routes.all()) {
    if (route.is_page) continue;
    paths[described_path(route.path)][lower_case(route.method)] = operation_of(route, components);
    const json tag{{"name", tag_of(route)}};
    if (std::ranges::find(tags, tag) == tags.end()) tags.push_back(tag);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Stoker"},
            {"version", STOKER_VERSION},
            {"description", "Training jobs and what belongs to them."}}},
          {"servers", json::array({{{"url", "/"}}})},
          {"tags", tags},
          {"paths", paths},
          {"components",
           {{"securitySchemes",
             {{"token",
               {{"type", "http"},
                {"scheme", "bearer"},
                {"description",
                 "Made by `stoker tokens create`; the first is shown when the service starts."}}}}},
            {"schemas", components}}}};
}

}  // namespace stoker::serve
