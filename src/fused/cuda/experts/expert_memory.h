#pragma once

#include <cstddef>

#include "engine/epoch_hits.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/experts/plan.h"
#include "kernels/end_epoch.h"

namespace stoker::fused::experts {

// What a training of a mixture of experts has in device memory, and where the host and the device hand each
// other something.
struct ExpertMemory {
  static constexpr std::size_t most_epochs = 1024;   // that the device keeps between two looks of the host
  static constexpr std::size_t most_steps = 16'384;  // that the host tells it of at once

  // The steps that the host tells of: which is the first, then what each takes.
  struct StepTable {
    std::int64_t first_step;
    std::int64_t unused;  // what follows begins with a multiple of its size
    UpdateStep steps[most_steps];
  };

  ExpertMemory(const EngineRequest& request, const ExpertWork& work, Stream stream)
      : parameters(floats(work.layout.size, request, stream)),
        first_moment(floats(request.optimizer.has_first_moment() ? work.layout.size : 0, request, stream)),
        second_moment(floats(request.optimizer.has_second_moment() ? work.layout.size : 0, request, stream)),
        best_parameters(floats(request.validation.rows() > 0 ? work.layout.size : 0, request, stream)),
        row_sums(of<double>(work.batch, request, stream)),
        term_sums(of<double>(work.terms > 1 ? work.terms * work.batch : 0, request, stream)),
        norm_sum(of<double>(1, request, stream)),
        best_loss(of<double>(1, request, stream)),
        stopped(floats(1, request, stream)),
        counters(of<kernels::StepCounters>(1, request, stream)),
        living(of<std::int32_t>(work.layout.room + 1, request, stream)),
        steps(of<StepTable>(1, request, stream)),
        lines(of<kernels::EpochLine>(most_epochs, request, stream)),
        values(of<double>(static_cast<std::int64_t>(most_epochs) * (work.terms + 1), request, stream)),
        validation_sums(of<double>(work.batch, request, stream)),
        train_hits(of<double>(term_of_classes(request) == nullptr ? 0 : work.batch, request, stream)),
        validation_hits(of<double>(term_of_classes(request) == nullptr ? 0 : work.batch, request, stream)),
        rates(floats(3, request, stream)),
        features(floats(work.batch * work.layout.router[0].inputs, request, stream)),
        targets(floats(work.batch * std::max<std::int64_t>(2, work.losses.width), request, stream)),
        weights(floats(work.batch, request, stream)),
        staged_steps(pinned_memory(sizeof(StepTable))),
        seen_counters(pinned_memory(sizeof(kernels::StepCounters))),
        seen_stopped(pinned_memory(sizeof(float))),
        seen_lines(pinned_memory(lines.bytes())),
        seen_values(pinned_memory(values.bytes())) {}

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Array* each :
         {&parameters, &first_moment, &second_moment,   &best_parameters, &row_sums,        &term_sums,
          &norm_sum,   &best_loss,    &stopped,         &counters,        &living,          &steps,
          &lines,      &values,       &validation_sums, &train_hits,      &validation_hits, &rates,
          &features,   &targets,      &weights,         &buffers})
      sum += each->bytes();
    return sum;
  }

  // What a training is: its state is made of these.
  Array parameters, first_moment, second_moment, best_parameters;
  Array row_sums, term_sums, norm_sum, best_loss, stopped, counters;
  Array living;  // in their order, and behind the room of all their number
  // Made anew for every part, or every step.
  Array steps, lines, values, validation_sums;
  Array train_hits, validation_hits;  // rows whose class was predicted right
  Array rates;                        // the kernel that begins a step wants places for what is not read here
  Array features, targets, weights;
  Array buffers;  // of place_buffers()
  // Of the host.
  Array staged_steps, seen_counters, seen_stopped, seen_lines, seen_values;

 private:
  template <class T>
  static Array of(std::int64_t count, const EngineRequest& request, Stream stream) {
    return device_memory<T>(static_cast<std::size_t>(count), request.device, stream);
  }
  static Array floats(std::int64_t count, const EngineRequest& request, Stream stream) {
    return of<float>(count, request, stream);
  }
};

}  // namespace stoker::fused::experts
