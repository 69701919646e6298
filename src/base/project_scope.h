#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace stoker {

// The project of everything that was made before there were projects, and of the command line.
constexpr const char* default_project = "default";
// Names the project that a process and those that it starts work in.
constexpr const char* project_variable = "STOKER_PROJECT";

// 1 to 64 lower-case letters, digits and "-", which is safe in a path and in SQL.
bool may_be_project(std::string_view id);

// While it exists, its thread works in one project: the stores read and write only rows of that project, and
// documents name only its files. A thread without one works in the project of STOKER_PROJECT. If that is not
// set, the thread sees the rows of all projects, as the queue of jobs does.
class ProjectScope {
 public:
  explicit ProjectScope(const std::string& project);
  ProjectScope(const ProjectScope&) = delete;
  ProjectScope& operator=(const ProjectScope&) = delete;
  ~ProjectScope();

  static std::string current();     // empty: all projects
  static std::string or_default();  // where a row needs one project

 private:
  std::string before_;
};

// The files of a project: those of `default` are in the data folder itself, others in projects/ID of it.
std::filesystem::path folder_of_project(const std::filesystem::path& data, const std::string& project);

}  // namespace stoker
