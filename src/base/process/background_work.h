#pragma once

#include <functional>
#include <future>

namespace stoker {

// One piece of work at a time, in a thread of its own, while its owner goes on with something else. Is waited
// for when this goes out of scope; what it throws then is lost, since its owner is on the way out with an
// error of its own.
class BackgroundWork {
 public:
  bool is_under_way() const;
  // When none is under way. Where the system has no thread to give, the work is done at once.
  void begin(std::function<void()> work);
  // Until the last piece has ended. Throws what it threw, once.
  void wait();

 private:
  std::future<void> running_;
};

}  // namespace stoker
