#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/store_of_service.h"
#include "cli/view/terminal.h"
#include "store/document_store.h"

namespace stoker::cli {
namespace {

struct ProjectsCommand {
  std::string data = "stoker-data";
  std::string name;
  bool json = false;
};

nlohmann::json shown_project(const ProjectRecord& project) {
  return {{"id", project.id},
          {"name", project.name},
          {"created", project.created},
          {"documents", project.documents}};
}

ExitCode create_project(const ProjectsCommand& command) {
  constexpr std::size_t longest = 200;
  if (command.name.empty() || command.name.size() > longest || printable(command.name) != command.name)
    refuse("the name of a project has 1 to {} bytes without control characters", longest);
  use_store_of_service(command.data);
  Records records;
  const ProjectRecord project = DocumentStore(records).add_project(command.name);
  if (command.json) {
    print_json(shown_project(project));
  } else {
    print(fmt::format("{}\n", project.id));
  }
  return ExitCode::done;
}

ExitCode list_projects(const ProjectsCommand& command) {
  use_store_of_service(command.data);
  Records records;
  nlohmann::json shown = nlohmann::json::array();
  std::vector<std::vector<std::string>> lines{{"project", "documents", "created", "id"}};
  for (const ProjectRecord& project : DocumentStore(records).projects()) {
    shown.push_back(shown_project(project));
    lines.push_back({printable(project.name), std::to_string(project.documents),
                     project.created.substr(0, 19), project.id});
  }
  if (command.json) {
    print_json(shown);
  } else {
    print(aligned(lines));
  }
  return ExitCode::done;
}

}  // namespace

Action declare_projects(CLI::App& app) {
  const auto command = std::make_shared<ProjectsCommand>();
  const auto chosen = std::make_shared<Action>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, ExitCode (*act)(const ProjectsCommand&)) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("--data", command->data, "Data folder of the service")->capture_default_str();
    sub->add_flag("--json", command->json, "Print JSON");
    sub->callback([command, chosen, act] { *chosen = [command, act] { return act(*command); }; });
    return sub;
  };
  add("create", "Create a project and print its id", create_project)
      ->add_option("NAME", command->name, "Name for people")
      ->required();
  add("list", "List the projects of the service", list_projects);
  app.footer(
      "Examples:\n  stoker projects create houses\n  stoker tokens create anna --role user --project "
      "houses\n  "
      "stoker projects list");
  return [chosen] { return (*chosen)(); };
}

}  // namespace stoker::cli
