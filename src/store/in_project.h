#pragma once

#include <string>

#include "base/project_scope.h"

namespace stoker {

// For the end of a WHERE: only rows of the project that this thread works in. Every statement about rows that
// belong to a project ends with it; an id has no characters that SQL would obey (may_be_project).
inline std::string and_in_project() {
  const std::string project = ProjectScope::current();
  return project.empty() ? "" : " AND project = '" + project + "'";
}

// The same for rows that belong to another row, such as the events of a job: `column` holds its id.
inline std::string and_of_project(const std::string& column, const std::string& table) {
  const std::string project = ProjectScope::current();
  if (project.empty()) return "";
  return " AND " + column + " IN (SELECT id FROM " + table + " WHERE project = '" + project + "')";
}

}  // namespace stoker
