#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/number_range.h"
#include "cli/terminal.h"
#include "store/token_store.h"

namespace stoker::cli {
namespace {

struct TokensCommand {
  std::string data = "stoker-data";
  std::string name;
  std::string role = "user";
  int days = 0;
  bool json = false;
};

// The store of a service, unless the environment names another.
void use_store_of(const TokensCommand& command) {
  if (std::getenv("STOKER_STORE") != nullptr) return;
  const std::filesystem::path file = std::filesystem::absolute(command.data) / "store.sqlite";
  if (!exists(file))
    refuse("there is no service's data in {}; name its folder with --data, or its store with STOKER_STORE",
           command.data);
  setenv("STOKER_STORE", file.c_str(), 1);
}

ExitCode create_token(const TokensCommand& command) {
  use_store_of(command);
  Records records;
  TokenStore tokens(records);
  UserRole role = UserRole::user;
  for (std::size_t i = 0; i < config::names<UserRole>.size(); ++i)
    if (command.role == config::names<UserRole>[i]) role = static_cast<UserRole>(i);
  const std::string expires = command.days > 0 ? time_stamp_in(command.days * 86'400.0) : "";
  const std::string token = tokens.create(command.name, role, expires);
  if (command.json) {
    print_json({{"name", command.name}, {"role", command.role}, {"token", token}});
  } else {
    print(fmt::format("{}\n", token));
    tell(fmt::format("token of {} ({}); it cannot be shown again", command.name, command.role));
  }
  return ExitCode::done;
}

ExitCode list_tokens(const TokensCommand& command) {
  use_store_of(command);
  Records records;
  nlohmann::json shown = nlohmann::json::array();
  std::vector<std::vector<std::string>> lines{{"token", "role", "created", "expires", "revoked", "id"}};
  for (const TokenRecord& token : TokenStore(records).all()) {
    shown.push_back({{"id", token.id},
                     {"name", token.name},
                     {"role", config::name_of(token.role)},
                     {"created", token.created},
                     {"expires", token.expires},
                     {"revoked", token.revoked}});
    lines.push_back({printable(token.name), std::string(config::name_of(token.role)),
                     token.created.substr(0, 19), token.expires.substr(0, 19), token.revoked.substr(0, 19),
                     token.id});
  }
  if (command.json) {
    print_json(shown);
  } else {
    print(aligned(lines));
  }
  return ExitCode::done;
}

ExitCode revoke_token(const TokensCommand& command) {
  use_store_of(command);
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
      ->add_option("--role", command->role,
                   "viewer looks, user also starts and changes, admin also sees to tokens")
      ->check(CLI::IsMember({"viewer", "user", "admin"}))
      ->capture_default_str();
  create->add_option("--days", command->days, "Days that it is good for; 0: for good")
      ->check(in_range(0, 36'500));
  create->add_flag("--json", command->json, "For programs");
  add("list", "List tokens; none is shown itself", list_tokens)
      ->add_flag("--json", command->json, "For programs");
  add("revoke", "Make a token useless", revoke_token)
      ->add_option("NAME", command->name, "Its name or id")
      ->required();
  app.footer(
      "Examples:\n  stoker tokens create anna --role user\n  stoker tokens list\n  stoker tokens revoke "
      "anna");
  return [chosen] { return (*chosen)(); };
}

}  // namespace stoker::cli
