#include "fused/cuda/compile_once.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace stoker::fused {
namespace {

TEST(CompileOnce, WhoAsksLaterWaitsForTheSameCode) {
  CompileOnce once;
  std::promise<void> begun, go_on;
  std::atomic<int> compiled = 0;
  const auto compile = [&] {
    ++compiled;
    begun.set_value();
    go_on.get_future().wait();
    return CompiledCode{"code", ""};
  };
  std::future<CompiledCode> ahead =
      std::async(std::launch::async, [&] { return once.get("shape", compile); });
  begun.get_future().wait();
  std::future<CompiledCode> later =
      std::async(std::launch::async, [&] { return once.get("shape", compile); });
  go_on.set_value();
  EXPECT_EQ(ahead.get().code, "code");
  EXPECT_EQ(later.get().code, "code");
  EXPECT_EQ(once.get("shape", compile).code, "code");
  EXPECT_EQ(compiled, 1);
}

TEST(CompileOnce, AnotherShapeDoesNotWait) {
  CompileOnce once;
  std::promise<void> begun, go_on;
  std::future<CompiledCode> slow = std::async(std::launch::async, [&] {
    return once.get("slow", [&] {
      begun.set_value();
      go_on.get_future().wait();
      return CompiledCode{"slow code", ""};
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(once.get("other", [] { return CompiledCode{"other code", ""}; }).code, "other code");
  go_on.set_value();
  EXPECT_EQ(slow.get().code, "slow code");
}

TEST(CompileOnce, CodeThatWasGivenUpIsCompiledByWhoWaitedForIt) {
  CompileOnce once;
  std::promise<void> begun, go_on;
  std::future<CompiledCode> ahead = std::async(std::launch::async, [&] {
    return once.get("shape", [&] {
      begun.set_value();
      go_on.get_future().wait();
      return CompiledCode{"", "no longer needed", true};
    });
  });
  begun.get_future().wait();
  std::future<CompiledCode> waiting = std::async(std::launch::async, [&] {
    return once.get("shape", [] { return CompiledCode{"code", ""}; });
  });
  go_on.set_value();
  EXPECT_TRUE(ahead.get().given_up);
  EXPECT_EQ(waiting.get().code, "code");
}

TEST(CompileOnce, AnErrorReachesWhoAskedAndTheNextTriesAgain) {
  CompileOnce once;
  EXPECT_THROW(once.get("shape", []() -> CompiledCode { throw std::runtime_error("disk"); }),
               std::runtime_error);
  EXPECT_EQ(once.get("shape", [] { return CompiledCode{"code", ""}; }).code, "code");
}

TEST(CompileOnce, ForgottenCodeIsMadeAgain) {
  CompileOnce once;
  once.get("shape", [] { return CompiledCode{"first", ""}; });
  once.forget("shape");
  EXPECT_EQ(once.get("shape", [] { return CompiledCode{"second", ""}; }).code, "second");
}

}  // namespace
}  // namespace stoker::fused
