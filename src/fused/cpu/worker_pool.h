#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace stoker::fused_cpu {

// Threads that share the pieces of one step after the other. They stay awake for a moment after a step, since
// the next one follows at once, and sleep when none does. Subnormal numbers are zeros to them.
class WorkerPool {
 public:
  // The caller's included; 1: no others. Fewer if the machine gives no more.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls work(0) … work(count - 1), which must not throw, and returns when all are done.
  template <class Work>
  void share(std::int64_t count, Work& work) {
    run(
        count, [](void* context, std::int64_t item) { (*static_cast<Work*>(context))(item); }, &work);
  }

 private:
  using Call = void (*)(void* context, std::int64_t item);
  void run(std::int64_t count, Call call, void* context);
  void take_items();
  void serve();

  Call call_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  bool is_over_ = false;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint32_t> round_{0};
  std::atomic<int> busy_{0};
  std::vector<std::jthread> others_;  // last: they end before what they use
};

}  // namespace stoker::fused_cpu
