#include <chrono>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/number_range.h"
#include "cli/view/terminal.h"
#include "device/cuda.h"
#include "device/device.h"
#include "device/gpu_meter.h"
#include "device/gpu_reading_json.h"

namespace stoker::cli {
namespace {

nlohmann::json as_json(const DeviceList& list) {
  nlohmann::json devices = nlohmann::json::array();
  for (const DeviceInfo& each : list.devices) {
    nlohmann::json device = {{"device", each.device.name()},
                             {"model", each.model},
                             {"total_bytes", each.total_bytes},
                             {"free_bytes", each.free_bytes},
                             {"compute_units", each.compute_units}};
    if (each.device.is_cuda()) {
      device["compute_capability"] = each.compute_capability;
      device["driver"] = each.driver;
      device["bus"] = cuda::bus_place(each.device.index);
    }
    devices.push_back(std::move(device));
  }
  nlohmann::json json = {{"devices", std::move(devices)}};
  if (!list.no_cuda_because.empty()) json["no_cuda_because"] = list.no_cuda_because;
  return json;
}

std::string as_text(const DeviceList& list) {
  std::vector<std::vector<std::string>> rows{{"device", "model", "units", "memory", "free", "CUDA"}};
  for (const DeviceInfo& each : list.devices) {
    const std::string cuda =
        each.device.is_cuda() ? fmt::format("sm_{}, {}", each.compute_capability, each.driver) : "";
    rows.push_back({each.device.name(), each.model, fmt::format("{}", each.compute_units),
                    human_bytes(each.total_bytes), human_bytes(each.free_bytes), cuda});
  }
  std::string text = aligned(rows);
  if (!list.no_cuda_because.empty()) text += fmt::format("No GPU: {}\n", list.no_cuda_because);
  return text;
}

struct DevicesFlags {
  bool json = false;
  bool watches = false;
  double every = 1;
  std::int64_t times = 0;
};

nlohmann::json numbered_json(std::size_t number, const GpuMeter& meter) {
  nlohmann::json reading = reading_json(meter);
  reading["gpu"] = number;
  return reading;
}

std::string reading_text(std::size_t number, const GpuMeter& meter) {
  const GpuReading reading = meter.read();
  return fmt::format("{}  {}  busy {:3.0f} %  {:4.0f} W  {:5.0f} MHz  {:3.0f} °C  {} of {}\n", number,
                     meter.name(), 100 * reading.busy, reading.watts, reading.megahertz, reading.celsius,
                     human_bytes(reading.used_bytes), human_bytes(reading.total_bytes));
}

// Until it has been done so often, or somebody stops it.
ExitCode watch_gpus(const DevicesFlags& flags) {
  std::string none_because;
  const auto meters = gpu_meters(none_because);
  if (meters.empty()) refuse("there is no GPU to watch: {}", none_because);
  if (!flags.json)
    print(
        "Busy is the share of time in which at least one multiprocessor had work, as the driver counts "
        "it.\n");
  for (std::int64_t time = 0; flags.times == 0 || time < flags.times; ++time) {
    if (time > 0) std::this_thread::sleep_for(std::chrono::duration<double>(flags.every));
    for (std::size_t i = 0; i < meters.size(); ++i)
      print(flags.json ? numbered_json(i, *meters[i]).dump() + "\n" : reading_text(i, *meters[i]));
  }
  return ExitCode::done;
}

}  // namespace

Action declare_devices(CLI::App& app) {
  const auto flags = std::make_shared<DevicesFlags>();
  app.add_flag("--json", flags->json, "Print one JSON object; with --watch one for each line");
  app.add_flag("--watch", flags->watches, "Tell every second what each GPU does, until Ctrl-C");
  app.add_option("--every", flags->every, "With --watch: seconds between two lines")
      ->check(in_range(0.1, 3600.0));
  app.add_option("--times", flags->times, "With --watch: lines of each GPU; 0: until Ctrl-C")
      ->check(in_range(std::int64_t{0}, std::int64_t{1'000'000'000}));
  app.footer("Example:\n  stoker devices\n  stoker devices --watch");
  return [flags] {
    if (flags->watches) return watch_gpus(*flags);
    const DeviceList list = list_devices();
    if (flags->json) {
      print_json(as_json(list));
    } else {
      print(as_text(list));
    }
    return ExitCode::done;
  };
}

}  // namespace stoker::cli
