#pragma once

#include <cstddef>

#include "device/cuda.h"
#include "kernels/place.h"

namespace stoker::kernels {

// Memory of a GPU that a call gives back when it is done.
class PassingRoom {
 public:
  PassingRoom(std::size_t bytes, const Place& place)
      : place_(place), bytes_(cuda::allocate_for_now(bytes, place.device.index, place.stream)) {}
  PassingRoom(const PassingRoom&) = delete;
  PassingRoom& operator=(const PassingRoom&) = delete;
  ~PassingRoom() { cuda::release_for_now(bytes_, place_.device.index, place_.stream); }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(bytes_);
  }

 private:
  Place place_;
  std::byte* bytes_;
};

}  // namespace stoker::kernels
