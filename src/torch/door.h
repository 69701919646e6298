#pragma once

#include <span>
#include <string>

#include "engine/engine.h"

// The one door to LibTorch. Opening it loads libstoker_torch.so, and LibTorch with it; nothing before does.
namespace stoker::torch_door {

// The engines behind the door: graph, eager, and fused for sequences on a GPU.
// Where the library or LibTorch is missing, it is refused with what to install; `needed_by` says for what.
std::span<const EngineMaker> engines(const std::string& needed_by = "this engine");

// [count, outputs] of the rows from `first` on, of a family that has no outputs of its own; parameters and
// data lie in the host's memory, wherever it is computed. Opens the door.
Array outputs(const Network& network, const NamedArrays& parameters, const Dataset& data, std::int64_t first,
              std::int64_t count, Device device = Device::cpu());

// Multiplies two large fp32 matrices on so many threads of the CPU (0: all), so many times, and says how many
// multiply-adds one product has: what LibTorch reaches at best, to compare trainings with. Opens the door.
std::int64_t multiply_large_matrices(std::int64_t times, int threads);

// Threads that LibTorch divides operations of the calling thread among, as the last training or prediction
// set it; 0 before the door was opened.
int cpu_threads();

// LibTorch's threads, which are OpenMP's, would keep their cores busy while they wait for work: on a machine
// that others use, a training then takes many times its CPU time. This call makes them sleep, unless the
// environment says otherwise (OMP_WAIT_POLICY, GOMP_SPINCOUNT). OpenMP reads the environment when it is
// loaded, so call it before the door is opened, while the process has one thread.
void let_waiting_threads_sleep();

// "2.13.0", for the run's record; "" before the door was opened.
std::string loaded_version();

// At most so many threads per engine from now on, for whoever trains models beside each other; 0: no limit.
// Does not open the door.
void limit_cpu_threads(int most);

}  // namespace stoker::torch_door
