#include "base/project_scope.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

thread_local std::string project_of_thread;

// Read each time: a command sets the variable for itself and its children.
std::string project_of_process() {
  const char* told = std::getenv(project_variable);
  std::string project = told == nullptr ? "" : told;
  if (!project.empty() && !may_be_project(project))
    refuse("{} is '{}', which is not the id of a project; stoker projects list shows them", project_variable,
           printable(project));
  return project;
}

}  // namespace

bool may_be_project(std::string_view id) {
  constexpr std::size_t longest = 64;
  return !id.empty() && id.size() <= longest && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

ProjectScope::ProjectScope(const std::string& project) {
  if (!may_be_project(project)) refuse("'{}' is not the id of a project", printable(project));
  before_ = std::exchange(project_of_thread, project);
}

ProjectScope::~ProjectScope() {
  project_of_thread = std::move(before_);
}

std::string ProjectScope::current() {
  return project_of_thread.empty() ? project_of_process() : project_of_thread;
}

std::string ProjectScope::or_default() {
  std::string project = current();
  return project.empty() ? default_project : project;
}

std::filesystem::path folder_of_project(const std::filesystem::path& data, const std::string& project) {
  return project == default_project ? data : data / "projects" / project;
}

}  // namespace stoker
