#include "base/error.h"
#include "torch/gpu.h"

// A build without CUDA: every question has the same answer.
namespace stoker::torch_door::gpu {
namespace {

constexpr const char* missing =
    "this build has no CUDA; build with `cmake --preset cuda` on a machine with an NVIDIA GPU";

}  // namespace

LentStream::LentStream(c10::Device device) : stream_(c10::Stream::DEFAULT, device) {
  fail("{}", missing);
}
LentStream::~LentStream() = default;
kernels::Stream handle_of(const c10::Stream&) {
  fail("{}", missing);
}
void settle(const Settings&) {
  fail("{}", missing);
}
void multiply_in_fp32() {
  fail("{}", missing);
}
std::unique_ptr<DeviceClock> make_clock() {
  fail("{}", missing);
}
std::unique_ptr<Runner> make_graph_runner(Work, std::vector<at::Tensor>, const Settings&) {
  fail("{}", missing);
}

MemoryUse memory_use(c10::Device) {
  return {};
}
void BorrowedMemory::begin(c10::Device) {
  fail("{}", missing);
}
BorrowedMemory::~BorrowedMemory() = default;

}  // namespace stoker::torch_door::gpu
