#include "device/gpu_meter.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "base/process/shared_library.h"
#include "device/cuda.h"

namespace stoker {
namespace {

// As NVML declares them.
using NvmlDevice = struct NvmlDeviceState*;
struct NvmlRates {
  unsigned int gpu;
  unsigned int memory;
};
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr int nvml_done = 0;
constexpr unsigned int clock_of_multiprocessors = 1;
constexpr unsigned int sensor_of_gpu = 0;

std::string nvml_file() {
  const char* given = std::getenv("STOKER_NVML");
  return given != nullptr && *given != 0 ? given : "libnvidia-ml.so.1";
}

class Nvml {
 public:
  Nvml() : library_({nvml_file()}, "Reading what a GPU does", "libnvidia-ml1") {
    library_.find("nvmlInit_v2", init_);
    library_.find("nvmlDeviceGetCount_v2", count_);
    library_.find("nvmlDeviceGetHandleByIndex_v2", by_index_);
    library_.find("nvmlDeviceGetHandleByPciBusId_v2", by_bus_);
    library_.find("nvmlDeviceGetName", name_);
    library_.find("nvmlDeviceGetUtilizationRates", rates_);
    library_.find("nvmlDeviceGetPowerUsage", power_);
    library_.find("nvmlDeviceGetMemoryInfo", memory_);
    library_.find("nvmlDeviceGetClockInfo", clock_);
    library_.find("nvmlDeviceGetTemperature", temperature_);
    if (const int code = init_(); code != nvml_done)
      refuse("NVML does not start on this machine (code {})", code);
  }

  std::vector<NvmlDevice> all() const {
    unsigned int count = 0;
    if (count_(&count) != nvml_done) return {};
    std::vector<NvmlDevice> devices;
    for (unsigned int i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      if (by_index_(i, &device) == nvml_done) devices.push_back(device);
    }
    return devices;
  }
  NvmlDevice at(const std::string& bus_place) const {
    NvmlDevice device = nullptr;
    return by_bus_(bus_place.c_str(), &device) == nvml_done ? device : nullptr;
  }

  std::string name(NvmlDevice device) const {
    std::array<char, 128> text{};
    return name_(device, text.data(), static_cast<unsigned int>(text.size() - 1)) == nvml_done ? text.data()
                                                                                               : "GPU";
  }
  GpuReading read(NvmlDevice device) const {
    GpuReading reading;
    NvmlRates rates{};
    if (rates_(device, &rates) == nvml_done) reading.busy = std::min(rates.gpu, 100U) / 100.0;
    unsigned int number = 0;
    if (power_(device, &number) == nvml_done) reading.watts = number / 1000.0;
    if (clock_(device, clock_of_multiprocessors, &number) == nvml_done) reading.megahertz = number;
    if (temperature_(device, sensor_of_gpu, &number) == nvml_done) reading.celsius = number;
    NvmlMemory memory{};
    if (memory_(device, &memory) == nvml_done) {
      reading.used_bytes = memory.used;
      reading.total_bytes = memory.total;
    }
    return reading;
  }

 private:
  SharedLibrary library_;
  int (*init_)() = nullptr;
  int (*count_)(unsigned int*) = nullptr;
  int (*by_index_)(unsigned int, NvmlDevice*) = nullptr;
  int (*by_bus_)(const char*, NvmlDevice*) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned int) = nullptr;
  int (*rates_)(NvmlDevice, NvmlRates*) = nullptr;
  int (*power_)(NvmlDevice, unsigned int*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*clock_)(NvmlDevice, unsigned int, unsigned int*) = nullptr;
  int (*temperature_)(NvmlDevice, unsigned int, unsigned int*) = nullptr;
};

struct OpenedNvml {
  std::unique_ptr<const Nvml> nvml;
  std::string none_because;
};

// Once; the library stays open.
const OpenedNvml& opened_nvml() {
  static const OpenedNvml opened = [] {
    OpenedNvml result;
    try {
      result.nvml = std::make_unique<Nvml>();
    } catch (const Error& error) {
      result.none_because = error.what();
    }
    return result;
  }();
  return opened;
}

class NvmlMeter : public GpuMeter {
 public:
  NvmlMeter(const Nvml& nvml, NvmlDevice device) : nvml_(nvml), device_(device) {}
  std::string name() const override { return nvml_.name(device_); }
  GpuReading read() const override { return nvml_.read(device_); }
  bool is_at(const std::string& bus_place) const override {
    return !bus_place.empty() && nvml_.at(bus_place) == device_;
  }

 private:
  const Nvml& nvml_;
  NvmlDevice device_;
};

}  // namespace

std::vector<std::unique_ptr<GpuMeter>> gpu_meters(std::string& none_because) {
  std::vector<std::unique_ptr<GpuMeter>> meters;
  const OpenedNvml& opened = opened_nvml();
  none_because = opened.none_because;
  if (!opened.nvml) return meters;
  for (NvmlDevice device : opened.nvml->all())
    meters.push_back(std::make_unique<NvmlMeter>(*opened.nvml, device));
  if (meters.empty()) none_because = "the driver knows no GPU";
  return meters;
}

std::unique_ptr<GpuMeter> gpu_meter_of(Device device) {
  if (!device.is_cuda()) return nullptr;
  const OpenedNvml& opened = opened_nvml();
  NvmlDevice found = opened.nvml ? opened.nvml->at(cuda::bus_place(device.index)) : nullptr;
  return found == nullptr ? nullptr : std::make_unique<NvmlMeter>(*opened.nvml, found);
}

void GpuUse::add(const GpuReading& reading) {
  ++readings;
  const auto share = 1 / static_cast<double>(readings);
  busy += (reading.busy - busy) * share;
  watts += (reading.watts - watts) * share;
  megahertz += (reading.megahertz - megahertz) * share;
  most_bytes = std::max(most_bytes, reading.used_bytes);
}

GpuWatch::GpuWatch(std::unique_ptr<GpuMeter> meter) : meter_(std::move(meter)) {
  if (meter_) thread_ = std::thread([this] { watch(); });
}

GpuWatch::~GpuWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<GpuReading> GpuWatch::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

GpuUse GpuWatch::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

void GpuWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    lock.unlock();
    const GpuReading reading = meter_->read();
    lock.lock();
    latest_ = reading;
    use_.add(reading);
    ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return ends_; });
  }
}

}  // namespace stoker
