#include "serve/access/request_project.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/project_scope.h"
#include "base/text/text.h"
#include "store/project_of.h"
#include "sweep/sweep.h"

namespace stoker::serve {
namespace {

// Routes about the service, its program and its callers, which hold nothing that a project has.
constexpr std::array<std::string_view, 18> without_project{"/healthz",
                                                           "/readyz",
                                                           "/api/session",
                                                           "/api/system",
                                                           "/api/openapi.json",
                                                           "/api/docs",
                                                           "/api/docs/docs.css",
                                                           "/api/docs/docs.js",
                                                           "/api/devices",
                                                           "/api/cards",
                                                           "/api/nodes",
                                                           "/api/metrics",
                                                           "/api/documents/schema",
                                                           "/api/documents/upgrade",
                                                           "/api/projects",
                                                           "/api/tokens",
                                                           "/api/tokens/{id}",
                                                           "/api/tokens/{id}/projects/{project}"};
constexpr std::string_view one_project = "/api/projects/{id}";

bool is_below_one_project(const Route& route) {
  return route.path == one_project || route.path.starts_with(std::string(one_project) + "/");
}

// Empty: none is named.
std::string project_named_by(const Request& request, const Routes::Found& found) {
  const auto given = request.query.find("project");
  const std::string in_query = given == request.query.end() ? "" : given->second;
  if (!is_below_one_project(*found.route)) return in_query;
  const std::string& in_path = found.parts.at("id");
  if (!in_query.empty() && in_query != in_path)
    throw HttpError(400, fmt::format("the path names the project '{}', and the parameter project '{}'",
                                     printable(in_path), printable(in_query)));
  return in_path;
}

bool belongs_to(const Caller& caller, const std::string& project) {
  return caller.is_operator() || caller.projects.contains(project);
}

struct PathOfThing {
  std::string_view path;
  NamedThing thing;
};
constexpr std::array<PathOfThing, 5> paths_of_things{{{"/api/documents/{id}", NamedThing::document},
                                                      {"/api/training/jobs/{id}", NamedThing::job},
                                                      {"/api/sweeps/{id}", NamedThing::job},
                                                      {"/api/models/{id}", NamedThing::model},
                                                      {"/api/runs/{id}", NamedThing::run}}};

// Of what the path names; empty if there is none, or none that the caller may see.
std::string project_of_named_thing(const Caller& caller, const Routes::Found& found, Records& records) {
  const auto named = std::ranges::find_if(paths_of_things, [&](const PathOfThing& each) {
    return found.route->path == each.path || found.route->path.starts_with(std::string(each.path) + "/");
  });
  if (named == paths_of_things.end()) return "";
  const std::string& id = found.parts.at("id");
  constexpr std::size_t longest = 200;
  const bool is_plain = id.size() <= longest && std::ranges::all_of(id, [](unsigned char c) {
                          return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                        });
  if (!is_plain) return "";
  std::string project = project_of(records, named->thing, id, sweep_of_winner(id));
  return belongs_to(caller, project) ? project : "";
}

std::string usual_project(const Caller& caller) {
  if (caller.is_operator() || caller.projects.contains(default_project)) return default_project;
  if (caller.projects.size() == 1) return caller.projects.begin()->first;
  if (caller.projects.empty())
    throw HttpError(403, "the token belongs to no project; an admin can add it to one");
  std::vector<std::string> ids;
  for (const auto& [id, role] : caller.projects) ids.push_back(id);
  throw HttpError(400, fmt::format("the token belongs to several projects; name one with ?project=ID: {}",
                                   join(ids, ", ")));
}

}  // namespace

ProjectUse project_use_of(const Route& route) {
  if (route.path == "/metrics") return ProjectUse::optional;
  const bool has_none =
      route.is_page || std::ranges::find(without_project, route.path) != without_project.end();
  return has_none ? ProjectUse::none : ProjectUse::one;
}

Caller caller_in_project(Caller caller, const Request& request, const Routes::Found& found,
                         Records& records) {
  const ProjectUse use = project_use_of(*found.route);
  std::string project = use == ProjectUse::none ? "" : project_named_by(request, found);
  const bool is_named = !project.empty();
  if (use == ProjectUse::none || (use == ProjectUse::optional && !is_named && caller.is_operator()))
    return caller;
  const bool has_several = caller.is_operator() || caller.projects.size() > 1;
  if (!is_named && has_several) project = project_of_named_thing(caller, found, records);
  if (project.empty()) project = usual_project(caller);
  if (!may_be_project(project) || !belongs_to(caller, project))
    throw HttpError(404, fmt::format("there is no project '{}'", printable(project)));
  if (!caller.is_operator()) caller.role = caller.projects.at(project);
  caller.project = std::move(project);
  return caller;
}

}  // namespace stoker::serve
