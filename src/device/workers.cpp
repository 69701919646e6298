#include "device/workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.h"

namespace stoker {
namespace {

// Threads at work on the items of one call, and the call, if any, of which that is an item.
struct Sharing {
  std::atomic<int> at_work{1};  // who shares the items works too
  const Sharing* outer = nullptr;
};

thread_local const Sharing* sharing_here = nullptr;

class AtWork {
 public:
  explicit AtWork(Sharing& sharing) : sharing_(sharing), before_(std::exchange(sharing_here, &sharing)) {}
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  ~AtWork() {
    sharing_here = before_;
    --sharing_.at_work;
  }

 private:
  Sharing& sharing_;
  const Sharing* before_;
};

}  // namespace

void share_among_threads(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  Sharing sharing;
  sharing.outer = sharing_here;
  std::exception_ptr first_error;
  std::mutex error_lock;
  const auto take_items = [&] {
    const AtWork here(sharing);
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
      for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i) {
        ++sharing.at_work;  // before it runs, so that none of them takes itself for alone
        others.emplace_back(take_items);
      }
    } catch (const std::system_error&) {
      --sharing.at_work;  // The machine has no more threads to give; those that it gave are enough.
    }
    take_items();
  }
  if (first_error) std::rethrow_exception(first_error);
}

int cores_to_share() {
  int cores = cpu_cores();
  for (const Sharing* each = sharing_here; each != nullptr; each = each->outer)
    cores /= std::max(1, each->at_work.load());
  return std::max(1, cores);
}

void share_among_cores(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  share_among_threads(count, cores_to_share(), work);
}

}  // namespace stoker
