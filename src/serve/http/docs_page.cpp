#include "serve/http/docs_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

std::string type_in_words(const json& schema) {
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>();
    const std::string title = name.substr(name.rfind('/') + 1);
    return fmt::format("<a href=\"#schema-{0}\">{0}</a>", html_escaped(title));
  }
  if (!schema.contains("type")) return "any";
  if (schema["type"] == "array" && schema.contains("items"))
    return "list of " + type_in_words(schema["items"]);
  std::string text =
      schema["type"].is_string() ? schema["type"].get<std::string>() : html_escaped(schema["type"].dump());
  if (schema.contains("enum")) text += " " + html_escaped(schema["enum"].dump());
  return text;
}

std::string row_of(const std::string& name, const std::string& type, const std::string& help) {
  return fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>\n", html_escaped(name), type,
                     html_escaped(help));
}

std::string parameters_in_words(const json& operation) {
  std::string rows;
  for (const json& each : operation["parameters"])
    rows += row_of(each["name"],
                   fmt::format("{}, {}", each["in"].get<std::string>(), type_in_words(each["schema"])),
                   each.value("description", ""));
  return rows.empty() ? "" : "<h4>Parameters</h4>\n<table>" + rows + "</table>\n";
}

std::string body_in_words(const json& operation) {
  if (!operation.contains("requestBody")) return "";
  std::string text = "<h4>Body</h4>\n";
  for (const auto& [type, content] : operation["requestBody"]["content"].items()) {
    text += fmt::format("<p><code>{}</code></p>\n", html_escaped(type));
    if (content.contains("example"))
      text += fmt::format("<pre class=\"example\">{}</pre>\n", html_escaped(content["example"].dump(2)));
    if (content["schema"].contains("properties")) {
      std::string rows;
      for (const auto& [name, property] : content["schema"]["properties"].items())
        rows += row_of(name, type_in_words(property), property.value("description", ""));
      text += "<table>" + rows + "</table>\n";
    }
    text += fmt::format("<details><summary>Schema</summary><pre>{}</pre></details>\n",
                        html_escaped(content["schema"].dump(2)));
  }
  return text;
}

std::string answers_in_words(const json& operation) {
  std::string rows;
  for (const auto& [status, answer] : operation["responses"].items()) {
    std::string types;
    const json contents = answer.value("content", json::object());
    for (const auto& [type, content] : contents.items())
      types += fmt::format("{}{}, {}", types.empty() ? "" : "; ", html_escaped(type),
                           type_in_words(content["schema"]));
    rows += row_of(status, types, answer["description"]);
  }
  return "<h4>Answers</h4>\n<table>" + rows + "</table>\n";
}

std::string operation_in_words(const std::string& path, const std::string& method, const json& operation) {
  const std::string verb = [&] {
    std::string upper = method;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return upper;
  }();
  return fmt::format(
             "<details class=\"operation\" id=\"{}\" data-method=\"{}\" data-path=\"{}\">\n"
             "<summary><b>{}</b> <code>{}</code> {}{}</summary>\n",
             html_escaped(operation["operationId"].get<std::string>()), verb, html_escaped(path), verb,
             html_escaped(path), html_escaped(operation["summary"].get<std::string>()),
             operation["security"].empty() ? "" : " <i>token</i>") +
         parameters_in_words(operation) + body_in_words(operation) + answers_in_words(operation) +
         "</details>\n";
}

}  // namespace

std::string docs_page(const Routes& routes) {
  const json document = openapi_of(routes);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Stoker's API</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<link rel=\"stylesheet\" href=\"/api/docs/docs.css\"><script src=\"/api/docs/docs.js\" "
      "defer></script>\n"
      "</head><body>\n<h1>Stoker's API</h1>\n<p>Version {}. The same for programs: "
      "<a href=\"/api/openapi.json\">openapi.json</a>. What is marked <i>token</i> takes the header "
      "<code>Authorization: Bearer …</code>.</p>\n<div id=\"tools\"></div>\n",
      html_escaped(document["info"]["version"].get<std::string>()));
  for (const json& tag : document["tags"]) {
    page += fmt::format("<h2>{}</h2>\n", html_escaped(tag["name"].get<std::string>()));
    for (const auto& [path, methods] : document["paths"].items())
      for (const auto& [method, operation] : methods.items())
        if (operation["tags"][0] == tag["name"]) page += operation_in_words(path, method, operation);
  }
  page += "<h2>schemas</h2>\n";
  for (const auto& [name, schema] : document["components"]["schemas"].items()) {
    std::string rows;
    const json properties = schema.value("properties", json::object());
    for (const auto& [property, each] : properties.items())
      rows += row_of(property, type_in_words(each), each.value("description", ""));
    page += fmt::format("<h3 id=\"schema-{0}\">{0}</h3>\n<table>{1}</table>\n", html_escaped(name), rows);
  }
  return page + "</body></html>\n";
}

}  // namespace stoker::serve
