#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "serve/http/body.h"
#include "serve/service.h"
#include "store/document_store.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct TokenRequest {
  std::string name;
  UserRole role = UserRole::user;
  config::Value projects;  // a map of roles
  std::int64_t days = 0;
};

config::Fields fields(TokenRequest& r) {
  constexpr std::int64_t most_days = 36'500;
  return {config::field("name", r.name, "Whose it is").required(),
          config::field("role", r.role,
                        "admin: all projects and all tokens; else the role in the project `default`, unless "
                        "projects are given"),
          config::field("projects", r.projects,
                        "The role in each project, viewer or user, by the ids of the projects"),
          config::field("days", r.days, "Days that it is good for; 0: for good").within(0, most_days)};
}

json shown_token(const TokenRecord& token) {
  json view{{"id", token.id},
            {"name", token.name},
            {"role", config::name_of(token.role)},
            {"projects", json::object()},
            {"created", token.created}};
  for (const auto& [project, role] : token.projects) view["projects"][project] = config::name_of(role);
  if (!token.expires.empty()) view["expires"] = token.expires;
  if (!token.revoked.empty()) view["revoked"] = token.revoked;
  return view;
}

UserRole role_in_project(const std::string& name) {
  for (const UserRole role : {UserRole::viewer, UserRole::user})
    if (name == config::name_of(role)) return role;
  refuse("the role in a project is viewer or user, not '{}'", printable(name));
}

TokenStore::Memberships memberships_in(const config::Value& projects) {
  TokenStore::Memberships memberships;
  if (projects.is_null()) return memberships;
  const json given = config::to_json(projects);
  if (!given.is_object()) refuse("projects is a map of roles, such as {{\"default\": \"viewer\"}}");
  for (const auto& [project, role] : given.items()) {
    if (!role.is_string()) refuse("projects.{}: the role is viewer or user", printable(project));
    memberships[project] = role_in_project(role.get<std::string>());
  }
  return memberships;
}

TokenRecord token_named(Service& service, const std::string& id) {
  auto token = service.tokens().find_by_id(id);
  if (!token) throw NotFound(fmt::format("there is no good token with the id '{}'", printable(id)));
  return std::move(*token);
}

struct MembershipRequest {
  UserRole role = UserRole::user;
};

config::Fields fields(MembershipRequest& r) {
  return {config::field("role", r.role, "viewer or user").required()};
}

Response add_to_project(Service& service, Call& call) {
  const TokenRecord token = token_named(service, call.part("id"));
  const std::string& project = call.part("project");
  if (!DocumentStore(service.records()).find_project(project))
    throw NotFound(fmt::format("there is no project '{}'", printable(project)));
  service.tokens().grant(token.id, project, body_as<MembershipRequest>(call.body()).role);
  service.gate().forget(token.id);
  return json_response(shown_token(token_named(service, token.id)));
}

Response remove_from_project(Service& service, Call& call) {
  const TokenRecord token = token_named(service, call.part("id"));
  if (!service.tokens().withdraw(token.id, call.part("project")))
    throw NotFound(
        fmt::format("the token does not belong to a project '{}'", printable(call.part("project"))));
  service.gate().forget(token.id);
  return json_response(shown_token(token_named(service, token.id)));
}

Response create_token(Service& service, Call& call) {
  const auto asked = body_as<TokenRequest>(call.body());
  constexpr double seconds_of_a_day = 86'400;
  const std::string expires =
      asked.days > 0 ? time_stamp_in(static_cast<double>(asked.days) * seconds_of_a_day) : "";
  const auto all = service.tokens().all();
  const auto same = std::ranges::find_if(
      all, [&](const TokenRecord& each) { return each.name == asked.name && is_good(each); });
  if (same != all.end())
    throw Conflict(
        fmt::format("there is a good token named '{}' already (id {}); choose another name, or "
                    "revoke it first",
                    printable(asked.name), same->id));
  const std::string secret =
      service.tokens().create(asked.name, asked.role, expires, memberships_in(asked.projects));
  json view = shown_token(service.tokens().find(secret).value());
  view["token"] = secret;
  return json_response(view, 201);
}

// By its id alone: a name may be that of several, of which all but one are no longer good.
Response revoke_token(Service& service, Call& call) {
  const std::string& id = call.part("id");
  const auto all = service.tokens().all();
  const auto token = std::ranges::find(all, id, &TokenRecord::id);
  if (token == all.end()) throw NotFound(fmt::format("there is no token with the id '{}'", printable(id)));
  const bool is_last =
      token->role == UserRole::admin && std::ranges::none_of(all, [&](const TokenRecord& each) {
        return each.id != id && each.role == UserRole::admin && is_good(each);
      });
  if (is_last && is_good(*token))
    throw Conflict("this is the last good token of an admin; make another first, or nobody could");
  service.tokens().revoke(id);
  service.gate().forget(id);
  return json_response({{"id", id}, {"name", token->name}, {"revoked", true}});
}

json token_schema() {
  return {{"type", "object"},
          {"required", {"id", "name", "role", "projects", "created"}},
          {"properties",
           {{"id", {{"type", "string"}}},
            {"name", {{"type", "string"}}},
            {"role", {{"enum", {"viewer", "user", "admin"}}}},
            {"projects", {{"type", "object"}, {"additionalProperties", {{"enum", {"viewer", "user"}}}}}},
            {"created", {{"type", "string"}}},
            {"expires", {{"type", "string"}}},
            {"revoked", {{"type", "string"}}},
            {"token", {{"type", "string"}}}}}};
}

}  // namespace

std::vector<Route> token_routes(Service& service) {
  TokenRequest usual;
  Route list{.method = "GET",
             .path = "/api/tokens",
             .name = "listTokens",
             .help = "List tokens; none is shown itself",
             .access = Access::admin,
             .answer =
                 [&service](Call&) {
                   json tokens = json::array();
                   for (const TokenRecord& token : service.tokens().all())
                     tokens.push_back(shown_token(token));
                   return json_response({{"tokens", std::move(tokens)}});
                 },
             .answers = {{200,
                          "Tokens",
                          {{"type", "object"},
                           {"properties", {{"tokens", {{"type", "array"}, {"items", token_schema()}}}}}}}}};
  Route create{.method = "POST",
               .path = "/api/tokens",
               .name = "createToken",
               .help = "Make a token; its answer is the only one that shows it",
               .access = Access::admin,
               .answer = [&service](Call& call) { return create_token(service, call); },
               .body = config::json_schema(fields(usual)),
               .answers = {{201, "The token", token_schema()},
                           {409, "A good token has this name"},
                           {422, "What is wrong with it"}},
               .most_body = 16 * 1024};
  Route revoke{
      .method = "DELETE",
      .path = "/api/tokens/{id}",
      .name = "revokeToken",
      .help = "Make a token useless, with the sessions and event streams that it opened",
      .access = Access::admin,
      .answer = [&service](Call& call) { return revoke_token(service, call); },
      .answers = {
          {200, "It is no longer good"}, {404, "There is none"}, {409, "It is the last one of an admin"}}};
  MembershipRequest usual_membership;
  Route add{.method = "PUT",
            .path = "/api/tokens/{id}/projects/{project}",
            .name = "addTokenToProject",
            .help = "Let a token belong to a project with a role, or change its role there",
            .access = Access::admin,
            .answer = [&service](Call& call) { return add_to_project(service, call); },
            .body = config::json_schema(fields(usual_membership)),
            .answers = {{200, "The token", token_schema()},
                        {404, "There is no such token or project"},
                        {422, "What is wrong with it"}},
            .most_body = 16 * 1024};
  Route remove{.method = "DELETE",
               .path = "/api/tokens/{id}/projects/{project}",
               .name = "removeTokenFromProject",
               .help = "Let a token no longer belong to a project",
               .access = Access::admin,
               .answer = [&service](Call& call) { return remove_from_project(service, call); },
               .answers = {{200, "The token", token_schema()}, {404, "It does not belong to the project"}}};
  return {std::move(list), std::move(create), std::move(revoke), std::move(add), std::move(remove)};
}

}  // namespace stoker::serve
