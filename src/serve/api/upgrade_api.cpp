#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/diagnostics.h"
#include "config/value.h"
#include "pipeline/document/trainrun_form.h"
#include "serve/api/document_answers.h"
#include "serve/http/body.h"
#include "serve/http/schema.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct TextToUpgrade {
  std::string content;
};
config::Fields fields(TextToUpgrade& t) {
  return {config::field("content", t.content, "A file of cuvis.ai, as YAML or JSON").required()};
}

// What it names beside itself is not looked for: those files are on another machine. What it lacks, such as
// the cubes of a graph alone, is told: whoever goes on with the document adds it.
Response upgrade(Call& call) {
  const auto asked = body_as<TextToUpgrade>(call.body());
  refuse_unless_text(asked.content);
  const config::Value written = config::parse_document(asked.content, "document");
  if (!is_trainrun_form(written))
    throw HttpError(422, "content: no graph of nodes or train run of cuvis.ai; there is nothing to upgrade");
  config::Diagnostics diagnostics("document");
  const config::Value made = from_trainrun_form(written, diagnostics);
  if (made.find("cards") == nullptr) diagnostics.refuse_if_any();
  std::vector<std::string> notes = diagnostics.notes();
  for (const config::Diagnostic& each : diagnostics.found())
    notes.push_back(fmt::format("line {}: {}: {}", each.line, each.path, each.message));
  return json_response({{"content", config::to_yaml(made)}, {"notes", std::move(notes)}});
}

}  // namespace

std::vector<Route> upgrade_routes() {
  TextToUpgrade usual;
  const json answer = schema::object(
      "UpgradedDocument",
      {{"content", schema::text("The document, as YAML")},
       {"notes", schema::list_of(schema::text(),
                                 "What is missing, what means nothing here, and what is called otherwise")}});
  Route route{"POST",
              "/api/documents/upgrade",
              "upgradeDocument",
              "A graph of nodes or a train run of cuvis.ai as a document with cards",
              Access::viewer,
              upgrade,
              {},
              config::json_schema(fields(usual)),
              {"application/json"},
              {{200, "The document", answer}, {422, "What cannot be carried over"}}};
  route.most_body = most_bytes_of_body;
  return {route};
}

}  // namespace stoker::serve
