#include "serve/api/dataset_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "data/arrays/envi.h"
#include "data/source/source.h"
#include "serve/access/allowed_sources.h"
#include "serve/access/allowed_variables.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The command takes a file, a variable or an option where it finds no address.
std::string sound_address(const std::string& address, const char* setting,
                          const std::vector<std::string>& beginnings, const ServiceConfig& config) {
  const std::string start = lower_case(address.substr(0, 16));
  if (std::ranges::none_of(beginnings, [&](const std::string& each) { return start.starts_with(each); }))
    refuse("{}: an address begins with {}", setting, join(beginnings, " or "));
  refuse_variables_not_allowed(address, config.variables);
  return address;
}

}  // namespace

std::string place_of_source(const SourceConfig& source, const ServiceConfig& config) {
  for (const SettingProblem& problem : problems_with(source))
    refuse("source.{}: {}", problem.setting, problem.problem);
  if (!source.mask_path.empty()) AllowedPath{config.data}(source.mask_path);
  switch (source.source) {
    case SourceKind::sample:
      return fmt::format("sample:{}", config::name_of(source.sample_name));
    case SourceKind::url:
      if (!config.allows_urls)
        refuse("this service fetches nothing from addresses; its operator can allow it (--allow-urls)");
      return sound_address(source.url, "source.url", {"http://", "https://"}, config);
    case SourceKind::postgres:
      if (!config.allows_databases)
        refuse(
            "this service reads no databases by their address; its operator can allow it "
            "(--allow-databases)");
      return sound_address(source.uri, "source.uri", {"postgres://", "postgresql://", "${"}, config);
    case SourceKind::datasets:
      refuse("a dataset is put on record by what it is read from, not by other datasets");
    case SourceKind::cubes:
      return "cubes:" + AllowedPath{config.data}(source.path).string();
    default:
      return AllowedPath{config.data}(source.path).string();
  }
}

std::vector<std::string> flags_of_source(const SourceConfig& source) {
  constexpr std::array<std::string_view, 8> told_otherwise{
      "source", "path", "url", "sample_name", "uri", "refresh", "refresh_query", "dataset_ids"};
  const json usual = config::to_json(config::write(SourceConfig{}));
  const json given = config::to_json(config::write(source));
  std::vector<std::string> flags;
  for (const auto& [name, value] : given.items()) {
    const bool is_told = std::ranges::find(told_otherwise, name) != told_otherwise.end();
    if (is_told || value.is_null() || value == usual.at(name)) continue;
    std::string flag = "--" + name;
    std::ranges::replace(flag, '_', '-');
    if (value.is_object()) {
      for (const auto& [column, form] : value.items())
        flags.push_back(fmt::format("{}={}={}", flag, column, form.get<std::string>()));
    } else {
      flags.push_back(
          fmt::format("{}={}", flag, value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  return flags;
}

DatasetRecord dataset_named(const std::string& id) {
  DatasetStore store;
  if (!store.has(id)) throw NotFound(fmt::format("there is no dataset '{}'", printable(id)));
  return store.find(id);
}

NamedPaths names_of_file(const DatasetRecord& record) {
  const std::string& path = record.source.path;
  if (path.empty()) return {};
  // What was sent is called by the name that it was sent under.
  const bool is_called_otherwise = record.name.find(path) == std::string::npos && !record.name.empty();
  return {{path, is_called_otherwise ? record.name : fs::path(path).filename().string()}};
}

std::vector<std::string> flags_of_keys(const Call& call) {
  std::vector<std::string> flags;
  if (const std::string key = call.text("cube_key"); !key.empty()) flags.push_back("--cube-key=" + key);
  if (const std::string key = call.text("mask_key"); !key.empty()) flags.push_back("--mask-key=" + key);
  return flags;
}

void refuse_part_of_cube(const std::string& name) {
  const std::string ending = lower_case(fs::path(name).extension().string());
  if (ending == ".cu3s")
    throw HttpError(422,
                    fmt::format("name: '{}' is in a form of its maker alone: export the cubes as npy or npz "
                                "(docs/spectral.md) and send these",
                                printable(name)));
  if (is_envi_name(name) && ending != ".dat")
    throw HttpError(
        422, fmt::format("name: '{}' is one of the two files of a cube in ENVI form: send the header and its "
                         "numbers together in one zip archive",
                         printable(name)));
}

}  // namespace stoker::serve
