#include "cli/flags/find_run.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "cli/view/terminal.h"

namespace stoker::cli {
namespace {

bool holds(const std::filesystem::path& folder, const char* file) {
  std::error_code ignored;
  return std::filesystem::exists(folder / file, ignored);
}

std::filesystem::path without_trailing_slash(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

bool is_folder(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(name, ignored);
}

// Of the newest run that has a model; one that has none, such as after --only, is passed over by name.
std::filesystem::path newest_model(const std::filesystem::path& out) {
  std::vector<std::string> damaged;
  const std::vector<ListedRun> runs = list_runs(out, damaged, Read::in_part);
  for (const ListedRun& run : runs) {
    if (!holds(run.paths.folder, "model")) continue;
    if (run.id != runs.front().id) {
      tell(fmt::format("the newest run, {}, has no model; using that of {}", runs.front().id, run.id));
    }
    return run.paths.model();
  }
  if (runs.empty()) refuse("there are no runs in {}", out.string());
  refuse("no run in {} has a model; the newest, {}, trained none or did not finish", out.string(),
         runs.front().id);
}

// A text of the winner in a sweep's record; empty where there is none.
std::string text_of_winner(const nlohmann::json& record, const char* member) {
  const nlohmann::json::json_pointer place(std::string("/winner/") + member);
  const bool is_there = record.is_object() && record.contains(place) && record.at(place).is_string();
  return is_there ? record.at(place).get<std::string>() : "";
}

// The model of a sweep is its winner's, the one trained on all rows if there is one, in a run that lies
// beside it, or where the sweep's record has it.
std::filesystem::path model_of_winner(const std::filesystem::path& folder) {
  constexpr std::size_t most_bytes = std::size_t{256} << 20;
  namespace fs = std::filesystem;
  nlohmann::json record;
  if (holds(folder, "sweep.json"))
    record = nlohmann::json::parse(read_file(folder / "sweep.json", most_bytes), nullptr, false);
  const fs::path run = text_of_winner(record, "run");
  const nlohmann::json::json_pointer winning("/winner/trial");
  if (run.empty() && record.is_object() && record.contains(winning))
    refuse("the winner of the sweep {} was not refitted (sweep.refit: none), so it has no model",
           folder.string());
  if (run.empty())
    refuse("the sweep {} has no winner yet; resume it with: stoker sweep --resume {}", folder.string(),
           folder.string());
  for (const fs::path& either : {fs::path(text_of_winner(record, "final_run")), run}) {
    if (either.empty()) continue;
    for (const fs::path& each : {folder.parent_path() / either.filename(), either}) {
      if (!holds(each, "model")) continue;
      tell(fmt::format("{} is a sweep; using the model of its winner, {}", folder.string(), each.string()));
      return each / "model";
    }
  }
  refuse("the winner of the sweep {} has no model: its run {} has not finished or no longer exists",
         folder.string(), run.string());
}

}  // namespace

ListedRun run_named(const std::string& name, const std::filesystem::path& out) {
  const std::filesystem::path folder = without_trailing_slash(name);
  if (is_folder(folder.string()) && holds(folder, "run.json")) {
    return read_run(folder);
  }
  if (name.find('/') != std::string::npos) refuse("{} is not a run folder: it has no run.json", name);
  return find_run(out, name);
}

std::filesystem::path sweep_named(const std::string& name, const std::filesystem::path& out) {
  if (name == "latest") {
    std::vector<std::string> damaged;
    for (const ListedRun& run : list_runs(out, damaged, Read::in_part))
      if (holds(run.paths.folder, "sweep.yaml")) return run.paths.folder;
    refuse("there are no sweeps in {}", out.string());
  }
  return run_named(name, out).paths.folder;
}

std::filesystem::path model_named(const std::string& name, const std::filesystem::path& out) {
  const std::filesystem::path folder = without_trailing_slash(name);
  if (is_folder(name)) {
    if (holds(folder, "model")) return folder / "model";
    if (holds(folder, "sweep.yaml")) return model_of_winner(folder);
    if (holds(folder, "run.json")) refuse("the run {} has no model: it trained none or did not finish", name);
    return folder;  // load_model says what is missing in it
  }
  if (name.find('/') != std::string::npos) refuse("{} is neither a model folder nor a run folder", name);
  if (name == "latest") return newest_model(out);
  const ListedRun run = find_run(out, name);
  if (holds(run.paths.folder, "sweep.yaml")) return model_of_winner(run.paths.folder);
  if (!holds(run.paths.folder, "model")) {
    refuse("the run {} has no model: it trained none or did not finish", run.id);
  }
  return run.paths.model();
}

}  // namespace stoker::cli
