#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/notes.h"
#include "train/choose/auto_device.h"
#include "train/fit/network_request.h"

namespace stoker {

// Where `automatic` is what device auto finds here: a training that goes on stays on the CPU if it began
// there, and on a GPU if it began on one. None: it does not go on, or its checkpoint does not say where.
std::optional<Device> device_to_go_on_with(const FitRequest& request, Device automatic);

// The device of a training of one network, where its setting comes to `automatic`. What `auto` found, unless
// figures of this machine say that the network is faster elsewhere; where there are none and both device and
// engine are left open, steps may be measured for that, and are recorded.
Device device_of_training(const FitRequest& request, const PreparedData& data, Device automatic,
                          const Notes& notes);

// The same where a GPU has no kernels for the network, and why: the CPU, which is said in a note, unless
// figures of this machine say that LibTorch is faster on the GPU and it takes the request, or memory of a GPU
// is asked for.
Device device_without_kernels(const FitRequest& request, const PreparedData& data, Device automatic,
                              const std::string& why, const Notes& notes);
// By these figures. `Refusal` says why no engine of LibTorch takes a request, "" where one does. LibTorch
// takes a while to open, so that it is asked for a faster GPU alone; engines with kernels of their own have
// refused, and would look for what is not yet learned from the rows.
using Refusal = std::function<std::string(const EngineRequest& request)>;
DeviceChoice device_without_kernels(const FitRequest& request, const PreparedData& data,
                                    const DeviceInfo& gpu, std::span<const StepFigures> figures,
                                    const Refusal& refusal, const std::string& why);

// Memory that a CPU cannot give, whatever was measured.
bool asks_for_gpu_memory(const PlacementConfig& config);

// The parts of the first, of a training that may go to this GPU. Steps are measured only where both device
// and engine are `auto`, the training begins, is the only one, and its rows lie as usual, with room to spare.
bool may_measure_devices(const FitRequest& request, const PreparedData& data, const DeviceInfo& gpu);
Device device_of_training(const FitRequest& request, const PreparedData& data, const DeviceInfo& gpu,
                          const Trials& trials, const Notes& notes);

}  // namespace stoker
