#include "train/group/side_by_side.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "device/device.h"
#include "device/workers.h"
#include "torch/door.h"
#include "train/loop/engines.h"

namespace stoker {
namespace {

// Null where models of such a request cannot train side by side. A request that no engine runs says so when
// it is trained alone.
const EngineMaker* group_maker(const EngineRequest& request, EngineChoice choice) {
  try {
    // A group goes through one phase of gradients alone.
    if (phases_of(request.network).size() > 1 || family_of(request.network).restructuring != nullptr)
      return nullptr;
    const EngineMaker& maker = choose_engine(engines(), choice, std::nullopt, request, false);
    return maker.groups(request) ? &maker : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

CpuThreadLimit::CpuThreadLimit(int most) {
  torch_door::limit_cpu_threads(most);
}

CpuThreadLimit::~CpuThreadLimit() {
  torch_door::limit_cpu_threads(0);
}

void work_side_by_side(std::int64_t count, int threads, StopSignal& stop,
                       const std::function<void(std::int64_t)>& work) {
  std::exception_ptr first_error;
  std::mutex mutex;
  share_among_threads(count, threads, [&](std::int64_t i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first_error) first_error = std::current_exception();
      stop.interrupt();
    }
  });
  if (first_error) std::rethrow_exception(first_error);
}

namespace {

// Items that are to be done, and the threads that do them.
class ItemsWithinMemory {
 public:
  ItemsWithinMemory(std::int64_t count, int threads) : count_(count), threads_(threads) {}

  struct Turn {
    std::int64_t item = 0;
    bool is_alone = false;
  };
  std::optional<Turn> next() {
    const std::lock_guard lock(mutex_);
    if (!put_off_.empty()) {
      const std::int64_t item = put_off_.front();
      put_off_.pop_front();
      return Turn{item, threads_ == 1};
    }
    if (next_ < count_) return Turn{next_++, threads_ == 1};
    --threads_;
    return std::nullopt;
  }

  // Whether the calling thread is to go on; thrown on if the item was alone.
  bool put_off(const Turn& turn) {
    const std::lock_guard lock(mutex_);
    if (turn.is_alone) throw;
    put_off_.push_back(turn.item);
    if (threads_ == 1) return true;
    --threads_;
    return false;
  }

 private:
  std::mutex mutex_;
  std::int64_t count_;
  std::int64_t next_ = 0;
  std::deque<std::int64_t> put_off_;
  int threads_;  // that take items
};

}  // namespace

void work_within_memory(std::int64_t count, int threads, StopSignal& stop,
                        const std::function<void(std::int64_t, bool)>& work) {
  const auto workers = static_cast<int>(std::clamp<std::int64_t>(count, 1, std::max(threads, 1)));
  ItemsWithinMemory items(count, workers);
  work_side_by_side(workers, workers, stop, [&](std::int64_t) {
    while (const auto turn = items.next()) {
      try {
        work(turn->item, turn->is_alone);
      } catch (const OutOfMemory&) {
        if (!items.put_off(*turn)) return;
      }
    }
  });
}

void train_side_by_side(std::span<const Member> members, EngineChoice choice, const StopSignal& stop,
                        const MemberEnded& ended, const std::function<bool()>& goes_on) {
  if (members.empty()) return;
  const EngineMaker* maker = members.size() > 1 ? group_maker(members.front().request, choice) : nullptr;
  if (maker != nullptr) return train_group(members, *maker, stop, ended);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0 && !goes_on()) return;
    ended(i, train_member(members[i], choice, stop));
  }
}

int trainings_on_gpu(Device device, const MemoryUse& of_one) {
  constexpr std::uint64_t most = 8;
  std::uint64_t count = std::min<std::uint64_t>(most, static_cast<std::uint64_t>(std::max(1, cpu_cores())));
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == device && of_one.peak > 0)
      count = std::min(count, (info.free_bytes - info.free_bytes / 10) / of_one.peak);
  return static_cast<int>(std::max<std::uint64_t>(count, 1));
}

std::vector<EngineRequest> shapes_of(std::span<const Member> members) {
  std::vector<EngineRequest> shapes;
  for (const Member& member : members) {
    EngineRequest shape = member.request;  // without the data, which is not to be held on to
    shape.training = shape.validation = {};
    shape.initial_parameters.clear();
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace stoker
