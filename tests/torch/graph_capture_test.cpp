#include <optional>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device.h"
#include "torch/gpu.h"
#include "torch/tensors.h"

// What becomes of a stream when the work that it captures fails.
namespace stoker::torch_door {
namespace {

constexpr int warm_up_runs = 3;  // of a piece, before its capture

class GraphCapture : public testing::Test {
 protected:
  void SetUp() override {
    for (const DeviceInfo& info : list_devices().devices)
      if (info.device.is_cuda() && !device_) device_ = info.device;
    if (!device_) GTEST_SKIP() << "no GPU here";
  }

  // A runner that counts its runs in `count` and calls `fails` in the first that is captured.
  template <class Fails>
  std::unique_ptr<Runner> runner_of(const at::Tensor& count, Fails fails) {
    return gpu::make_graph_runner(
        [this, count, fails](Piece) {
          count.add_(1);
          if (++runs_ == warm_up_runs + 1) fails();
        },
        {count}, {});
  }

  at::Tensor zero() const { return at::zeros({1}, floats_on(*device_)); }

  std::optional<Device> device_;
  const c10::InferenceMode no_autograd_;
  int runs_ = 0;
};

TEST_F(GraphCapture, EndsWhenThereIsNoMemory) {
  const gpu::LentStream stream(torch_device(*device_));
  const c10::StreamGuard guard(stream.get());
  const at::Tensor count = zero();
  const auto runner = runner_of(count, [this] {
    at::empty({std::int64_t{1} << 44}, floats_on(*device_));  // 64 TiB
  });
  EXPECT_THROW(runner->run(Piece::full_batch, 1), c10::OutOfMemoryError);
  EXPECT_EQ(count.item<float>(), 0);
  runner->run(Piece::full_batch, 20);
  EXPECT_EQ(count.item<float>(), 20);
}

TEST_F(GraphCapture, EndsWhenTheWorkFails) {
  const gpu::LentStream stream(torch_device(*device_));
  const c10::StreamGuard guard(stream.get());
  const at::Tensor count = zero();
  const auto runner = runner_of(count, [] { fail("a kernel could not be started"); });
  EXPECT_THROW(runner->run(Piece::full_batch, 1), Error);
  runner->run(Piece::full_batch, 3);
  EXPECT_EQ(count.item<float>(), 3);
}

// Waiting for the device makes a capture invalid, and ending it fails too.
TEST_F(GraphCapture, EndsWhenTheCaptureItselfHasBecomeInvalid) {
  const gpu::LentStream stream(torch_device(*device_));
  const c10::StreamGuard guard(stream.get());
  const at::Tensor count = zero();
  const auto runner = runner_of(count, [count] { count.item<float>(); });
  EXPECT_ANY_THROW(runner->run(Piece::full_batch, 1));
  runner->run(Piece::full_batch, 3);
  EXPECT_EQ(count.item<float>(), 3);
}

TEST_F(GraphCapture, LeavesOtherStreamsAndTheirMemoryAlone) {
  {
    const gpu::LentStream stream(torch_device(*device_));
    const c10::StreamGuard guard(stream.get());
    const auto runner =
        runner_of(zero(), [this] { at::empty({std::int64_t{1} << 44}, floats_on(*device_)); });
    EXPECT_THROW(runner->run(Piece::full_batch, 1), c10::OutOfMemoryError);
  }
  const gpu::LentStream stream(torch_device(*device_));
  const c10::StreamGuard guard(stream.get());
  const at::Tensor count = zero();
  const auto runner = runner_of(count, [] {});
  runner->run(Piece::full_batch, 5);
  EXPECT_EQ(count.item<float>(), 5);
}

}  // namespace
}  // namespace stoker::torch_door
