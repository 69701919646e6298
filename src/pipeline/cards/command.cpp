#include <algorithm>
#include <csignal>
#include <cstring>
#include <deque>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/without_sync.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/format/table_files.h"
#include "pipeline/card/card.h"
#include "pipeline/card/command_process.h"
#include "pipeline/card/port_files.h"
#include "pipeline/cards/cards.h"
#include "pipeline/document/command_declaration.h"

namespace stoker::cards {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Command = std::shared_ptr<const CommandDeclaration>;

// Whatever may change what it puts out, as far as the operator has declared it.
std::string fingerprint_of(const CommandDeclaration& command) {
  std::vector<fs::path> files = command.files;
  files.push_back(command.program);
  std::string all = command.file_sha256;
  for (const fs::path& file : files) {
    if (const std::string problem = problem_with_own_file(file, command.file.parent_path()); !problem.empty())
      refuse("{} {}", file.string(), problem);
    all += "\n" + sha256_of_file(file);
  }
  return sha256_of_text(all);
}

// What it says goes into the record of the run, but not without end; the last of it also to who asks why.
class HeardLines {
 public:
  HeardLines(const CardContext& context, std::string name) : context_(context), name_(std::move(name)) {}

  void add(std::string_view line) {
    const std::string text = printable(line);
    last_.push_back(text);
    if (last_.size() > most_last) last_.pop_front();
    if (++count_ > most_noted) return;
    // Whoever shows a warning says that it is one.
    constexpr std::string_view mark = "warning:";
    const bool warns = lower_case(text.substr(0, mark.size())) == mark;
    const std::size_t begin = warns ? std::min(text.find_first_not_of(' ', mark.size()), text.size()) : 0;
    context_.listener.note(warns ? Severity::warning : Severity::info,
                           fmt::format("{}: {}", name_, text.substr(begin)));
  }
  void finish() const {
    if (count_ > most_noted)
      context_.listener.note(Severity::info, fmt::format("{}: {} more, which are not noted", name_,
                                                         counted(count_ - most_noted, "line")));
  }
  std::string reasons() const {
    if (last_.empty()) return "; it said nothing";
    return "; its last words:\n" + join(std::vector<std::string>(last_.begin(), last_.end()), "\n");
  }

 private:
  static constexpr std::uint64_t most_noted = 100;
  static constexpr std::size_t most_last = 10;
  const CardContext& context_;
  std::string name_;
  std::uint64_t count_ = 0;
  std::deque<std::string> last_;
};

// One run of a command, in a folder of its own.
class CommandRun {
 public:
  CommandRun(const CommandDeclaration& command, const CardContext& context)
      : command_(command), context_(context), heard_(context, command.name) {
    for (const char* each : {"inputs", "written/work", "written/outputs"}) make_folder(folder_.path() / each);
  }

  PortValues outputs() {
    hand_over();
    const ProgramEnd end =
        run_guarded(program(), context_.stop, [this](std::string_view line) { heard_.add(line); });
    heard_.finish();
    fail_unless_well(end);
    if (fingerprint_of(command_) != context_.outside.fingerprint)
      fail("the files of command {} were changed while it ran; run it again", command_.name);
    if (end.left_behind > 0)
      context_.listener.note(
          Severity::warning,
          fmt::format("{} ended before {} that it had started; these were ended too", command_.name,
                      counted(static_cast<std::uint64_t>(end.left_behind), "program")));
    PortValues values;
    for (const CommandOutput& each : command_.outputs) values.emplace(each.name, table_of(each));
    return values;
  }

 private:
  fs::path output_file(const CommandOutput& output) const {
    return folder_.path() / "written" / "outputs" / port_file_name(output);
  }

  void hand_over() {
    const WithoutSync gone_soon;
    write_file(folder_.path() / "job.json", job().dump(2, ' ', false, json::error_handler_t::replace));
  }

  json job() {
    json inputs = json::object();
    json outputs = json::object();
    for (const Input& input : command_.inputs) {
      json paths = json::array();
      const auto given = context_.inputs.find(input.name);
      if (given != context_.inputs.end())
        for (const PortValue& value : given->second)
          paths.push_back(written_input(input, value, paths.size()));
      if (takes_several(input.takes)) {
        inputs[input.name] = std::move(paths);
      } else {
        inputs[input.name] = paths.empty() ? json() : paths.front();
      }
    }
    for (const CommandOutput& output : command_.outputs) outputs[output.name] = output_file(output).string();
    return {{"command", command_.name},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"settings", config::to_json(context_.config)}};
  }

  std::string written_input(const Input& input, const PortValue& value, std::size_t number) {
    Port port{number == 0 ? input.name : fmt::format("{}_{}", input.name, number + 1), input.type, ""};
    const fs::path inputs = folder_.path() / "inputs";
    if (const Table* table = std::get_if<Table>(&value)) {
      if (table->windows)
        refuse(
            "rows that are windows of a series cannot be handed to a command: put this card before the "
            "windows card");
      refuse_cubes(*table, "a command gets columns");
      warn_of_lost(*table);
      write_port_value(Table{table->columns}, port, inputs);
    } else {
      write_port_value(value, port, inputs);
    }
    return (inputs / port_file_name(port)).string();
  }

  // Rows come back as new ones, of which nobody knows what they were.
  void warn_of_lost(const Table& table) const {
    std::vector<std::string> lost;
    if (!table.group_column.empty())
      lost.push_back(fmt::format("that a split kept them together by {}", table.group_column));
    if (table.time_order) lost.emplace_back("their order in time");
    if (table.first_test_row) lost.emplace_back("which of them are to test with");
    if (lost.empty()) return;
    context_.listener.note(Severity::warning,
                           fmt::format("{} puts out rows of its own, of which is not known any more {}; put "
                                       "this card before the one that divides the rows",
                                       command_.name, join(lost, " and ")));
  }

  GuardedProgram program() const {
    GuardedProgram program;
    if (!command_.interpreter.empty()) program.words.push_back(command_.interpreter.string());
    program.words.push_back(command_.program.string());
    for (const std::string& each : command_.arguments) program.words.push_back(each);
    program.words.push_back((folder_.path() / "job.json").string());
    program.folder = folder_.path() / "written" / "work";
    program.writes_below = folder_.path() / "written";
    program.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                           "HOME=" + program.folder.string(), "TMPDIR=" + program.folder.string()};
    for (const std::string& each : command_.environment) {
      const std::string name = each.substr(0, each.find('=') + 1);
      std::erase_if(program.environment, [&](const std::string& own) { return own.starts_with(name); });
      program.environment.push_back(each);
    }
    program.seconds = command_.time_limit;
    program.memory_bytes = command_.memory_bytes;
    program.disk_bytes = command_.disk_bytes;
    return program;
  }

  void fail_unless_well(const ProgramEnd& end) const {
    const std::string name = "command " + command_.name;
    switch (end.by) {
      case ProgramEnd::By::itself:
        if (end.code != 0) fail("{} ended with exit code {}{}", name, end.code, heard_.reasons());
        return;
      case ProgramEnd::By::signal:
        fail("{} was ended by signal {} ({}){}", name, end.code, strsignal(end.code), heard_.reasons());
      case ProgramEnd::By::time:
        fail("{} took longer than its time_limit of {} s{}", name, command_.time_limit, heard_.reasons());
      case ProgramEnd::By::memory:
        fail("{} used more memory than its memory_limit_gib allows ({}){}", name,
             human_bytes(command_.memory_bytes), heard_.reasons());
      case ProgramEnd::By::disk:
        fail("{} wrote more than its output_limit_gib allows ({}){}", name, human_bytes(command_.disk_bytes),
             heard_.reasons());
      case ProgramEnd::By::stop:
        break;
    }
    if (context_.stop.reason() == StopReason::interrupted)
      throw Error(ExitCode::interrupted, "interrupted while " + name + " ran");
    fail("{} took longer than the time_limit of its card{}", name, heard_.reasons());
  }

  // What somebody else's program wrote.
  Table table_of(const CommandOutput& output) const {
    const fs::path file = output_file(output);
    const std::string name = fmt::format("output {} of command {}", output.name, command_.name);
    std::error_code error;
    const fs::file_status found = fs::symlink_status(file, error);
    if (found.type() == fs::file_type::not_found) fail("{} was not written{}", name, heard_.reasons());
    if (found.type() != fs::file_type::regular) fail("{} is not a plain file", name);
    try {
      const Table table = checked_columns(read_arrow_file(file), name);
      check_columns(output, table, name);
      return table;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& wrong) {  // that of the program, not of who asked for it
      std::string message = wrong.what();
      const std::string path = file.string();
      for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path))
        message.replace(at, path.size(), name);
      throw Error(ExitCode::run_failed, message, wrong.cause());
    }
  }

  static bool meets(ColumnDemand demand, ColumnKind kind) {
    switch (demand) {
      case ColumnDemand::any:
        return true;
      case ColumnDemand::number:
        return kind == ColumnKind::integer || kind == ColumnKind::real;
      case ColumnDemand::boolean:
        return kind == ColumnKind::boolean;
      case ColumnDemand::text:
        return kind == ColumnKind::text;
      case ColumnDemand::time:
        return kind == ColumnKind::time;
    }
    return false;
  }

  static void check_columns(const CommandOutput& output, const Table& table, const std::string& name) {
    if (output.most_rows && table.rows() > *output.most_rows)
      fail("{} has {}; its declaration allows {}", name,
           counted(static_cast<std::uint64_t>(table.rows()), "row"),
           human_count(static_cast<std::uint64_t>(*output.most_rows)));
    const std::vector<KindOfColumn> kinds = kinds_of_columns(table);
    for (const KindOfColumn& each : kinds)
      if (each.kind == ColumnKind::unsupported)
        fail("{}: column '{}' has the type {}; tables hold numbers, texts, times and true or false", name,
             printable(each.name), each.type);
    const std::vector<std::string> names = table.column_names();
    for (const auto& [column, demand] : output.columns) {
      const auto found = std::ranges::find(kinds, column, &KindOfColumn::name);
      if (found == kinds.end())
        fail("{} has no column '{}', which its declaration promises{}", name, column,
             did_you_mean(column, names));
      if (found->kind != ColumnKind::empty && !meets(demand, found->kind))
        fail("{}: column '{}' has the type {}; its declaration promises {}", name, column, found->type,
             config::name_of(demand));
    }
  }

  const CommandDeclaration& command_;
  const CardContext& context_;
  TemporaryFolder folder_;
  HeardLines heard_;
};

}  // namespace

CardType command(CommandDeclaration declaration) {
  const Command command = std::make_shared<const CommandDeclaration>(std::move(declaration));
  CardType type;
  type.name = "command:" + command->name;
  type.version = command->version;
  type.title = command->title;
  type.help = command->help;
  type.inputs = command->inputs;
  type.outputs.assign(command->outputs.begin(), command->outputs.end());
  type.describe = [command] { return settings_of(*command); };
  type.check = [command](const config::Value& config, const std::string& path,
                         config::Diagnostics& diagnostics) {
    const config::Described settings = settings_of(*command);
    config::read_fields(settings.fields, config, path, diagnostics);
    return config::write_fields(settings.fields);
  };
  type.look_outside = [command](const config::Value&, const fs::path&, const StopSignal&,
                                const FindKnownRows&) {
    return Outside{fingerprint_of(*command), nullptr};
  };
  type.run = [command](const CardContext& context) { return CommandRun(*command, context).outputs(); };
  return type;
}

}  // namespace stoker::cards
