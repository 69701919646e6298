#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/cubes/cube_rows.h"
#include "device/workers.h"
#include "engine/engine.h"
#include "fused/cuda/device_memory.h"
#include "kernels/quadratic_work.h"
#include "model/nodes/fused_chain.h"
#include "model/nodes/node_network.h"

namespace stoker::fused::cubes {

// The cubes of a dataset. Where they do not lie in memory that the GPU reads, those of a batch are brought
// there.
class CubesOnGpu {
 public:
  CubesOnGpu(const stoker::nodes::NodeNetwork& network, const Dataset& data, const EngineRequest& request,
             Stream stream)
      : cubes_(*data.find(cubes_in_dataset)),
        masks_(*data.find(masks_in_dataset)),
        device_(request.device),
        stream_(stream),
        brings_batches_(request.brings_batches && cubes_.array.memory() == Memory::host) {
    const Shape shape = cubes_.row_shape();
    channels_ = shape[2];
    first_pixels_ = first_pixels(cubes_);
    pixels_of_cube_ = shape[0] * shape[1];
    all_.pixels = pointer<float>(cubes_.array);
    all_.classes = pointer<std::uint8_t>(masks_.array);
    all_.pixels_of_cube = pixels_of_cube_;
    std::ranges::fill(all_.is_marked, ~std::uint32_t{0});
    for (const std::int64_t each : network.normal_classes)
      all_.is_marked[each / 32] &= ~(std::uint32_t{1} << (each % 32));
    const Array first = cubes_.array.seen_as(first_pixels_.at(0) * channels_, {channels_}).to_host();
    near_.assign(first.as<float>().begin(), first.as<float>().end());
    shift_ = device_memory<float>(near_.size(), device_, stream);
    upload(shift_, 0, near_.data(), near_.size(), stream);
    none_ = {{"cube", Array(DType::float32, {0, shape[0], shape[1], channels_})},
             {"mask", Array(DType::uint8, {0, shape[0], shape[1], 1})}};
    if (!network.wavelengths.empty()) {
      std::vector<float> wavelengths(network.wavelengths.begin(), network.wavelengths.end());
      none_["wavelengths"] = Array::from<float>(wavelengths, {std::ssize(wavelengths)});
    }
    if (brings_batches_) make_room_for(std::min(request.batch_size, data.rows()));
  }

  // `near`, `none` and how many there are.
  stoker::nodes::PixelsOfBatch pixels_of(std::span<const std::int64_t> rows) const {
    stoker::nodes::PixelsOfBatch pixels;
    pixels.rows = std::ssize(rows) * pixels_of_cube_;
    pixels.near = near_;
    pixels.none = none_;
    return pixels;
  }
  // Where those of a batch begin, when they are there; what was brought before is over.
  std::vector<std::int64_t> first_pixels_of(std::span<const std::int64_t> rows) {
    if (brings_batches_) bring(rows);
    std::vector<std::int64_t> first;
    for (const std::int64_t row : rows)
      first.push_back(brings_batches_ ? std::ssize(first) * pixels_of_cube_
                                      : first_pixels_[static_cast<std::size_t>(row)]);
    return first;
  }
  const kernels::QuadraticCubes& all() const { return all_; }
  const float* shift() const { return pointer<float>(shift_); }
  std::uint64_t bytes_brought() const { return pixels_there_.bytes() + classes_there_.bytes(); }

 private:
  void make_room_for(std::int64_t rows) {
    const auto pixels = static_cast<std::size_t>(rows * pixels_of_cube_);
    const std::size_t numbers = pixels * static_cast<std::size_t>(channels_);
    pixels_there_ = device_memory<float>(numbers, device_, stream_);
    classes_there_ = device_memory<std::uint8_t>(pixels, device_, stream_);
    pixels_on_way_ = pinned_memory(numbers * sizeof(float));
    classes_on_way_ = pinned_memory(pixels);
    all_.pixels = pointer<float>(pixels_there_);
    all_.classes = pointer<std::uint8_t>(classes_there_);
  }

  // A cube is on its way over the bus while others are still read.
  void bring(std::span<const std::int64_t> rows) {
    const auto pixels = static_cast<std::size_t>(pixels_of_cube_);
    const std::size_t numbers = pixels * static_cast<std::size_t>(channels_);
    share_among_cores(std::ssize(rows), [&](std::int64_t number) {
      check(cudaSetDevice(device_.index), "choosing a GPU");
      const auto place = static_cast<std::size_t>(number);
      const auto first = static_cast<std::size_t>(first_pixels_[static_cast<std::size_t>(rows[place])]);
      bring(pointer<float>(cubes_.array, first * static_cast<std::size_t>(channels_)), numbers,
            place * numbers, pixels_on_way_, pixels_there_);
      bring(pointer<std::uint8_t>(masks_.array, first), pixels, place * pixels, classes_on_way_,
            classes_there_);
    });
  }
  template <class T>
  void bring(const T* from, std::size_t count, std::size_t place, Array& on_way, Array& there) {
    std::copy_n(from, count, pointer<T>(on_way, place));
    upload(there, place, pointer<T>(on_way, place), count, stream_);
  }

  const DatasetArray& cubes_;
  const DatasetArray& masks_;
  Device device_;
  Stream stream_;
  bool brings_batches_;
  std::vector<std::int64_t> first_pixels_;
  std::int64_t pixels_of_cube_ = 0;
  std::int64_t channels_ = 0;
  kernels::QuadraticCubes all_;
  std::vector<float> near_;
  Array shift_;
  stoker::nodes::Values none_;
  Array pixels_there_, classes_there_, pixels_on_way_, classes_on_way_;
};

}  // namespace stoker::fused::cubes
