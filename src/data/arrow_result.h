#pragma once
// Arrow's results become values or errors of the house; for the .cpp files of this room.

#include <string>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>

#include "base/error.h"

namespace stoker {

// Reading what a person gave: an error is a wrong request.
inline void or_refuse(const arrow::Status& status, const std::string& what) {
  if (status.IsOutOfMemory()) throw OutOfMemory(fmt::format("{}: {}", what, status.message()));
  if (!status.ok()) refuse("{}: {}", what, status.message());
}

template <class T>
T or_refuse(arrow::Result<T> result, const std::string& what) {
  or_refuse(result.status(), what);
  return std::move(result).ValueUnsafe();
}

// Work on data that was checked already: an error is a failed run.
inline void or_fail(const arrow::Status& status, const std::string& what) {
  if (status.IsOutOfMemory()) throw OutOfMemory(fmt::format("{}: {}", what, status.message()));
  if (!status.ok()) fail("{}: {}", what, status.message());
}

template <class T>
T or_fail(arrow::Result<T> result, const std::string& what) {
  or_fail(result.status(), what);
  return std::move(result).ValueUnsafe();
}

}  // namespace stoker
