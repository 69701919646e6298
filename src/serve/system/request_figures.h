#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "serve/http/route.h"

namespace stoker::serve {

// How many requests came for each route, how they were answered and how long that took. Usable from several
// threads.
class RequestFigures {
 public:
  // Null: there was no such route.
  void add(const Route* route, int status, double seconds);
  // In the text format of Prometheus.
  std::string text() const;

 private:
  static constexpr std::array<double, 7> bounds{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10};
  struct Times {
    std::array<std::uint64_t, bounds.size()> within{};  // each bound, the smaller ones included
    std::uint64_t count = 0;
    double seconds = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<const Route*, int>, std::uint64_t> answers_;
  std::map<const Route*, Times> times_;
};

}  // namespace stoker::serve
