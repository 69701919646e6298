#include "serve/http/rate_limit.h"

#include <algorithm>

namespace stoker::serve {

bool RateLimit::allows(const std::string& who, double cost) {
  if (per_second_ <= 0) return true;
  constexpr std::size_t most_remembered = 10'000;
  const double most = 2 * per_second_;
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (buckets_.size() > most_remembered) buckets_.clear();
  auto [found, is_new] = buckets_.try_emplace(who, Bucket{most, now});
  Bucket& bucket = found->second;
  bucket.tokens = std::min(
      most, bucket.tokens + per_second_ * std::chrono::duration<double>(now - bucket.filled).count());
  bucket.filled = now;
  if (bucket.tokens < cost) return false;
  bucket.tokens -= cost;
  return true;
}

}  // namespace stoker::serve
