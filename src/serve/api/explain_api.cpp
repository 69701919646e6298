#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "serve/api/document_answers.h"
#include "serve/api/preview_schema.h"
#include "serve/http/body.h"
#include "serve/jobs/program_run.h"
#include "train/explain/explain_step.h"

// One training step of a document, for the canvas. The command does it, in a process of its own: it reads all
// rows that are trained on.
namespace stoker::serve {
namespace {

using nlohmann::json;

constexpr auto longest_explanation = std::chrono::seconds(60);

struct StepRequest {
  std::string content;
  std::string card;
  std::int64_t rows = 8;
};

config::Fields fields(StepRequest& r) {
  return {config::field("content", r.content, "The document, YAML or JSON").required(),
          config::field("card", r.card, "The card that trains; empty: the only one"),
          config::field("rows", r.rows, "Rows of the step").within(1, most_explained_rows)};
}

Response explain_document(Service& service, Call& call) {
  const auto request = body_as<StepRequest>(call.body());
  refuse_unless_text(request.content);
  const CheckedDocument checked = check_text(service, request.content);
  if (!checked.problems.empty())
    return json_response(
        {{"error", fmt::format("the document has {}, so it has no training step to look into",
                               counted(checked.problems.size(), "problem"))},
         {"status", 422},
         {"problems", problems_view(checked.problems)}},
        422);
  if (!checked.pipeline)
    refuse("settings of the document are searched; a training step needs one value of each");
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "document.yaml";
  write_file(file, checked.pipeline->to_yaml());
  std::vector<std::string> words{service.config().program.string(),
                                 "step",
                                 file.string(),
                                 "--json",
                                 "--out=" + (service.folder() / "runs").string(),
                                 "--rows=" + std::to_string(request.rows)};
  if (!request.card.empty()) words.push_back("--card=" + request.card);
  const ProgramRun run = run_program(words, service.folder(), longest_explanation, {}, &call);
  json explained = json::parse(run.output, nullptr, false);
  if (!explained.is_object()) fail("the program answered something else than an object");
  return json_response(explained);
}

json step_schema() {
  return schema::object("TrainingStep",
                        {{"document", schema::text("Its name")},
                         {"card", schema::text()},
                         {"family", schema::text()},
                         {"rows", schema::whole("Of the step")},
                         {"training_rows", schema::whole("Of the training")},
                         {"remarks", schema::list_of(schema::text())},
                         {"steps", schema::list_of(schema::step_part(), "Eight, each with its numbers")}});
}

}  // namespace

std::vector<Route> explain_routes(Service& service) {
  StepRequest usual;
  Route route{"POST",
              "/api/documents/step",
              "explainStep",
              "The first training step of a card, part by part with its numbers; nothing is trained or kept",
              Access::user,
              [&service](Call& call) { return explain_document(service, call); },
              {},
              config::json_schema(fields(usual)),
              {"application/json"},
              {{200, "The eight parts of the step", step_schema()},
               {422, "What is wrong with the document, or why its training has no such steps"}}};
  route.most_body = most_bytes_of_body;
  return {route};
}

}  // namespace stoker::serve
