#pragma once

#include "pipeline/document.h"
#include "serve/service.h"

namespace stoker::serve {

// A document that came over the network reads files of the data folder alone, and addresses and databases
// only where the operator allows them.
void refuse_sources_not_allowed(const Document& document, const ServiceConfig& config);
// The same for one source.
struct AllowedPath {
  const std::filesystem::path& data;
  // Absolute, links followed; refuses what is outside.
  std::filesystem::path operator()(const std::string& path) const;
};

}  // namespace stoker::serve
