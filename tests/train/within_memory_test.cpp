// Work that needs more memory than all threads can have at once.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/group/side_by_side.h"

namespace stoker {
namespace {

// Room for so many items at once.
class RoomForItems {
 public:
  explicit RoomForItems(int items) : left_(items) {}
  void take() {
    if (left_.fetch_sub(1) > 0) return;
    ++left_;
    throw OutOfMemory("no room");
  }
  void give_back() { ++left_; }

 private:
  std::atomic<int> left_;
};

TEST(WithinMemory, ItemsThatFindNoRoomAreDoneAfterTheOthers) {
  for (const int room_for : {1, 3, 8}) {
    RoomForItems room(room_for);
    StopSignal stop;
    std::mutex mutex;
    std::multiset<std::int64_t> done;
    work_within_memory(40, 8, stop, [&](std::int64_t item, bool) {
      room.take();
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      done.insert(item);
      room.give_back();
    });
    EXPECT_EQ(done.size(), 40U) << room_for;
    EXPECT_EQ(std::set(done.begin(), done.end()).size(), 40U) << room_for;
    EXPECT_EQ(stop.reason(), StopReason::none);
  }
}

TEST(WithinMemory, AnItemThatFindsNoRoomAloneEndsIt) {
  StopSignal stop;
  std::atomic<int> alone{0};
  EXPECT_THROW(work_within_memory(6, 3, stop,
                                  [&](std::int64_t item, bool is_alone) {
                                    if (item != 4) return;
                                    if (is_alone) ++alone;
                                    throw OutOfMemory("larger than the machine");
                                  }),
               OutOfMemory);
  EXPECT_EQ(alone, 1);
}

TEST(WithinMemory, OtherErrorsEndItAtOnce) {
  StopSignal stop;
  EXPECT_THROW(work_within_memory(6, 3, stop, [](std::int64_t, bool) { refuse("wrong"); }), Error);
  EXPECT_EQ(stop.reason(), StopReason::interrupted);
}

}  // namespace
}  // namespace stoker
