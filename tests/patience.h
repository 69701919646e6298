#pragma once

#include <chrono>
#include <thread>

namespace stoker::test {

// How long a test waits for what will come, in place of a time that a busy machine may need. Only a test that
// hangs ever waits this long.
constexpr std::chrono::seconds an_hour = std::chrono::hours(1);

// True as soon as the condition is; false if it does not become so.
template <class Condition>
bool comes_true(const Condition& condition,
                std::chrono::milliseconds between_looks = std::chrono::milliseconds(5)) {
  const auto end = std::chrono::steady_clock::now() + an_hour;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

}  // namespace stoker::test
