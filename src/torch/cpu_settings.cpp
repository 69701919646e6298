#include "torch/cpu_settings.h"

#include <algorithm>
#include <atomic>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <omp.h>

#include "device/device.h"
#include "device/flush_to_zero.h"
#include "model/family.h"

// MKL is a part of LibTorch on x86 only.
extern "C" __attribute__((weak)) void MKL_Set_Dynamic(int is_dynamic);
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);

namespace stoker::torch_door {
namespace {

// Multiply-adds of a step that are worth another thread. A step has 40 to 100 operations, and each wakes all
// threads and waits for them, since they sleep in between: some ten microseconds each time, 1 to 4 ms in a
// step, in which one core does about so many multiply-adds.
constexpr std::int64_t work_per_thread = 64'000'000;

std::atomic<int> thread_limit{0};

// At most this many: OMP_NUM_THREADS if it is set, and never more than the cores that this process may use.
int most_threads_of_process() {
  static const int of_openmp = at::get_num_threads();
  return std::max(1, std::min(of_openmp, cpu_cores()));
}

// at::set_num_threads() also forbids MKL to use fewer threads for small products, of which a step has many.
void set_threads(int threads) {
  at::set_num_threads(threads);
  if (MKL_Set_Dynamic != nullptr) MKL_Set_Dynamic(1);
}

// Of those that this process may use, and at most so many (0: any number).
int threads_worth(std::int64_t multiply_adds, int most_threads) {
  int limit = most_threads_of_process();
  if (thread_limit > 0) limit = std::min<int>(limit, thread_limit);
  if (most_threads > 0) limit = std::min(limit, most_threads);
  return static_cast<int>(std::clamp<std::int64_t>(multiply_adds / work_per_thread, 1, limit));
}

void settle_threads(int threads) {
  if (at::get_num_threads() != threads) set_threads(threads);

  // oneDNN on ARM prepares every product anew. addmm of 32 x 13 x 128 on a Neoverse-N1: 650 µs with it, 13 µs
  // with BLAS; no shape up to 4,096 rows was faster with it.
  if (at::globalContext().userEnabledMkldnn()) at::globalContext().setUserEnabledMkldnn(false);
}

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

void begin_on_one_thread() {
  most_threads_of_process();
  set_threads(1);
}

int threads_in_use() {
  return at::get_num_threads();
}

// In a thread that is new to it, the first question takes over the number of all threads, and with it what
// set_threads() takes back.
OnOneThread::OnOneThread() : before_(at::get_num_threads()), before_in_products_(0) {
  thread_local const bool is_known = [] {
    if (MKL_Set_Dynamic != nullptr) MKL_Set_Dynamic(1);
    return true;
  }();
  static_cast<void>(is_known);
  omp_set_num_threads(1);
  if (MKL_Set_Num_Threads_Local != nullptr) before_in_products_ = MKL_Set_Num_Threads_Local(1);
}

OnOneThread::~OnOneThread() {
  omp_set_num_threads(before_);
  if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(before_in_products_);
}

std::int64_t rows_of_step(const EngineRequest& request) {
  return std::min(request.part_rows(), request.training.rows());
}

int threads_for(const EngineRequest& request) {
  // Forward, and backward to the weights and to the inputs.
  return threads_worth(3 * rows_of_step(request) * multiply_adds(request.network), request.threads);
}

void settle_cpu_for(const EngineRequest& request) {
  settle_threads(threads_for(request));
}

void settle_cpu(std::int64_t multiply_adds, int most_threads) {
  settle_threads(threads_worth(multiply_adds, most_threads));
}

}  // namespace stoker::torch_door
