#pragma once
// Arrow's results become values or errors of the house; for the .cpp files of this room.

#include <string>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>

#include "base/error.h"
#include "data/memory/reading_memory.h"

namespace stoker {

// Arrow's pool of threads says so in words alone.
inline bool lacks_threads(const arrow::Status& status) {
  return status.message().find("launch worker thread") != std::string::npos;
}

// Memory or threads that the machine does not give are nobody's wrong request.
inline void fail_for_machine(const arrow::Status& status, const std::string& what) {
  if (status.IsOutOfMemory()) {
    note_that_memory_ran_out();  // in a pool that is not ours, it may be
    throw OutOfMemory(fmt::format("{}: out of memory ({})", what, status.message()));
  }
  if (lacks_threads(status)) {
    throw Error(ExitCode::run_failed,
                fmt::format("{}: the system cannot start another thread ({}); raise the limit on processes "
                            "(ulimit -u) or on memory (ulimit -v)",
                            what, status.message()),
                Cause::machine);
  }
}

// Reading what a person gave: an error is a wrong request. `complaint` goes on from the name: "is damaged".
inline void or_refuse(const arrow::Status& status, const std::string& name,
                      const std::string& complaint = "") {
  fail_for_machine(status, name);
  if (!status.ok()) refuse("{}{}{}: {}", name, complaint.empty() ? "" : " ", complaint, status.message());
}

template <class T>
T or_refuse(arrow::Result<T> result, const std::string& name, const std::string& complaint = "") {
  or_refuse(result.status(), name, complaint);
  return std::move(result).ValueUnsafe();
}

// Work on data that was checked already: an error is a failed run.
inline void or_fail(const arrow::Status& status, const std::string& what) {
  fail_for_machine(status, what);
  if (!status.ok()) fail("{}: {}", what, status.message());
}

template <class T>
T or_fail(arrow::Result<T> result, const std::string& what) {
  or_fail(result.status(), what);
  return std::move(result).ValueUnsafe();
}

}  // namespace stoker
