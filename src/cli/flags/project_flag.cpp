#include "cli/flags/project_flag.h"

#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "store/document_store.h"

namespace stoker::cli {

void add_project_flag(CLI::App& app) {
  const auto name_project = [](const std::string& project) {
    std::string id = project;
    if (project != default_project) {
      Records records;
      if (records.to_read() == nullptr)
        refuse("there is no project '{}': {} has none yet", printable(project), records.place());
      id = DocumentStore(records).project_called(project).id;
    }
    // No other thread is there yet that could read the environment.
    setenv(project_variable, id.c_str(), 1);
  };
  app.add_option_function<std::string>(
      "--project", name_project, "Project of the datasets, by id or name (STOKER_PROJECT); default: default");
}

}  // namespace stoker::cli
