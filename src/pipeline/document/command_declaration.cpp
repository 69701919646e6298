#include "pipeline/document/command_declaration.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "config/quote.h"

namespace stoker {

// What can be handed over as a file.
enum class CommandInputType { table, report, model };
enum class CommandOutputType { table };
enum class SettingType { boolean, integer, number, text, integers, numbers, texts };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::CommandInputType>{
    "table", "report", "model"};
template <>
inline constexpr std::array<std::string_view, 1> stoker::config::names<stoker::CommandOutputType>{"table"};
template <>
inline constexpr std::array<std::string_view, 7> stoker::config::names<stoker::SettingType>{
    "boolean", "integer", "number", "text", "integers", "numbers", "texts"};

namespace stoker {
namespace {

namespace fs = std::filesystem;
using config::Diagnostics;
using config::Entry;
using config::Value;

constexpr std::size_t most_commands = 200;
constexpr std::size_t most_of_each = 100;  // ports, settings, files
constexpr std::size_t longest_command_name = 48;

struct CommandKeys {
  std::string title;
  std::string help;
  std::int64_t version = 1;
  std::string program;
  std::string interpreter;
  std::vector<std::string> arguments;
  std::vector<std::string> files;
  Value environment;
  Value inputs;
  Value outputs;
  Value settings;
  double time_limit = 600;
  double memory_limit_gib = 4;
  double output_limit_gib = 4;
};

config::Fields fields(CommandKeys& c) {
  constexpr double most_gib = 1 << 20;
  return {
      config::field("title", c.title, "What people see of it").required().not_empty(),
      config::field("help", c.help, "What it does, in a sentence or two").required().not_empty(),
      config::field("version", c.version, "Raised when it puts out something else for a reason in no file")
          .within(1, 1'000'000'000),
      config::field("program", c.program, "File in the folder of commands").required().not_empty(),
      config::field("interpreter", c.interpreter, "What runs it; a path from that folder, or absolute")
          .optional(),
      config::field("arguments", c.arguments, "Words before the name of the file that tells what to do"),
      config::field("files", c.files, "Files in that folder that it reads"),
      config::field("environment", c.environment, "Variables, as NAME: text"),
      config::field("inputs", c.inputs, "Its inputs, by name"),
      config::field("outputs", c.outputs, "Its outputs, by name").required(),
      config::field("settings", c.settings, "Its settings, by name"),
      config::field("time_limit", c.time_limit, "Seconds that it may take").above(0).within(0, 1e7),
      config::field("memory_limit_gib", c.memory_limit_gib, "Memory that it may use")
          .above(0)
          .within(0, most_gib),
      config::field("output_limit_gib", c.output_limit_gib, "Size of all files that it may write")
          .above(0)
          .within(0, most_gib),
  };
}

struct InputKeys {
  CommandInputType type = CommandInputType::table;
  std::string help;
  bool optional = false;
  bool several = false;
};

config::Fields fields(InputKeys& c) {
  return {config::field("type", c.type, "What it carries"),
          config::field("help", c.help, "What it is").required().not_empty(),
          config::field("optional", c.optional, "It need not be connected"),
          config::field("several", c.several, "It takes several connections")};
}

struct OutputKeys {
  CommandOutputType type = CommandOutputType::table;
  std::string help;
  Value columns;
  std::optional<std::int64_t> most_rows;
};

config::Fields fields(OutputKeys& c) {
  return {config::field("type", c.type, "What it carries"),
          config::field("help", c.help, "What it is").required().not_empty(),
          config::field("columns", c.columns, "Columns that must be there, as NAME: kind"),
          config::field("most_rows", c.most_rows, "Rows that it may have").at_least(1)};
}

struct SettingKeys {
  SettingType type = SettingType::text;
  std::string help;
  std::optional<double> least;
  std::optional<double> most;
  std::vector<std::string> choices;
};

config::Fields fields(SettingKeys& c) {
  return {config::field("type", c.type, "Type of its values").required(),
          config::field("help", c.help, "What it does").required().not_empty(),
          config::field("least", c.least, "Least value"), config::field("most", c.most, "Most value"),
          config::field("choices", c.choices, "Texts of which it is one")};
}

bool is_name(std::string_view name, std::string_view others_than_letters, std::size_t longest) {
  return !name.empty() && name.size() <= longest && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, [&](char c) {
           return (c >= 'a' && c <= 'z') || others_than_letters.find(c) != std::string_view::npos;
         });
}

// The path that is meant, with links followed; none that leads out of the folder.
std::optional<fs::path> inside(const std::string& name, const fs::path& folder) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return std::nullopt;
  const fs::path whole = fs::weakly_canonical(root / name, error);
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), whole.begin(), whole.end());
  if (error || end != root.end() || rest == whole.end()) return std::nullopt;
  return whole;
}

std::uint64_t bytes_of(double gib) {
  return static_cast<std::uint64_t>(gib * (std::uint64_t{1} << 30U));
}

// Whoever can change it could run what they like.
std::string who_may_write(const fs::path& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return "is not there";
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "may be changed by others than its owner; take that from them (chmod go-w)";
  if (found.st_uid != 0 && found.st_uid != geteuid()) return "belongs to another user";
  return "";
}

// One declaration; what is wrong with it goes to the diagnostics.
class DeclarationReader {
 public:
  DeclarationReader(const fs::path& folder, Diagnostics& diagnostics)
      : folder_(folder), diagnostics_(diagnostics) {}

  CommandDeclaration read(const Value& value) {
    const auto keys = config::read<CommandKeys>(value, "", diagnostics_);
    CommandDeclaration command;
    command.title = keys.title;
    command.help = keys.help;
    command.version = static_cast<int>(keys.version);
    if (!keys.program.empty()) command.program = own_file(keys.program, line(value, "program"), "program");
    if (!keys.interpreter.empty())
      command.interpreter = (fs::absolute(folder_) / keys.interpreter).lexically_normal();
    check_can_run(command, line(value, "program"), line(value, "interpreter"));
    command.arguments = keys.arguments;
    for (const std::string& file : keys.files)
      command.files.push_back(own_file(file, line(value, "files"), "files"));
    command.environment = environment(keys.environment);
    for (const Entry& each : entries(keys.inputs, "inputs")) command.inputs.push_back(input(each));
    for (const Entry& each : entries(keys.outputs, "outputs")) command.outputs.push_back(output(each));
    if (command.outputs.empty() && diagnostics_.empty())
      diagnostics_.add(line(value, "outputs"), "outputs", "names none; a card puts something out");
    for (const Entry& each : entries(keys.settings, "settings")) command.settings.push_back(setting(each));
    command.time_limit = keys.time_limit;
    command.memory_bytes = bytes_of(keys.memory_limit_gib);
    command.disk_bytes = bytes_of(keys.output_limit_gib);
    return command;
  }

 private:
  static int line(const Value& value, std::string_view key) {
    const Value* found = value.find(key);
    return found == nullptr ? value.line() : found->line();
  }

  fs::path own_file(const std::string& name, int at, const std::string& path) {
    const auto file = inside(name, folder_);
    const std::string problem =
        !file ? fmt::format("must lie in {}", folder_.string()) : problem_with_own_file(*file, folder_);
    if (!problem.empty()) diagnostics_.add(at, path, fmt::format("{} {}", config::in_quotes(name), problem));
    return file.value_or(fs::path());
  }

  void check_can_run(const CommandDeclaration& command, int program_line, int interpreter_line) {
    if (!command.interpreter.empty()) {
      std::string problem = who_may_write(command.interpreter);
      if (problem.empty() &&
          (access(command.interpreter.c_str(), X_OK) != 0 || fs::is_directory(command.interpreter)))
        problem = "is no program that can be run";
      if (!problem.empty())
        diagnostics_.add(interpreter_line, "interpreter",
                         fmt::format("{} {}", command.interpreter.string(), problem));
    } else if (diagnostics_.empty() && access(command.program.c_str(), X_OK) != 0) {
      diagnostics_.add(program_line, "program",
                       fmt::format("{} may not be run; make it executable (chmod u+x), or name what runs it "
                                   "as interpreter",
                                   command.program.string()));
    }
  }

  std::vector<std::string> environment(const Value& map) {
    std::vector<std::string> lines;
    for (const Entry& each : entries(map, "environment")) {
      const auto* text = each.value.get_if<std::string>();
      const bool is_variable = !each.key.empty() && each.key.find('=') == std::string::npos &&
                               each.key.find('\0') == std::string::npos;
      if (text == nullptr || !is_variable) {
        diagnostics_.add(each.line, "environment." + config::shown(each.key),
                         "must be the name of a variable with its text");
      } else {
        lines.push_back(each.key + "=" + *text);
      }
    }
    return lines;
  }

  Value::Map entries(const Value& map, const std::string& path) {
    const auto* all = map.get_if<Value::Map>();
    if (all == nullptr) return {};
    if (all->size() <= most_of_each) return *all;
    diagnostics_.add(map.line(), path,
                     fmt::format("has {} entries; the maximum is {}", all->size(), most_of_each));
    return {};
  }

  void check_name(const Entry& each, const std::string& path, std::string_view others_than_letters,
                  const char* rule) {
    if (!is_name(each.key, others_than_letters, 64)) diagnostics_.add(each.line, path, rule);
  }

  Input input(const Entry& each) {
    const std::string path = "inputs." + config::shown(each.key);
    check_name(each, path, "_", "is no name for an input: use small letters and _");
    const auto keys = config::read<InputKeys>(each.value, path, diagnostics_);
    constexpr std::array types{PortType::table, PortType::report, PortType::model};
    Input input;
    input.name = each.key;
    input.type = types.at(static_cast<std::size_t>(keys.type));
    input.help = keys.help;
    input.takes = keys.several ? (keys.optional ? Takes::any_number : Takes::at_least_one)
                               : (keys.optional ? Takes::at_most_one : Takes::one);
    return input;
  }

  CommandOutput output(const Entry& each) {
    const std::string path = "outputs." + config::shown(each.key);
    check_name(each, path, "_", "is no name for an output: use small letters and _");
    const auto keys = config::read<OutputKeys>(each.value, path, diagnostics_);
    CommandOutput output;
    output.name = each.key;
    output.help = keys.help;
    output.most_rows = keys.most_rows;
    for (const Entry& column : entries(keys.columns, path + ".columns")) {
      ColumnDemand demand = ColumnDemand::any;
      config::field("kind", demand, "")
          .read(column.value, path + ".columns." + config::shown(column.key), diagnostics_);
      output.columns.emplace(column.key, demand);
    }
    return output;
  }

  // Without a default it must be given; null as the default makes it one that may be left out.
  config::Field setting(const Entry& each) {
    const std::string path = "settings." + config::shown(each.key);
    check_name(each, path, "_0123456789", "is no name for a setting: use small letters, digits and _");
    Value declared = each.value;
    const Value* given = each.value.find("default");
    if (auto* map = declared.get_if<Value::Map>())
      std::erase_if(*map, [](const Entry& entry) { return entry.key == "default"; });
    const auto keys = config::read<SettingKeys>(declared, path, diagnostics_);
    constexpr std::array types{config::FieldType::boolean,  config::FieldType::integer,
                               config::FieldType::number,   config::FieldType::text,
                               config::FieldType::integers, config::FieldType::numbers,
                               config::FieldType::texts};
    config::Field field;
    field.name = each.key;
    field.help = keys.help;
    field.type = types.at(static_cast<std::size_t>(keys.type));
    field.least = keys.least;
    field.most = keys.most;
    field.choices = keys.choices;
    check_bounds(field, each.line, path);
    field.is_required = given == nullptr;
    field.is_optional = given != nullptr && given->is_null();
    if (given == nullptr || given->is_null()) return field;
    Value checked;
    field.store_ = [&checked](const Value& value) { checked = value; };
    field.read(*given, path + ".default", diagnostics_);
    field.store_ = nullptr;
    field.default_value = std::move(checked);
    return field;
  }

  void check_bounds(const config::Field& field, int at, const std::string& path) {
    using config::FieldType;
    const bool is_number = field.type == FieldType::integer || field.type == FieldType::number ||
                           field.type == FieldType::integers || field.type == FieldType::numbers;
    const bool is_text = field.type == FieldType::text || field.type == FieldType::texts;
    if ((field.least || field.most) && !is_number)
      diagnostics_.add(at, path, "has a least or most value, but holds no numbers");
    if (field.least && field.most && *field.least > *field.most)
      diagnostics_.add(at, path, "allows nothing: its least value is above its most");
    if (!field.choices.empty() && !is_text) diagnostics_.add(at, path, "has choices, but holds no text");
  }

  const fs::path& folder_;
  Diagnostics& diagnostics_;
};

// The messages of one that is wrong, a line each; none where it is right.
std::string read_command(const fs::path& file, const fs::path& folder,
                         std::vector<CommandDeclaration>& commands) {
  const std::string name = file.stem().string();
  Diagnostics diagnostics(file.string());
  try {
    if (!is_name(name, "_-0123456789", longest_command_name))
      refuse(
          "{}: a command is named by its file: use small letters, digits, _ and -, at most {}, and begin "
          "with a letter",
          printable(file.string()), longest_command_name);
    if (const std::string problem = problem_with_own_file(file, folder); !problem.empty())
      refuse("{} {}", file.string(), problem);
    config::Bounds bounds;
    bounds.bytes = std::size_t{1} << 18U;
    const std::string text = read_file(file, bounds.bytes);
    CommandDeclaration command =
        DeclarationReader(folder, diagnostics).read(config::parse_yaml(text, file.string(), bounds));
    command.name = name;
    command.file = file;
    command.file_sha256 = sha256_of_text(text);
    commands.push_back(std::move(command));
  } catch (const Error& error) {
    return error.what();
  }
  return diagnostics.empty() ? "" : diagnostics.text();
}

}  // namespace

std::string problem_with_own_file(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return fs::exists(file, error) ? "is not a file" : "is not there";
  if (std::string problem = who_may_write(file); !problem.empty()) return problem;
  for (fs::path above = file.parent_path();; above = above.parent_path()) {
    if (const std::string problem = who_may_write(above); !problem.empty())
      return fmt::format("lies in {}, which {}", above.string(), problem);
    if (above == above.parent_path() || fs::equivalent(above, folder, error)) return "";
  }
}

std::vector<CommandDeclaration> commands_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    refuse("{} is no folder: name one with the declarations of commands (--commands, STOKER_COMMANDS)",
           printable(folder.string()));
  const fs::path whole = fs::canonical(folder);
  std::set<fs::path> files;
  for (const fs::directory_entry& each : fs::directory_iterator(whole))
    if (each.path().extension() == ".yaml") files.insert(each.path());
  if (files.size() > most_commands)
    refuse("{} has {} commands; the maximum is {}", whole.string(), files.size(), most_commands);
  std::vector<CommandDeclaration> commands;
  std::vector<std::string> problems;
  for (const fs::path& file : files)
    if (std::string problem = read_command(file, whole, commands); !problem.empty())
      problems.push_back(std::move(problem));
  if (!problems.empty()) refuse("{}", join(problems, "\n"));
  return commands;
}

config::Described settings_of(const CommandDeclaration& command) {
  auto values = std::make_shared<std::vector<Value>>();
  for (const config::Field& each : command.settings) values->push_back(each.default_value);
  config::Described described{values, command.settings};
  for (std::size_t i = 0; i < values->size(); ++i) {
    Value* value = &(*values)[i];
    described.fields[i].store_ = [value](const Value& given) { *value = given; };
    described.fields[i].load_ = [value] { return *value; };
  }
  return described;
}

}  // namespace stoker
