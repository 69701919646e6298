#pragma once

#include <functional>
#include <string>

namespace stoker {

enum class Severity { info, warning };

// How a lower part tells the person something without knowing who listens (terminal, events file, report).
using Notes = std::function<void(Severity, const std::string& message)>;

// For callers who do not want to hear it (tests, prediction of known columns).
inline Notes no_notes() {
  return [](Severity, const std::string&) {};
}

}  // namespace stoker
