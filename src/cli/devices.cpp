#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "device/device.h"

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

}  // namespace

Action declare_devices(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON object");
  app.footer("Example:\n  stoker devices");
  return [json] {
    const DeviceList list = list_devices();
    if (*json) {
      print_json(as_json(list));
    } else {
      print(as_text(list));
    }
    return ExitCode::done;
  };
}

}  // namespace stoker::cli
