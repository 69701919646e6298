#include "report/compare/compare_settings.h"

#include <algorithm>

#include "config/value.h"

namespace stoker {
namespace {

void flatten(const config::Value& value, const std::string& path, RunSettings& into) {
  if (const auto* map = value.get_if<config::Value::Map>()) {
    for (const config::Entry& entry : *map) {
      flatten(entry.value, path.empty() ? entry.key : path + "." + entry.key, into);
    }
    return;
  }
  std::string text = config::to_yaml(value);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  into[path] = text;
}

}  // namespace

RunSettings settings_of(const RunPaths& paths) {
  RunSettings settings;
  const config::Value document = config::load_document(paths.document());
  if (const config::Value* cards = document.find("cards")) flatten(*cards, "", settings);
  return settings;
}

std::vector<std::vector<std::string>> differing_settings(const std::vector<ListedRun>& runs) {
  std::vector<RunSettings> all;
  RunSettings paths;
  for (const ListedRun& run : runs) {
    all.push_back(settings_of(run.paths));
    paths.insert(all.back().begin(), all.back().end());
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [path, ignored] : paths) {
    std::vector<std::string> row{path};
    for (const RunSettings& settings : all) {
      const auto found = settings.find(path);
      row.push_back(found == settings.end() ? "" : found->second);
    }
    const bool same =
        std::all_of(row.begin() + 1, row.end(), [&row](const std::string& text) { return text == row[1]; });
    if (!same) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace stoker
