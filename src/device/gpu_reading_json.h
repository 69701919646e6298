#pragma once

#include <nlohmann/json.hpp>

#include "device/gpu_meter.h"

namespace stoker {

// For programs: what a GPU does just now.
inline nlohmann::json reading_json(const GpuMeter& meter) {
  const GpuReading reading = meter.read();
  return {{"model", meter.name()},
          {"busy", reading.busy},
          {"watts", reading.watts},
          {"megahertz", reading.megahertz},
          {"celsius", reading.celsius},
          {"used_bytes", reading.used_bytes},
          {"total_bytes", reading.total_bytes}};
}

}  // namespace stoker
