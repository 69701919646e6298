#pragma once

#include <string>

namespace stoker {

// What happened to one card.
struct CardOutcome {
  std::string id;
  std::string type;
  bool reused = false;  // its output came from the cache
  double seconds = 0;
};

}  // namespace stoker
