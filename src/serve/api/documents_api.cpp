#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/project_scope.h"
#include "base/text/text.h"
#include "serve/api/document_answers.h"
#include "serve/api/node_answers.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct DocumentRequest {
  std::string name;
  std::string content;
  std::int64_t version = 0;
  std::string note;
  std::string project;
};

config::Field name_field(DocumentRequest& r) {
  return config::field("name", r.name, "For people, 1 to 200 characters");
}
config::Field content_field(DocumentRequest& r) {
  return config::field(
      "content", r.content,
      "The text of the document, YAML or JSON; kept byte for byte, also with problems in it");
}
config::Field version_field(DocumentRequest& r) {
  return config::field("version", r.version, "The version that this was made from; If-Match may say it too")
      .at_least(0);
}
config::Field note_field(DocumentRequest& r) {
  return config::field("note", r.note, "What has changed, for people");
}
config::Fields fields_to_add(DocumentRequest& r) {
  return {name_field(r).required().not_empty(), content_field(r), note_field(r)};
}
config::Fields fields_to_change(DocumentRequest& r) {
  return {name_field(r), content_field(r), version_field(r), note_field(r),
          config::field("project", r.project,
                        "Id of the project to move the document to, in which the token is a user; alone")};
}
config::Fields fields_to_restore(DocumentRequest& r) {
  return {version_field(r), note_field(r)};
}
config::Fields fields_to_validate(DocumentRequest& r) {
  return {content_field(r).required()};
}

void refuse_unless_note(const std::string& note) {
  constexpr std::size_t most_bytes_of_note = 2'000;
  if (note.size() > most_bytes_of_note)
    throw HttpError(422, fmt::format("note: takes at most {} bytes", most_bytes_of_note));
  if (!is_text(note)) throw HttpError(422, "note: takes text in UTF-8, without a zero in it");
}

DocumentRequest read_request(const config::Value& body, config::Fields (*of)(DocumentRequest&)) {
  DocumentRequest request;
  config::Diagnostics diagnostics("body");
  config::read_fields(of(request), body, "", diagnostics);
  diagnostics.refuse_if_any();
  refuse_unless_text(request.content);
  refuse_unless_note(request.note);
  return request;
}

// "3", as the ETag of an answer has it; 0: there is none.
std::int64_t version_of_header(const Call& call) {
  std::string_view text = call.request.header("if-match");
  if (text.empty()) return 0;
  if (text.size() > 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  std::int64_t version = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), version);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || version < 1)
    throw HttpError(400, "If-Match takes the number of a version, such as \"3\"");
  return version;
}

// Of a save: nobody overwrites what they have not seen.
std::int64_t version_to_save_from(const Call& call, std::int64_t in_body) {
  const std::int64_t in_header = version_of_header(call);
  if (in_header > 0 && in_body > 0 && in_header != in_body)
    throw HttpError(400, fmt::format("If-Match says version {}, the body {}", in_header, in_body));
  if (in_header == 0 && in_body == 0)
    throw HttpError(
        428,
        "say which version this was made from: version in the body, or If-Match; what others have "
        "saved since is not overwritten");
  return in_header > 0 ? in_header : in_body;
}

void add_check(const CheckedDocument& checked, json& view) {
  view["valid"] = checked.problems.empty();
  view["problems"] = problems_view(checked.problems);
  view["warnings"] = problems_view(checked.warnings);
  view["notes"] = checked.notes;
  if (checked.sweep) view["candidates"] = checked.sweep->candidate_count();
}

Response with_version(Response response, std::int64_t version) {
  response.headers.emplace_back("ETag", fmt::format("\"{}\"", version));
  return response;
}

Response saved_answer(const Service& service, const DocumentRecord& document, const std::string& content,
                      int status = 200) {
  json view = document_view(document);
  add_check(check_text(service, content), view);
  return with_version(json_response(view, status), document.version);
}

Response save(Service& service, const Call& call, const DocumentRecord& document, std::int64_t from,
              const std::string& content, const std::string& note) {
  try {
    const auto saved =
        DocumentStore(service.records()).save(document.id, from, {0, content, call.caller.name, "", note});
    if (!saved) throw NotFound("the document was removed meanwhile");
    return saved_answer(service, *saved, content);
  } catch (const StaleVersion& stale) {
    return json_response({{"error", stale.what()}, {"status", 409}, {"newest", stale.newest()}}, 409);
  }
}

Response add_document(Service& service, Call& call) {
  const DocumentRequest request = read_request(call.body(), fields_to_add);
  refuse_unless_name(request.name);
  const ProjectRecord project = project_named(service, call.part("id"));
  const auto document =
      DocumentStore(service.records())
          .add(project.id, request.name, {0, request.content, call.caller.name, "", request.note});
  if (!document) throw NotFound("the project was removed meanwhile");
  return saved_answer(service, *document, request.content, 201);
}

// A project that the caller does not belong to is not there for them.
Response move_document(Service& service, const Call& call, const std::string& project) {
  const DocumentRecord document = document_named(service, call.part("id"));
  const auto role = call.caller.projects.find(project);
  const bool is_member =
      may_be_project(project) && (call.caller.is_operator() || role != call.caller.projects.end());
  if (is_member && !call.caller.is_operator() && role->second == UserRole::viewer)
    throw HttpError(403,
                    fmt::format("the token is a viewer in the project '{}'; moving a document there takes "
                                "a user",
                                project));
  const auto moved = is_member ? DocumentStore(service.records()).move(document.id, project) : std::nullopt;
  if (!moved) throw NotFound(fmt::format("there is no project '{}'", printable(project)));
  return with_version(json_response(document_view(*moved)), moved->version);
}

Response change_document(Service& service, Call& call) {
  const config::Value body = call.body();
  const DocumentRequest request = read_request(body, fields_to_change);
  const bool has_content = body.find("content") != nullptr;
  const bool has_name = body.find("name") != nullptr;
  if (body.find("project") != nullptr) {
    if (has_content || has_name || body.find("note") != nullptr)
      throw HttpError(422, "project: a document is moved by a request of its own; give project alone");
    return move_document(service, call, request.project);
  }
  if (!has_content && !has_name)
    throw HttpError(422, "nothing is to be changed: give content, a name, or a project");
  if (has_name) refuse_unless_name(request.name);
  DocumentRecord document = document_named(service, call.part("id"));
  Response response;
  if (has_content) {
    const std::int64_t from = version_to_save_from(call, request.version);
    response = save(service, call, document, from, request.content, request.note);
    if (response.status != 200 || !has_name) return response;
  }
  const auto renamed = DocumentStore(service.records()).rename(document.id, request.name);
  if (!renamed) throw NotFound("the document was removed meanwhile");
  if (!has_content) return with_version(json_response(document_view(*renamed)), renamed->version);
  return saved_answer(service, *renamed, request.content);
}

Response put_content(Service& service, Call& call) {
  const DocumentRecord document = document_named(service, call.part("id"));
  refuse_unless_text(call.request.body);
  refuse_unless_note(call.text("note"));
  return save(service, call, document, version_to_save_from(call, 0), call.request.body, call.text("note"));
}

std::int64_t version_in_path(const Call& call) {
  const std::string& text = call.part("version");
  std::int64_t version = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), version);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    throw NotFound(fmt::format("'{}' is no version: they are numbered 1, 2, …", printable(text)));
  return version;
}

Response show_document(Service& service, Call& call) {
  const DocumentRecord document = document_named(service, call.part("id"), Removed::counts);
  const DocumentVersion newest = version_named(service, document, document.version);
  json view = document_view(document);
  view["content"] = newest.content;
  view["author"] = newest.author;
  view["note"] = newest.note;
  return with_version(json_response(view), document.version);
}

Response show_content(Service& service, Call& call) {
  const DocumentRecord document = document_named(service, call.part("id"), Removed::counts);
  const std::int64_t wanted = call.number("version", document.version, 1, INT64_MAX);
  Response response;
  response.body = version_named(service, document, wanted).content;
  const std::size_t first = response.body.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && response.body[first] == '{';
  response.type = is_json ? "application/json" : "application/yaml";
  return with_version(std::move(response), wanted);
}

Response remove_document(Service& service, Call& call) {
  const DocumentRecord document = document_named(service, call.part("id"), Removed::counts);
  DocumentStore store(service.records());
  if (call.truth("for_good")) {
    store.remove(document.id);
    return json_response({{"id", document.id}, {"removed_versions", document.version}});
  }
  const auto hidden = store.hide(document.id);
  if (!hidden) throw NotFound("the document is gone");
  return json_response(document_view(*hidden));
}

Response bring_back(Service& service, Call& call) {
  const std::string id = document_named(service, call.part("id"), Removed::counts).id;
  const auto document = DocumentStore(service.records()).bring_back(id);
  if (!document) throw NotFound("the document is gone");
  return json_response(document_view(*document));
}

Response list_versions(Service& service, Call& call) {
  const DocumentRecord document = document_named(service, call.part("id"), Removed::counts);
  const std::int64_t limit = call.number("limit", 50, 1, 500);
  const std::int64_t before = call.number("before", INT64_MAX, 1, INT64_MAX);
  json versions = json::array();
  std::int64_t last = 0;
  for (const DocumentVersion& each : DocumentStore(service.records()).versions(document.id, before, limit)) {
    versions.push_back(
        {{"version", each.version}, {"author", each.author}, {"time", each.time}, {"note", each.note}});
    last = each.version;
  }
  json answer{{"total", document.version}};
  if (last > 1) answer["next"] = last;
  answer["versions"] = std::move(versions);
  return json_response(answer);
}

Response show_version(Service& service, Call& call) {
  const DocumentRecord document = document_named(service, call.part("id"), Removed::counts);
  const DocumentVersion version = version_named(service, document, version_in_path(call));
  return json_response({{"document", document.id},
                        {"version", version.version},
                        {"content", version.content},
                        {"author", version.author},
                        {"time", version.time},
                        {"note", version.note}});
}

Response restore_version(Service& service, Call& call) {
  const DocumentRequest request =
      call.request.body.empty() ? DocumentRequest() : read_request(call.body(), fields_to_restore);
  const DocumentRecord document = document_named(service, call.part("id"));
  const DocumentVersion version = version_named(service, document, version_in_path(call));
  const bool says_from = request.version > 0 || version_of_header(call) > 0;
  const std::int64_t from = says_from ? version_to_save_from(call, request.version) : document.version;
  return save(service, call, document, from, version.content,
              request.note.empty() ? fmt::format("version {} again", version.version) : request.note);
}

Response validate(const Service& service, Call& call) {
  const CheckedDocument checked = check_text(service, read_request(call.body(), fields_to_validate).content);
  json view{{"columns", checked.columns}};
  if (const Document* document = checked.document()) view["graphs"] = graphs_view(*document);
  add_check(checked, view);
  return json_response(view);
}

}  // namespace

std::vector<Route> document_routes(Service& service) {
  const std::string one = "/api/documents/{id}";
  const auto with = [&service](Response (*what)(Service&, Call&)) {
    return [&service, what](Call& call) { return what(service, call); };
  };
  const auto schema = [](config::Fields (*of)(DocumentRequest&)) {
    DocumentRequest usual;
    return config::json_schema(of(usual));
  };
  const Parameter if_match{
      "If-Match", "The version that this was made from, such as \"3\"", {{"type", "string"}}, "header"};
  const std::vector<Answer> saved{{200, "The document, and what is wrong with it"},
                                  {404, "There is none"},
                                  {409, "Another version has been saved since"},
                                  {422, "What is wrong with the request"},
                                  {428, "The version that it was made from is not said"}};
  const std::vector<std::string> as_json{"application/json"};
  const json page{{"type", "integer"}, {"minimum", 1}, {"maximum", 500}};
  const json whole{{"type", "integer"}, {"minimum", 1}};
  std::vector<Route> routes;
  const auto add = [&](Route route, std::size_t most_body = 1 << 20) {
    route.most_body = most_body;
    routes.push_back(std::move(route));
  };
  add({"POST",
       "/api/projects/{id}/documents",
       "createDocument",
       "Save a new document in a project",
       Access::user,
       with(add_document),
       {},
       schema(fields_to_add),
       as_json,
       {{201, "The document, and what is wrong with it"}, {404, "There is no such project"}}},
      most_bytes_of_body);
  add({"POST",
       "/api/documents/validate",
       "validateDocument",
       "What is wrong with the text of a document",
       Access::viewer,
       [&service](Call& call) { return validate(service, call); },
       {},
       schema(fields_to_validate),
       as_json,
       {{200,
         "All problems and warnings, with line and path, notes, and the columns of the tables that cards "
         "read, where they are known before any row is read; of a graph of nodes its ports"}}},
      most_bytes_of_body);
  add({"GET",
       one,
       "showDocument",
       "Show a document with its newest text",
       Access::viewer,
       with(show_document),
       {},
       nullptr,
       {},
       {{200, "The document"}, {404, "There is none"}}});
  add({"PATCH",
       one,
       "changeDocument",
       "Save a new version of a document, rename it, or move it to another project",
       Access::user,
       with(change_document),
       {if_match},
       schema(fields_to_change),
       as_json,
       saved},
      most_bytes_of_body);
  add({"DELETE",
       one,
       "deleteDocument",
       "Remove a document; it can be brought back",
       Access::user,
       with(remove_document),
       {{"for_good", "Remove it with all its versions, never to be brought back", {{"type", "boolean"}}}},
       nullptr,
       {},
       {{200, "What was removed"}, {404, "There is none"}}});
  add({"POST",
       one + "/bring-back",
       "bringBackDocument",
       "Bring back a document that was removed",
       Access::user,
       with(bring_back),
       {},
       nullptr,
       {},
       {{200, "The document"}, {404, "There is none"}}});
  add({"GET",
       one + "/content",
       "documentContent",
       "The text of a document, as it was saved",
       Access::viewer,
       with(show_content),
       {{"version", "Another than the newest", whole}},
       nullptr,
       {},
       {{200, "The text", json::object(), "application/yaml"}, {404, "There is none"}}});
  add({"PUT",
       one + "/content",
       "saveDocumentContent",
       "Save a new version, which is the body as it stands",
       Access::user,
       with(put_content),
       {if_match, {"note", "What has changed, for people"}},
       {{"type", "string"}},
       {"application/yaml", "text/yaml", "application/json", "text/plain"},
       saved},
      most_bytes_of_document);
  add({"GET",
       one + "/versions",
       "listVersions",
       "List the versions of a document, newest first",
       Access::viewer,
       with(list_versions),
       {{"limit", "At most so many", page}, {"before", "`next` of the page before", whole}},
       nullptr,
       {},
       {{200, "Versions, without their texts"}, {404, "There is none"}}});
  add({"GET",
       one + "/versions/{version}",
       "showVersion",
       "Show a version of a document",
       Access::viewer,
       with(show_version),
       {},
       nullptr,
       {},
       {{200, "The version"}, {404, "There is none"}}});
  add({"POST",
       one + "/versions/{version}/restore",
       "restoreVersion",
       "Save the text of an earlier version as a new one",
       Access::user,
       with(restore_version),
       {if_match},
       schema(fields_to_restore),
       as_json,
       saved});
  return routes;
}

}  // namespace stoker::serve
