#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "serve/http/route.h"

namespace stoker::serve {

// How many streams each token has open, so that one client cannot keep the threads of streams from others.
class StreamCount {
 public:
  static constexpr int most_of_token = 16;

  // Counts one until the result is destroyed, which may be after this object. Throws 429 if the token has too
  // many.
  std::shared_ptr<const void> enter(const std::string& token) {
    const std::lock_guard lock(counts_->mutex);
    int& count = counts_->of_tokens[token];
    if (count >= most_of_token)
      throw HttpError(
          429, fmt::format("the token has {} streams open, the most that it may have; close one of them",
                           most_of_token));
    ++count;
    return {nullptr, [counts = counts_, token](const void*) {
              const std::lock_guard leaving(counts->mutex);
              if (--counts->of_tokens[token] == 0) counts->of_tokens.erase(token);
            }};
  }

 private:
  struct Counts {
    std::mutex mutex;
    std::map<std::string, int> of_tokens;
  };
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace stoker::serve
