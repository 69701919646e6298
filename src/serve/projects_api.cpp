#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "serve/body.h"
#include "serve/document_answers.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct ProjectRequest {
  std::string name;
};

config::Fields fields(ProjectRequest& r) {
  return {config::field("name", r.name, "For people, 1 to 200 characters").required().not_empty()};
}

std::string name_in(const Call& call) {
  const auto request = body_as<ProjectRequest>(call.body());
  refuse_unless_name(request.name);
  return request.name;
}

json project_view(const ProjectRecord& project) {
  return {{"id", project.id},
          {"name", project.name},
          {"created", project.created},
          {"documents", project.documents}};
}

Response list_projects(Service& service) {
  json projects = json::array();
  for (const ProjectRecord& each : DocumentStore(service.records()).projects())
    projects.push_back(project_view(each));
  return json_response({{"projects", std::move(projects)}});
}

Response rename_project(Service& service, Call& call) {
  const std::string name = name_in(call);
  const std::string id = project_named(service, call.part("id")).id;
  DocumentStore(service.records()).rename_project(id, name);
  return json_response(project_view(project_named(service, id)));
}

Response remove_project(Service& service, Call& call) {
  const ProjectRecord project = project_named(service, call.part("id"));
  DocumentStore store(service.records());
  const std::int64_t all = store.all_documents_in(project.id);
  if (all > 0 && !call.truth("for_good"))
    throw Conflict(
        fmt::format("the project has {}, of which {} can be brought back; ?for_good=true removes it with all "
                    "of them and their versions",
                    counted(static_cast<std::uint64_t>(all), "document"), all - project.documents));
  store.remove_project(project.id);
  return json_response({{"id", project.id}, {"removed_documents", all}});
}

Response list_documents(Service& service, Call& call) {
  const ProjectRecord project = project_named(service, call.part("id"));
  DocumentStore::Page page;
  page.with_removed = call.truth("removed");
  constexpr std::int64_t most_documents_of_a_page = 500;
  page.limit = call.number("limit", 100, 1, most_documents_of_a_page);
  if (const std::string after = call.text("after"); !after.empty())
    page.after = document_named(service, after, Removed::counts).id;
  json documents = json::array();
  for (const DocumentRecord& each : DocumentStore(service.records()).list(project.id, page))
    documents.push_back(document_view(each));
  json answer{{"total", page.with_removed ? DocumentStore(service.records()).all_documents_in(project.id)
                                          : project.documents}};
  if (documents.size() == static_cast<std::size_t>(page.limit)) answer["next"] = documents.back()["id"];
  answer["documents"] = std::move(documents);
  return json_response(answer);
}

}  // namespace

std::vector<Route> project_routes(Service& service) {
  const std::string one = "/api/projects/{id}";
  ProjectRequest usual;
  const json body = config::json_schema(fields(usual));
  const json flag{{"type", "boolean"}};
  return {
      {"POST",
       "/api/projects",
       "createProject",
       "Make a project, a place for documents",
       Access::user,
       [&service](Call& call) {
         return json_response(project_view(DocumentStore(service.records()).add_project(name_in(call))), 201);
       },
       {},
       body,
       {"application/json"},
       {{201, "The project"}, {422, "What is wrong with it"}}},
      {"GET",
       "/api/projects",
       "listProjects",
       "List projects by name",
       Access::viewer,
       [&service](Call&) { return list_projects(service); },
       {},
       nullptr,
       {},
       {{200, "Projects"}}},
      {"GET",
       one,
       "showProject",
       "Show a project",
       Access::viewer,
       [&service](Call& call) {
         return json_response(project_view(project_named(service, call.part("id"))));
       },
       {},
       nullptr,
       {},
       {{200, "The project"}, {404, "There is none"}}},
      {"PATCH",
       one,
       "renameProject",
       "Rename a project",
       Access::user,
       [&service](Call& call) { return rename_project(service, call); },
       {},
       body,
       {"application/json"},
       {{200, "The project"}, {404, "There is none"}, {422, "What is wrong with it"}}},
      {"DELETE",
       one,
       "deleteProject",
       "Delete a project; one with documents only for good, with all of them",
       Access::user,
       [&service](Call& call) { return remove_project(service, call); },
       {{"for_good", "Remove its documents too", flag}},
       nullptr,
       {},
       {{200, "What was removed"}, {404, "There is none"}, {409, "It has documents"}}},
      {"GET",
       one + "/documents",
       "listDocuments",
       "List the documents of a project by name",
       Access::viewer,
       [&service](Call& call) { return list_documents(service, call); },
       {{"removed", "Those too that were removed and can be brought back", flag},
        {"limit", "At most so many", {{"type", "integer"}, {"minimum", 1}, {"maximum", 500}}},
        {"after", "`next` of the page before"}},
       nullptr,
       {},
       {{200, "Documents"}, {404, "There is none"}}},
  };
}

}  // namespace stoker::serve
