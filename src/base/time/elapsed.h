#pragma once

#include <chrono>

// How long something takes, by a clock that is never set.
namespace stoker {

using Moment = std::chrono::steady_clock::time_point;

inline Moment now() {
  return std::chrono::steady_clock::now();
}
inline double seconds_since(Moment start) {
  return std::chrono::duration<double>(now() - start).count();
}

}  // namespace stoker
