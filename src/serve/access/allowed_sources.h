#pragma once

#include "pipeline/document/document.h"
#include "serve/service.h"

namespace stoker::serve {

// A document that came over the network reads files of the data folder alone, and addresses and databases
// only where the operator allows them.
void refuse_sources_not_allowed(const Document& document, const ServiceConfig& config);
// Refuses a document that reads datasets by ids which are not on record.
void refuse_datasets_not_there(const Document& document);
// "there is no dataset 'well'; did you mean wells?"
std::string no_such_dataset(const std::string& id);
// What refuse_sources_not_allowed says of paths, for one of them: a document reads files of its project
// alone.
struct AllowedPath {
  const std::filesystem::path& data;  // of all projects
  // Absolute, links followed; refuses what is outside of the project that the thread works in.
  std::filesystem::path operator()(const std::string& path) const;
};

}  // namespace stoker::serve
