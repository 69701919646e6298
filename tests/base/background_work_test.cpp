#include "base/process/background_work.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(BackgroundWork, GoesOnWhileItsOwnerDoesSomethingElse) {
  std::atomic<bool> may_end = false;
  BackgroundWork work;
  EXPECT_FALSE(work.is_under_way());
  work.begin([&] {
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_TRUE(work.is_under_way());
  may_end = true;
  work.wait();
  EXPECT_FALSE(work.is_under_way());
}

TEST(BackgroundWork, TellsItsOwnerOnceWhatWentWrong) {
  BackgroundWork work;
  work.begin([] { throw std::runtime_error("no space"); });
  EXPECT_THROW(work.wait(), std::runtime_error);
  work.wait();
  bool done = false;
  work.begin([&] { done = true; });
  work.wait();
  EXPECT_TRUE(done);
}

TEST(BackgroundWork, IsWaitedForWhenItsOwnerLeaves) {
  std::atomic<bool> done = false;
  {
    BackgroundWork work;
    work.begin([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
    });
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace stoker
