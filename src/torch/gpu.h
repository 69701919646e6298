#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "engine/engine.h"
#include "kernels/launch.h"
#include "torch/runner.h"
#include "torch/step_profile.h"

// What the engines need of CUDA itself. gpu.cpp has it, no_gpu.cpp says what is missing.
namespace stoker::torch_door::gpu {

// A stream that does not wait for the default one and that no other engine has meanwhile: what another thread
// gave it would get into a step that is being captured.
class LentStream {
 public:
  explicit LentStream(c10::Device device);
  LentStream(const LentStream&) = delete;
  LentStream& operator=(const LentStream&) = delete;
  ~LentStream();

  const c10::Stream& get() const { return stream_; }

 private:
  c10::Stream stream_;
};
kernels::Stream handle_of(const c10::Stream& stream);

struct Settings {
  Precision precision = Precision::automatic;
  bool is_deterministic = false;
};
// They hold for the whole process, so they are made before every chunk.
void settle(const Settings& settings);
// As much of it as a prediction needs: engines may be at work.
void multiply_in_fp32();

// Captures each piece the first time it is needed and replays it from then on. `state` is all that a piece
// changes and that counts: warm-up runs before a capture are undone with it. Must be called, and run, with
// the engine's stream current.
std::unique_ptr<Runner> make_graph_runner(Work work, std::vector<at::Tensor> state, const Settings& settings);

MemoryUse memory_use(c10::Device device);

// What LibTorch keeps for later goes back to the device when the last of these ends, so that the next model,
// whoever trains it, finds it free. Its peak is counted from the first one's begin() on.
class BorrowedMemory {
 public:
  BorrowedMemory() = default;
  ~BorrowedMemory();
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;
  void begin(c10::Device device);

 private:
  bool has_begun_ = false;
};

// Marks in the stream that is current when they are made.
std::unique_ptr<DeviceClock> make_clock();

}  // namespace stoker::torch_door::gpu
