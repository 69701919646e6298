#include "model/workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "device/device.h"

namespace stoker {

void share_among_threads(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr first_error;
  std::mutex error_lock;
  const auto take_items = [&] {
    try {
      for (std::int64_t item = next++; item < count; item = next++) work(item);
    } catch (...) {
      const std::lock_guard guard(error_lock);
      if (!first_error) first_error = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i)
        others.emplace_back(take_items);
    } catch (const std::system_error&) {
      // The machine has no more threads to give; those that it gave are enough.
    }
    take_items();
  }
  if (first_error) std::rethrow_exception(first_error);
}

void share_among_cores(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  share_among_threads(count, cpu_cores(), work);
}

}  // namespace stoker
