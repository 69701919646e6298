#pragma once

#include <string>

#include "device/device_info.h"
#include "engine/engine.h"

// Which precision a device has, from its properties alone.
namespace stoker {

// Why a device cannot compute with that precision, or "".
std::string precision_problem(Precision precision, const DeviceInfo& device);

// What automatic means for a network there: fp32 for rows of tables, whose networks are small, and on a CPU.
// A network that reads series or sets takes the 16-bit format that the GPU has, bf16 before fp16 because it
// needs no scaling.
Precision automatic_precision(const Network& network, const DeviceInfo& device);

}  // namespace stoker
