#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "serve/access/client_words.h"
#include "serve/http/route.h"

namespace stoker::serve {

// What a run of the program itself came to, for work that is long, takes much memory or needs LibTorch: it
// takes none of that into the service, and can be ended.
struct ProgramRun {
  int exit_code = 0;  // 128 and more: ended by a signal
  std::string output;
  std::string errors;
};

// Waits for it, and ends it after `limit`, or as soon as the client of `call` has left. Throws HttpError: 429
// where too many run already, of everybody or of the token of `call`, 503 where its
// time is over, 422 with its own words where it refuses: paths by `names`, and without options.
ProgramRun run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                       std::chrono::seconds limit, const NamedPaths& names = {}, const Call* call = nullptr);

// What it noted and warned of beside its answer, as a client is told it.
std::vector<std::string> notes_of(const ProgramRun& run, const NamedPaths& names);

// Ends those that run, and whatever others would begin: the service is about to stop.
void end_program_runs();

}  // namespace stoker::serve
