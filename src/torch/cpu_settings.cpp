#include "torch/cpu_settings.h"

#include <algorithm>
#include <atomic>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "device/flush_to_zero.h"
#include "model/family.h"

namespace stoker::torch_door {
namespace {

// Multiply-adds of a step that are worth another thread. A step has some forty operations, and each waits for
// all threads: below, that costs more than it brings, and on a busy machine many times more. A batch of 32
// rows through 12,000 weights is 1.2 million, or about 0.2 ms on one core.
constexpr std::int64_t work_per_thread = 16'000'000;

std::atomic<int> thread_limit{0};

// The way of the calling thread and of its team. LibTorch's loops are OpenMP's: as many pieces as threads go
// to one thread each, always the same ones for one caller; one that joins later takes over its caller's way.
void set_flush_to_zero_in_team(bool on) {
  at::parallel_for(0, at::get_num_threads(), 1, [on](std::int64_t, std::int64_t) { set_flush_to_zero(on); });
  set_flush_to_zero(on);
}

}  // namespace

FlushAllToZero::FlushAllToZero() : before_(flushes_to_zero()) {
  set_flush_to_zero_in_team(true);
}

FlushAllToZero::~FlushAllToZero() {
  set_flush_to_zero_in_team(before_);
}

void limit_threads(int most) {
  thread_limit = most;
}

void settle_cpu_for(const EngineRequest& request) {
  const std::int64_t rows = std::min(request.batch_size, request.training.rows());
  // Forward, and backward to the weights and to the inputs.
  settle_cpu(3 * rows * multiply_adds(request.network), request.threads);
}

void settle_cpu(std::int64_t multiply_adds, int most_threads) {
  // Cores, or OMP_NUM_THREADS.
  static const int all_threads = at::get_num_threads();
  int limit = thread_limit > 0 ? std::min<int>(thread_limit, all_threads) : all_threads;
  if (most_threads > 0) limit = std::min(limit, most_threads);
  const int threads = static_cast<int>(std::clamp<std::int64_t>(multiply_adds / work_per_thread, 1, limit));
  if (at::get_num_threads() != threads) at::set_num_threads(threads);

  // oneDNN on ARM prepares every product anew. addmm of 32 x 13 x 128 on a Neoverse-N1: 650 µs with it, 13 µs
  // with BLAS; no shape up to 4,096 rows was faster with it.
  if (at::globalContext().userEnabledMkldnn()) at::globalContext().setUserEnabledMkldnn(false);
}

}  // namespace stoker::torch_door
