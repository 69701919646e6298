#include "data/confined/reader_reach.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "base/address_rule.h"
#include "base/process/landlock.h"
#include "base/project_scope.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "data/format/hdf5_object.h"
#include "data/url/url_secrets.h"
#include "database/postgres/lost_clients.h"
#include "database/postgres/role_rights.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Files that a reader looks for next to a file: names that go on where this one has its ending, as NAME.hdr,
// NAME_mask.npy and NAME-wal do, and of images in IDX form the labels.
bool belongs_to(const std::string& name, const std::string& file) {
  constexpr std::string_view idx = "idx";
  if (name.find(idx) != std::string::npos && file.find(idx) != std::string::npos) return true;
  const std::string stem = file.substr(0, file.find('.', 1));
  if (!name.starts_with(stem)) return false;
  return name.size() == stem.size() || std::isalnum(static_cast<unsigned char>(name[stem.size()])) == 0;
}

std::vector<fs::path> with_files_beside(const fs::path& file) {
  std::vector<fs::path> files{file};
  std::error_code ended;
  for (fs::directory_iterator each(file.parent_path(), ended), end; !ended && each != end;
       each.increment(ended))
    if (belongs_to(each->path().filename().string(), file.filename().string())) files.push_back(each->path());
  return files;
}

// A list of cubes names files in its own folder, or among those that the operator has put there. Only what
// clients have uploaded lies side by side with files of others.
std::vector<fs::path> folders_of_list(const fs::path& list) {
  std::vector<fs::path> folders{folder_of_project(folder_of_confined_readers(), ProjectScope::or_default()) /
                                "datasets"};
  if (list.parent_path().filename() != "uploads") folders.push_back(list.parent_path());
  return folders;
}

}  // namespace

const char* folder_of_confined_readers() {
  return std::getenv(confined_readers_variable);
}

std::vector<fs::path> files_of_source(const SourceConfig& config, const fs::path& base) {
  std::vector<fs::path> files;
  for (const std::string& path : {config.path, config.mask_path}) {
    if (path.empty()) continue;
    const fs::path file = fs::absolute(base / path).lexically_normal();
    const auto beside = with_files_beside(file);
    files.insert(files.end(), beside.begin(), beside.end());
    const std::string ending = lower_case(file.extension().string());
    if (config.source == SourceKind::cubes && (ending == ".csv" || ending == ".txt")) {
      const auto folders = folders_of_list(file);
      files.insert(files.end(), folders.begin(), folders.end());
    }
  }
  return files;
}

std::vector<std::string> environment_of_reader(const SourceConfig& config, const fs::path& scratch) {
  constexpr std::array<const char*, 14> of_everyone{public_addresses_variable,
                                                    database::plain_roles_variable,
                                                    database::query_seconds_variable,
                                                    "TZ",
                                                    "LANG",
                                                    "LC_ALL",
                                                    "LD_LIBRARY_PATH",
                                                    "STOKER_THREADS",
                                                    "STOKER_MEMORY_LIMIT",
                                                    hdf5::cpu_seconds_variable,
                                                    landlock_variable,
                                                    "OMP_NUM_THREADS",
                                                    "ASAN_OPTIONS",
                                                    "UBSAN_OPTIONS"};
  std::vector<std::string> names(of_everyone.begin(), of_everyone.end());
  for (const std::string& address : {config.url, config.uri})
    for (const std::string& name : variables_of_address(address)) {
      names.push_back(name);
      if (const char* value = std::getenv(name.c_str())) hide_value(name, value);
    }
  std::vector<std::string> environment{"TMPDIR=" + scratch.string()};
  // Arrow's allocator would start a thread before the process is confined.
  for (const char* allocator : {"JE_ARROW_MALLOC_CONF", "MALLOC_CONF"})
    environment.push_back(allocator + std::string("=background_thread:false"));
  for (const std::string& name : names)
    if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
  if (config.source != SourceKind::postgres) return environment;
  // PGHOST and its like. The operator's password is not for a server that a client has chosen.
  const bool is_server_of_operator = config.uri.empty() || is_variable_alone(config.uri);
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    if (variable.starts_with("PG") && (is_server_of_operator || !variable.starts_with("PGPASSWORD=")))
      environment.emplace_back(variable);
  }
  return environment;
}

}  // namespace stoker
