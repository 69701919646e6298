#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/http/body.h"
#include "serve/service.h"
#include "store/document_store.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct SessionRequest {
  std::string token;
};

config::Fields fields(SessionRequest& r) {
  return {config::field("token", r.token, "A token of the service").required()};
}

// Those that the caller belongs to, by name.
json projects_of(Service& service, const Caller& caller) {
  json projects = json::array();
  for (const ProjectRecord& each : DocumentStore(service.records()).projects()) {
    const auto role = caller.projects.find(each.id);
    if (!caller.is_operator() && role == caller.projects.end()) continue;
    projects.push_back({{"id", each.id},
                        {"name", each.name},
                        {"role", config::name_of(caller.is_operator() ? caller.role : role->second)}});
  }
  return projects;
}

json shown_session(Service& service, const Caller& caller, const std::optional<OpenedSession>& session) {
  json view{{"name", caller.name},
            {"role", config::name_of(caller.role)},
            {"projects", projects_of(service, caller)}};
  if (session) {
    view["csrf_token"] = session->csrf_token;
    view["expires"] = session->expires;
  }
  return view;
}

json project_of_session_schema() {
  return {{"type", "object"},
          {"required", {"id", "name", "role"}},
          {"properties",
           {{"id", {{"type", "string"}}},
            {"name", {{"type", "string"}}},
            {"role", {{"enum", {"viewer", "user", "admin"}}}}}}};
}

json session_schema() {
  return {{"type", "object"},
          {"required", {"name", "role", "projects"}},
          {"properties",
           {{"name", {{"type", "string"}}},
            {"role",
             {{"enum", {"viewer", "user", "admin"}},
              {"description", "admin: in all projects; else the highest of the projects"}}},
            {"projects", {{"type", "array"}, {"items", project_of_session_schema()}}},
            {"csrf_token", {{"type", "string"}}},
            {"expires", {{"type", "string"}}}}}};
}

Response open_session(Service& service, Call& call) {
  const auto asked = body_as<SessionRequest>(call.body());
  const auto session = service.gate().open_session(asked.token, call.request);
  if (!session) throw HttpError(401, "the token is not good: it is unknown, has expired or was revoked");
  call.caller = session->caller;
  Response response = json_response(shown_session(service, session->caller, session), 201);
  response.headers.emplace_back("Set-Cookie", session->cookie);
  return response;
}

Response end_session(Service& service, Call& call) {
  Response response = json_response({{"ended", !call.caller.session.empty()}});
  response.headers.emplace_back("Set-Cookie", service.gate().end_session(call.request, call.caller));
  return response;
}

}  // namespace

std::vector<Route> session_routes(Service& service) {
  SessionRequest usual;
  const std::string path = "/api/session";
  Route open{.method = "POST",
             .path = path,
             .name = "openSession",
             .help = "Open a session of a browser: a cookie in place of the token",
             .access = Access::anybody,
             .answer = [&service](Call& call) { return open_session(service, call); },
             .body = config::json_schema(fields(usual)),
             .answers = {{201, "Who one is, and what X-CSRF-Token must hold", session_schema()},
                         {401, "The token is not good"},
                         {403, "The request comes from another site"}},
             .most_body = 16 * 1024};
  Route show{
      .method = "GET",
      .path = path,
      .name = "showSession",
      .help = "Who one is",
      .access = Access::viewer,
      .answer =
          [&service](Call& call) {
            return json_response(
                shown_session(service, call.caller, service.gate().session_of(call.request, call.caller)));
          },
      .answers = {{200, "Who one is; of a session, what X-CSRF-Token must hold too", session_schema()}}};
  Route end{.method = "DELETE",
            .path = path,
            .name = "endSession",
            .help = "End the session of a browser",
            .access = Access::viewer,
            .answer = [&service](Call& call) { return end_session(service, call); },
            .answers = {{200, "Whether there was one"}}};
  return {std::move(open), std::move(show), std::move(end)};
}

}  // namespace stoker::serve
