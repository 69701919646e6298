#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "serve/api/document_answers.h"
#include "serve/http/body.h"
#include "serve/jobs/record_copies.h"

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

json project_view(const ProjectRecord& project, const Caller& caller) {
  const auto role = caller.projects.find(project.id);
  return {{"id", project.id},
          {"name", project.name},
          {"role", config::name_of(role == caller.projects.end() ? caller.role : role->second)},
          {"created", project.created},
          {"documents", project.documents}};
}

// Who makes a project belongs to it.
Response create_project(Service& service, const Call& call) {
  const ProjectRecord project = DocumentStore(service.records()).add_project(name_in(call));
  service.make_folder_of(project.id);
  copy_project(project, folder_of_project(service.config().data, project.id));
  Caller caller = call.caller;
  if (!caller.is_operator()) {
    service.tokens().grant(caller.token, project.id, UserRole::user);
    service.gate().forget(caller.token);
    caller.projects[project.id] = UserRole::user;
  }
  return json_response(project_view(project, caller), 201);
}

// Those that the caller belongs to.
Response list_projects(Service& service, const Call& call) {
  json projects = json::array();
  for (const ProjectRecord& each : DocumentStore(service.records()).projects())
    if (call.caller.is_operator() || call.caller.projects.contains(each.id))
      projects.push_back(project_view(each, call.caller));
  return json_response({{"projects", std::move(projects)}});
}

Response rename_project(Service& service, Call& call) {
  const std::string name = name_in(call);
  const std::string id = project_named(service, call.part("id")).id;
  DocumentStore(service.records()).rename_project(id, name);
  const ProjectRecord project = project_named(service, id);
  copy_project(project, service.folder());
  return json_response(project_view(project, call.caller));
}

void refuse_with_contents(Service& service, const std::string& id) {
  const DocumentStore::Contents contents = DocumentStore(service.records()).contents_of(id);
  if (!contents.is_empty())
    throw Conflict(fmt::format("the project has {}, {} and {}; delete them first",
                               counted(static_cast<std::uint64_t>(contents.jobs), "job"),
                               counted(static_cast<std::uint64_t>(contents.datasets), "dataset"),
                               counted(static_cast<std::uint64_t>(contents.models), "model")));
}

Response remove_project(Service& service, Call& call) {
  const ProjectRecord project = project_named(service, call.part("id"));
  DocumentStore store(service.records());
  if (project.id == default_project) throw Conflict("the project `default` cannot be deleted");
  refuse_with_contents(service, project.id);
  const std::int64_t all = store.all_documents_in(project.id);
  if (all > 0 && !call.truth("for_good"))
    throw Conflict(
        fmt::format("the project has {}, of which {} can be brought back; ?for_good=true removes it with all "
                    "of them and their versions",
                    counted(static_cast<std::uint64_t>(all), "document"), all - project.documents));
  if (!store.remove_project(project.id)) refuse_with_contents(service, project.id);
  std::error_code ignored;  // whoever starts a service with files of a project that is gone may remove them
  remove_folder(folder_of_project(service.config().data, project.id), ignored);
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
       "Make a project, to which everything belongs that is made in it",
       Access::user,
       [&service](Call& call) { return create_project(service, call); },
       {},
       body,
       {"application/json"},
       {{201, "The project"}, {422, "What is wrong with it"}}},
      {"GET",
       "/api/projects",
       "listProjects",
       "List the projects that the token belongs to, by name",
       Access::viewer,
       [&service](Call& call) { return list_projects(service, call); },
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
         return json_response(project_view(project_named(service, call.part("id")), call.caller));
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
       "Delete a project without jobs, datasets and models; one with documents only for good, with all of "
       "them",
       Access::user,
       [&service](Call& call) { return remove_project(service, call); },
       {{"for_good", "Remove its documents too", flag}},
       nullptr,
       {},
       {{200, "What was removed"},
        {404, "There is none"},
        {409, "It has documents, jobs, datasets or models, or is `default`"}}},
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
