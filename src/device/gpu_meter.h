#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/device_info.h"

// What GPUs say of themselves, by NVML, a library of the driver that is opened where it is. It creates no
// context on a GPU and takes none of its memory.
namespace stoker {

struct GpuReading {
  // Share of the last while (up to a second) in which at least one multiprocessor had something to do: a GPU
  // on which one of 132 works counts as busy.
  double busy = 0;
  double watts = 0;
  double megahertz = 0;  // of the multiprocessors
  double celsius = 0;
  std::uint64_t used_bytes = 0;  // by all processes
  std::uint64_t total_bytes = 0;
};

class GpuMeter {
 public:
  virtual ~GpuMeter() = default;
  virtual std::string name() const = 0;                        // "NVIDIA H200"
  virtual GpuReading read() const = 0;                         // what a GPU does not tell is 0
  virtual bool is_at(const std::string& bus_place) const = 0;  // "0000:0F:00.0"; never at ""
};

// Of all GPUs of the machine, in the order of the driver; none with the reason.
std::vector<std::unique_ptr<GpuMeter>> gpu_meters(std::string& none_because);
std::unique_ptr<GpuMeter> gpu_meter_of(Device device);  // null of a CPU, and where nobody tells

// Readings of a while.
struct GpuUse {
  std::int64_t readings = 0;
  double busy = 0;  // means
  double watts = 0;
  double megahertz = 0;
  std::uint64_t most_bytes = 0;

  void add(const GpuReading& reading);
};

// Reads a meter ten times a second, as long as it lives.
class GpuWatch {
 public:
  explicit GpuWatch(std::unique_ptr<GpuMeter> meter);  // of a GPU; null: it sees nothing
  ~GpuWatch();
  std::optional<GpuReading> latest() const;
  GpuUse use() const;  // since it began

 private:
  void watch();

  std::unique_ptr<GpuMeter> meter_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::optional<GpuReading> latest_;
  GpuUse use_;
  std::thread thread_;
};

}  // namespace stoker
