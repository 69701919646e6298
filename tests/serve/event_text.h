#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace stoker::test {

// The epochs that server-sent events tell of, in their order.
inline std::vector<int> epochs_in(const std::string& events) {
  std::vector<int> epochs;
  for (std::size_t at = events.find("event: epoch_finished"); at != std::string::npos;
       at = events.find("event: epoch_finished", at + 1)) {
    const std::size_t data = events.find("data: ", at) + 6;
    epochs.push_back(
        nlohmann::json::parse(events.substr(data, events.find('\n', data) - data))["epoch"].get<int>());
  }
  return epochs;
}

inline std::vector<int> numbers_to(int last) {
  std::vector<int> numbers;
  for (int i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

}  // namespace stoker::test
