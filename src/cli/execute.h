#pragma once

#include "base/error.h"
#include "pipeline/document.h"
#include "pipeline/runner.h"

namespace stoker::cli {

// How a person wants to see a run.
struct ShowOptions {
  bool json = false;
  bool quiet = false;
  std::string progress_file;  // see progress_file.h; empty: none
};

// Runs the document under the eyes of a person who may press Ctrl-C, then prints the results and where
// everything is. The commands run and train end here.
ExitCode execute(const Document& document, const RunOptions& options, const ShowOptions& show);

// What the cache may hold when a run is over: 4 GiB, or what the environment says (STOKER_CACHE_GIB). It is
// shared by all runs of a folder.
std::uint64_t cache_limit();

}  // namespace stoker::cli
