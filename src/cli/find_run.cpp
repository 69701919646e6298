#include "cli/find_run.h"

#include "base/error.h"

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

}  // namespace

ListedRun run_named(const std::string& name, const std::filesystem::path& out) {
  const std::filesystem::path folder = without_trailing_slash(name);
  if (is_folder(folder.string()) && holds(folder, "run.json")) {
    const RunPaths paths{folder};
    return {std::filesystem::weakly_canonical(folder).filename().string(), paths, read_record(paths)};
  }
  if (name.find('/') != std::string::npos) refuse("{} is not a run folder: it has no run.json", name);
  return find_run(out, name);
}

std::filesystem::path sweep_named(const std::string& name, const std::filesystem::path& out) {
  if (name == "latest") {
    std::vector<std::string> damaged;
    for (const ListedRun& run : list_runs(out, damaged))
      if (holds(run.paths.folder, "sweep.yaml")) return run.paths.folder;
    refuse("there are no sweeps in {}", out.string());
  }
  return run_named(name, out).paths.folder;
}

std::filesystem::path model_named(const std::string& name, const std::filesystem::path& out) {
  const std::filesystem::path folder = without_trailing_slash(name);
  if (is_folder(name)) {
    if (holds(folder, "model")) return folder / "model";
    if (holds(folder, "sweep.yaml"))
      refuse("{} is a sweep; its winner's model is in a run of its own, which sweep.json names", name);
    if (holds(folder, "run.json"))
      refuse("the run {} has no model: it trained none, or did not finish", name);
    return folder;  // load_model says what is missing in it
  }
  if (name.find('/') != std::string::npos) refuse("no model folder and no run folder at {}", name);
  const ListedRun run = find_run(out, name);
  if (!holds(run.paths.folder, "model")) {
    refuse("the run {} has no model: it trained none, or did not finish", run.id);
  }
  return run.paths.model();
}

}  // namespace stoker::cli
