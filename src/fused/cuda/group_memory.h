#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/array.h"
#include "fused/cuda/moments.h"
#include "fused/cuda/own_stream.h"

namespace stoker::fused {

struct GroupSizes {
  std::size_t models = 0;
  std::size_t parameters = 0;  // of a model, as its plan lays them out
  std::size_t places = 0;      // rows that a step has in the lists
  std::size_t sums = 0;        // of losses that a model has
  bool counts_hits = false;    // of rows whose class is predicted right
  std::size_t most_steps = 0;  // of a model in one part
  std::size_t exchange_bytes = 0;
  std::size_t validation_parts = 0;  // of a model
};

// What a group has in device memory, model after model.
class GroupMemory {
 public:
  static constexpr std::size_t most_epochs = 1024;  // that the device keeps between two looks of the host

  GroupMemory(const GroupSizes& sizes, Device device, std::shared_ptr<const OwnStream> stream);

  // What a training is: state() of a model is made of these.
  Array parameters, first_moment, second_moment, best_parameters;
  Array row_sums, row_hits, best_loss, stopped, counters;
  // Made anew for every part.
  Array lines, validation_parts, validation_hits, rates, order, factors, steps_works, epoch_works, flags;
  Array staged_rates;        // pinned [models, most_steps]: on their way to `rates`
  Array arrivals, exchange;  // where clusters meet
  Array gradients;           // of the plain kernel

  const GroupSizes& sizes() const { return sizes_; }
  std::vector<float> read(const Array& array, std::size_t model) const;  // one laid out as the parameters
  void write(Array& array, std::size_t model, const std::vector<float>& values);
  Moments read_moments(std::size_t model) const;
  void write_moments(std::size_t model, const Moments& moments);

  // Keeps what a training is, and brings it back. Not the lines of epochs: a part begins with none.
  void keep_copy();
  void go_back_to_copy();

 private:
  std::vector<Array*> changing();

  GroupSizes sizes_;
  Device device_;
  std::shared_ptr<const OwnStream> stream_;
  std::vector<Array> copies_;
};

}  // namespace stoker::fused
