#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/number_range.h"
#include "cli/flags/store_of_service.h"
#include "cli/view/terminal.h"
#include "store/document_store.h"
#include "store/token_store.h"

namespace stoker::cli {
namespace {

struct TokensCommand {
  std::string data = "stoker-data";
  std::string name;
  std::string role = "user";
  std::vector<std::string> projects;
  int days = 0;
  bool json = false;
};

UserRole role_called(const std::string& name) {
  for (std::size_t i = 0; i < config::names<UserRole>.size(); ++i)
    if (name == config::names<UserRole>[i]) return static_cast<UserRole>(i);
  refuse("there is no role '{}'", printable(name));
}

TokenRecord token_called(Records& records, const std::string& id_or_name) {
  std::vector<TokenRecord> found;
  std::vector<std::string> names;
  for (TokenRecord& token : TokenStore(records).all()) {
    if (!is_good(token)) continue;
    names.push_back(token.name);
    if (token.id == id_or_name) return std::move(token);
    if (token.name == id_or_name) found.push_back(std::move(token));
  }
  if (found.empty())
    refuse("there is no good token '{}'{}", printable(id_or_name), did_you_mean(id_or_name, names));
  if (found.size() > 1)
    refuse("several good tokens are named '{}'; name one by its id", printable(id_or_name));
  return std::move(found.front());
}

ExitCode create_token(const TokensCommand& command) {
  use_store_of_service(command.data);
  Records records;
  const UserRole role = role_called(command.role);
  TokenStore::Memberships projects;
  std::vector<std::string> names;
  for (const std::string& each : command.projects) {
    const ProjectRecord project = DocumentStore(records).project_called(each);
    projects[project.id] = role;
    names.push_back(printable(project.name));
  }
  const std::string expires = command.days > 0 ? time_stamp_in(command.days * 86'400.0) : "";
  const std::string token = TokenStore(records).create(command.name, role, expires, projects);
  if (names.empty()) names.emplace_back(role == UserRole::admin ? "all projects" : default_project);
  if (command.json) {
    print_json({{"name", command.name}, {"role", command.role}, {"token", token}});
  } else {
    print(fmt::format("{}\n", token));
    tell(fmt::format("token of {} ({} in {}); it cannot be shown again", command.name, command.role,
                     join(names, ", ")));
  }
  return ExitCode::done;
}

ExitCode grant_projects(const TokensCommand& command) {
  use_store_of_service(command.data);
  Records records;
  const TokenRecord token = token_called(records, command.name);
  for (const std::string& each : command.projects) {
    const ProjectRecord project = DocumentStore(records).project_called(each);
    TokenStore(records).grant(token.id, project.id, role_called(command.role));
    print(fmt::format("{} has the role {} in {}\n", printable(token.name), command.role,
                      printable(project.name)));
  }
  return ExitCode::done;
}

ExitCode withdraw_projects(const TokensCommand& command) {
  use_store_of_service(command.data);
  Records records;
  const TokenRecord token = token_called(records, command.name);
  for (const std::string& each : command.projects) {
    const ProjectRecord project = DocumentStore(records).project_called(each);
    if (!TokenStore(records).withdraw(token.id, project.id))
      refuse("the token {} does not belong to {}", printable(token.name), printable(project.name));
    print(fmt::format("{} no longer belongs to {}\n", printable(token.name), printable(project.name)));
  }
  return ExitCode::done;
}

// "default: user, houses: viewer"
std::string shown_projects(const TokenRecord& token, const std::map<std::string, std::string>& names) {
  if (token.role == UserRole::admin) return "all";
  std::vector<std::string> each;
  for (const auto& [project, role] : token.projects) {
    const auto name = names.find(project);
    each.push_back(fmt::format("{}: {}", printable(name == names.end() ? project : name->second),
                               config::name_of(role)));
  }
  return join(each, ", ");
}

ExitCode list_tokens(const TokensCommand& command) {
  use_store_of_service(command.data);
  Records records;
  nlohmann::json shown = nlohmann::json::array();
  std::vector<std::vector<std::string>> lines{
      {"token", "role", "projects", "created", "expires", "revoked", "id"}};
  std::map<std::string, std::string> names;
  for (const ProjectRecord& each : DocumentStore(records).projects()) names[each.id] = each.name;
  for (const TokenRecord& token : TokenStore(records).all()) {
    nlohmann::json projects = nlohmann::json::object();
    for (const auto& [project, role] : token.projects) projects[project] = config::name_of(role);
    shown.push_back({{"id", token.id},
                     {"name", token.name},
                     {"role", config::name_of(token.role)},
                     {"projects", projects},
                     {"created", token.created},
                     {"expires", token.expires},
                     {"revoked", token.revoked}});
    lines.push_back({printable(token.name), std::string(config::name_of(token.role)),
                     shown_projects(token, names), token.created.substr(0, 19), token.expires.substr(0, 19),
                     token.revoked.substr(0, 19), token.id});
  }
  if (command.json) {
    print_json(shown);
  } else {
    print(aligned(lines));
  }
  return ExitCode::done;
}

ExitCode revoke_token(const TokensCommand& command) {
  use_store_of_service(command.data);
  Records records;
  TokenStore(records).revoke(command.name);
  print(fmt::format("token {} is no longer good\n", printable(command.name)));
  return ExitCode::done;
}

}  // namespace

Action declare_tokens(CLI::App& app) {
  const auto command = std::make_shared<TokensCommand>();
  const auto chosen = std::make_shared<Action>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, ExitCode (*act)(const TokensCommand&)) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("--data", command->data, "Data folder of the service")->capture_default_str();
    sub->callback([command, chosen, act] { *chosen = [command, act] { return act(*command); }; });
    return sub;
  };
  CLI::App* create = add("create", "Make a token and show it once", create_token);
  create->add_option("NAME", command->name, "Whose it is")->required();
  create
      ->add_option(
          "--role", command->role,
          "viewer reads, user also starts and changes, admin does so in all projects and creates tokens")
      ->check(CLI::IsMember({"viewer", "user", "admin"}))
      ->capture_default_str();
  const auto add_projects = [&](CLI::App& sub, const char* help) {
    return sub.add_option("--project", command->projects, help)->allow_extra_args(false);
  };
  add_projects(*create, "Project that it belongs to, by id or name; may be repeated; default if not given");
  create->add_option("--days", command->days, "Days that it is good for; 0: for good")
      ->check(in_range(0, 36'500));
  create->add_flag("--json", command->json, "For programs");
  add("list", "List tokens; none is shown itself", list_tokens)
      ->add_flag("--json", command->json, "For programs");
  const auto change = [&](const char* name, const char* help, ExitCode (*act)(const TokensCommand&)) {
    CLI::App* sub = add(name, help, act);
    sub->add_option("NAME", command->name, "Name or id of the token")->required();
    add_projects(*sub, "Project, by id or name; may be repeated")->required();
    return sub;
  };
  change("grant", "Add a token to a project, or change its role there", grant_projects)
      ->add_option("--role", command->role, "viewer or user")
      ->check(CLI::IsMember({"viewer", "user"}))
      ->capture_default_str();
  change("withdraw", "Remove a token from a project", withdraw_projects);
  add("revoke", "Make a token useless", revoke_token)
      ->add_option("NAME", command->name, "Its name or id")
      ->required();
  app.footer(
      "Examples:\n  stoker tokens create anna --role user\n  stoker tokens grant anna --project houses "
      "--role "
      "viewer\n  stoker tokens list\n  stoker tokens revoke anna");
  return [chosen] { return (*chosen)(); };
}

}  // namespace stoker::cli
