#pragma once

#include "fused/cuda/device_memory.h"
#include "fused/cuda/sets/work.h"
#include "kernels/end_epoch.h"

namespace stoker::fused::sets {

// What a training over sets has in device memory.
struct SetMemory {
  static constexpr std::size_t most_epochs = 1024;   // that the device keeps between two looks of the host
  static constexpr std::size_t most_steps = 65'536;  // that the host tells it of at once
  static constexpr std::size_t sums = team * block_rows;

  SetMemory(Device device, Stream stream, int rounds, std::int64_t validation_blocks)
      : parameters(device_memory<float>(sets::parameters, device, stream)),
        first_moment(device_memory<float>(sets::parameters, device, stream)),
        second_moment(device_memory<float>(sets::parameters, device, stream)),
        best_parameters(device_memory<float>(sets::parameters, device, stream)),
        row_sums(device_memory<double>(sums, device, stream)),
        best_loss(device_memory<double>(1, device, stream)),
        stopped(device_memory<float>(1, device, stream)),
        counters(device_memory<kernels::StepCounters>(1, device, stream)),
        lines(device_memory<kernels::EpochLine>(most_epochs, device, stream)),
        steps(device_memory<UpdateStep>(most_steps, device, stream)),
        staged_steps(DType::uint8, {static_cast<std::int64_t>(most_steps * sizeof(UpdateStep))},
                     Memory::pinned),
        unfinished(device_memory<float>(rounds > 1 ? team * sets::parameters : 0, device, stream)),
        validation_sums(device_memory<double>(static_cast<std::size_t>(validation_blocks), device, stream)) {}

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Array* each : {&parameters, &first_moment, &second_moment, &best_parameters, &row_sums,
                              &best_loss, &stopped, &counters, &lines, &steps, &unfinished, &validation_sums})
      sum += each->bytes();
    return sum;
  }

  // What a training is: its state is made of these.
  Array parameters, first_moment, second_moment, best_parameters;
  Array row_sums, best_loss, stopped, counters;
  // Made anew for every part.
  Array lines, steps, staged_steps, unfinished, validation_sums;
};

}  // namespace stoker::fused::sets
