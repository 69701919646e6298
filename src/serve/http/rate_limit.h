#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace stoker::serve {

// So many requests a second of each, and as many at once as pile up in two seconds.
class RateLimit {
 public:
  explicit RateLimit(int per_second) : per_second_(per_second) {}
  bool allows(const std::string& who, double cost = 1);

 private:
  struct Bucket {
    double tokens = 0;
    std::chrono::steady_clock::time_point filled;
  };
  double per_second_;
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace stoker::serve
