#pragma once

#include <string>

#include "base/error.h"

namespace stoker {

// What was read or written is not there, or the folder that it is in. To whoever was using it a moment ago it
// says that somebody has removed it.
class FileMissing : public Error {
 public:
  explicit FileMissing(const std::string& message)
      : Error(ExitCode::wrong_request, message, Cause::machine) {}
};

}  // namespace stoker
