#include "fused/cpu/worker_pool.h"

#include <system_error>

#include "device/flush_to_zero.h"

namespace stoker::fused_cpu {
namespace {

constexpr int looks_before_sleep = 2000;  // some microseconds

// Returns once the value is no longer `old`.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
  for (int i = 0; i < looks_before_sleep; ++i)
    if (value.load(std::memory_order_acquire) != old) return;
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

WorkerPool::WorkerPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) others_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // The machine gives no more threads. Those that there are do the same work.
  }
}

WorkerPool::~WorkerPool() {
  is_over_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void WorkerPool::run(std::int64_t count, Call call, void* context) {
  call_ = call;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  if (!others_.empty()) round_.notify_all();
  take_items();
  for (int left = busy_.load(std::memory_order_acquire); left != 0;
       left = busy_.load(std::memory_order_acquire))
    wait_while(busy_, left);
}

void WorkerPool::take_items() {
  for (std::int64_t item = next_.fetch_add(1); item < count_; item = next_.fetch_add(1))
    call_(context_, item);
}

void WorkerPool::serve() {
  set_flush_to_zero(true);
  // The pool begins with round 0, whenever this thread gets to run.
  for (std::uint32_t round = 0;; ++round) {
    wait_while(round_, round);
    if (is_over_) return;
    take_items();
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace stoker::fused_cpu
