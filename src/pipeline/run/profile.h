#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/time/trace.h"

namespace stoker {

// Where the time of a run went, for people; the trace itself is in profile.json.
struct Profile {
  struct Line {
    std::string name;
    std::int64_t count = 0;
    double seconds = 0;
    double share = 0;  // of its list, from 0 to 1
  };
  // All in the order of their time, the longest first.
  std::vector<Line> parts;  // of the trainings: preparing, placing, steps, checkpoints, …
  std::vector<Line> step;   // of the steps that were looked at: data, forward, backward, optimiser, waiting
  std::vector<Line> operations;  // in them, each without those inside it; the first of many
  std::vector<std::string> notes;
};

Profile profile_of(const Trace& trace);

// In the form of trace events, as ui.perfetto.dev and chrome://tracing open it, with the lists beside them.
// At most a few megabytes.
void write_profile(const Trace& trace, const std::filesystem::path& file);

}  // namespace stoker
