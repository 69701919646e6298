#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "device/gpu_meter.h"
#include "device/host_load.h"

namespace stoker::serve {

// What the machine has, and what it is doing. What it has, `program` (stoker itself) is asked for once, in a
// process of its own: who has looked for GPUs keeps the memory that the driver took.
class DeviceGauges {
 public:
  explicit DeviceGauges(const std::filesystem::path& program);

  // As `stoker devices --json` told them.
  const nlohmann::json& devices() const { return devices_; }
  // Devices with what is free of their memory, the load of the host, and what each GPU says of itself; no
  // older than a second, however many ask.
  nlohmann::json now();

 private:
  nlohmann::json read();
  nlohmann::json read_host();
  nlohmann::json read_gpus(nlohmann::json& devices) const;

  nlohmann::json devices_;
  std::string no_gpu_because_;
  std::vector<std::unique_ptr<GpuMeter>> meters_;
  std::vector<std::string> names_;  // of those that can be trained on, by meter: "cuda:0"; else ""
  std::mutex mutex_;
  std::optional<ProcessorTime> last_time_;
  std::chrono::steady_clock::time_point last_read_;
  nlohmann::json last_;
};

}  // namespace stoker::serve
