#include "base/error.h"
#include "device/cuda.h"

// A build without CUDA: every question has the same answer.
namespace stoker::cuda {
namespace {

constexpr const char* missing =
    "this build has no CUDA; build with `cmake --preset cuda` on a machine with an NVIDIA GPU";

}  // namespace

std::vector<DeviceInfo> devices(std::string& none_because) {
  none_because = missing;
  return {};
}

std::string bus_place(int) {
  return "";
}
std::byte* allocate(std::size_t, int) {
  fail("{}", missing);
}
void release(std::byte*, int) noexcept {}
std::byte* allocate_for_now(std::size_t, int, CUstream_st*) {
  fail("{}", missing);
}
void release_for_now(std::byte*, int, CUstream_st*) noexcept {}
std::byte* allocate_pinned(std::size_t) {
  fail("{}", missing);
}
void release_pinned(std::byte*) noexcept {}
void copy(void*, const void*, std::size_t, int) {
  fail("{}", missing);
}

}  // namespace stoker::cuda
