#include "cli/flags/usage.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker::cli {
namespace {

const CLI::App& deepest_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest_command(*chosen.front());
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "stoker" : full_name(*app.get_parent()) + " " + app.get_name();
}

// The first word that nobody took.
std::string unexpected_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (!words.empty()) return words.front();
  return app.get_parent() == nullptr ? "" : unexpected_word(*app.get_parent());
}

// Letters, digits, - _ and ., from a letter or digit on: nothing that leads out of the folder.
std::string problem_of_folder_name(const std::string& name) {
  constexpr std::size_t longest = 128;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (!name.empty() && name.size() <= longest &&
      std::isalnum(static_cast<unsigned char>(name.front())) != 0 && std::ranges::all_of(name, is_plain))
    return "";
  return "a name has letters, digits, -, _ and . alone, up to 128 of them, and begins with a letter or digit";
}
const CLI::Validator is_folder_name(problem_of_folder_name, "NAME");

}  // namespace

std::string usage_error(const CLI::App& app, const std::string& reason) {
  const CLI::App& command = deepest_command(app);
  const std::string name = command.get_parent() == nullptr ? "" : command.get_name() + ": ";
  const std::string word = unexpected_word(command);
  const std::string help = fmt::format(" (see {} --help)", full_name(command));
  if (word.starts_with("-")) {
    const std::string flag = word.substr(0, word.find('='));
    return fmt::format("{}unknown flag: {}{}{}", name, flag, did_you_mean(flag, flags_of(command)), help);
  }
  const std::vector<std::string> commands = commands_of(command);
  if (!word.empty() && !commands.empty()) {
    return fmt::format("{}unknown command: {}{}{}", name, word, did_you_mean(word, commands), help);
  }
  if (!word.empty()) return fmt::format("{}'{}' was not expected{}", name, word, help);
  if (command.get_require_subcommand_min() > 0 && command.get_subcommands().empty()) {
    return fmt::format("{}which command? Available: {}{}", name, join(commands, ", "), help);
  }
  return fmt::format("{}{}{}", name, reason, help);
}

void add_show_flags(CLI::App& app, ShowOptions& show) {
  app.add_flag("--json", show.json, "Print one JSON object instead of text");
  app.add_flag("--quiet", show.quiet, "Show only warnings and results, no progress");
}

void add_watched_flags(CLI::App& app, std::string& folder_name, ShowOptions& show) {
  app.add_option("--as", folder_name,
                 "Name of the run folder; a run of that name that is there already goes on, so that the same "
                 "command can be given again")
      ->check(is_folder_name);
  app.add_option("--progress-file", show.progress_file,
                 "Write how far the run is into this file, about once a second, as JSON");
}

}  // namespace stoker::cli
