#include "cli/flags/named_document.h"

#include <CLI/CLI.hpp>

#include "cli/flags/commands_flag.h"

namespace stoker::cli {

void add_document_options(CLI::App& app, NamedDocument& document, const std::string& help) {
  app.add_option("DOC", document.path, help);
  app.add_option("--set", document.assignments, "PATH=VALUE: change a setting; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--device", document.device, "auto, cpu, cuda or cuda:N, for every card that trains");
  app.add_option("--engine", document.engine, "auto, fused, graph or eager, for every card that trains");
  add_commands_flag(app);
}

std::vector<std::string> assignments_for(const NamedDocument& document,
                                         const std::vector<std::string>& training_cards) {
  std::vector<std::string> assignments = document.assignments;
  for (const std::string& card : training_cards) {
    const std::string settings = "cards." + card + ".config.";
    if (!document.device.empty()) assignments.push_back(settings + "device=" + document.device);
    if (!document.engine.empty()) assignments.push_back(settings + "engine=" + document.engine);
    if (document.tensorboard) assignments.push_back(settings + "tensorboard=true");
  }
  return assignments;
}

}  // namespace stoker::cli
