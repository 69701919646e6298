#include "data/memory/arrow_threads.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/util/thread_pool.h>

#include "data/memory/reading_memory.h"
#include "device/device.h"

namespace stoker {
namespace {

std::atomic<bool> was_refused{false};  // a thread, or may be the next time

// Tasks that wait for each other, so that each of them needs a thread of its own.
class Meeting {
 public:
  void attend() {
    std::unique_lock lock(mutex_);
    over_.wait(lock, [this] { return is_over_; });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
};

// Threads of our own, which can be missing without harm.
bool system_gives_threads(int count) {
  Meeting meeting;
  std::vector<std::jthread> threads;
  bool are_enough = true;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([&] { meeting.attend(); });
  } catch (const std::exception&) {  // no thread, or no memory for what it needs
    are_enough = false;
  }
  meeting.end();
  return are_enough;
}

bool start_all(arrow::internal::Executor* pool, int count) {
  const auto meeting = std::make_shared<Meeting>();
  bool are_enough = true;
  try {
    for (int i = 0; i < count && are_enough; ++i)
      are_enough = pool->Spawn([meeting] { meeting->attend(); }).ok();
  } catch (const std::exception&) {
    are_enough = false;
  }
  meeting->end();
  return are_enough;
}

bool has_threads() {
  static const bool has = [] {
    arrow::internal::Executor* const computing = arrow::internal::GetCpuThreadPool();
    arrow::internal::Executor* const reading = arrow::io::default_io_context().executor();
    // Arrow's default is the number of cores in the machine, whatever this process may use of them.
    if (const int cores = cpu_cores(); cores < computing->GetCapacity())
      static_cast<void>(arrow::SetCpuThreadPoolCapacity(cores));
    const int computers = computing->GetCapacity();
    const int readers = reading->GetCapacity();
    const bool has_all = system_gives_threads(computers + readers) && start_all(computing, computers) &&
                         start_all(reading, readers);
    was_refused = !has_all;
    return has_all;
  }();
  return has;
}

}  // namespace

bool reads_in_threads(const std::filesystem::path& file) {
  constexpr std::uintmax_t large_bytes = std::uintmax_t{1} << 20;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  return !unknown && bytes >= large_bytes && has_threads();
}

bool arrow_may_wait_in_vain() {
  return was_refused || memory_ran_out();
}

}  // namespace stoker
