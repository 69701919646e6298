#pragma once

#include "base/error.h"
#include "pipeline/document/document.h"
#include "pipeline/run/runner.h"

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

// The command that predicts with the model of a run, as a hint: of a table, or of cubes.
std::string way_to_predict(const RunSummary& summary, const std::filesystem::path& model);

// What the cache may hold when a run is over: 4 GiB, or what the environment says (STOKER_CACHE_GIB). It is
// shared by all runs of a folder.
std::uint64_t cache_limit();

}  // namespace stoker::cli
