#include "serve/system/device_gauges.h"

#include <array>
#include <cstdlib>

#include "base/text/text.h"
#include "device/device.h"
#include "device/gpu_reading_json.h"
#include "serve/jobs/program_run.h"

namespace stoker::serve {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr auto good_for = std::chrono::seconds(1);

json devices_told_by(const std::filesystem::path& program) {
  constexpr auto longest = std::chrono::seconds(60);
  return json::parse(run_program({program.string(), "devices", "--json"}, "/", longest).output);
}

}  // namespace

DeviceGauges::DeviceGauges(const std::filesystem::path& program)
    : devices_(devices_told_by(program)),
      meters_(gpu_meters(no_gpu_because_)),
      names_(meters_.size()),
      last_time_(processor_time()) {
  for (const json& device : devices_.at("devices"))
    for (std::size_t i = 0; i < meters_.size(); ++i)
      if (meters_[i]->is_at(device.value("bus", ""))) names_[i] = device.at("device");
}

json DeviceGauges::now() {
  const std::lock_guard lock(mutex_);
  if (last_.is_null() || steady_clock::now() - last_read_ >= good_for) {
    last_ = read();
    last_read_ = steady_clock::now();
  }
  return last_;
}

json DeviceGauges::read() {
  json answer = devices_;
  answer["time"] = time_stamp_utc();
  answer["host"] = read_host();
  answer["gpus"] = read_gpus(answer["devices"]);
  if (meters_.empty()) answer["no_gpus_because"] = no_gpu_because_;
  for (json& device : answer["devices"])
    if (device["device"] == "cpu") device["free_bytes"] = answer["host"]["free_bytes"];
  return answer;
}

json DeviceGauges::read_host() {
  json host{
      {"cores", cpu_cores()}, {"total_bytes", memory_bytes()}, {"free_bytes", available_memory_bytes()}};
  const auto time = processor_time();
  if (time && last_time_) host["busy"] = busy_between(*last_time_, *time);
  last_time_ = time;
  std::array<double, 3> loads{};
  if (getloadavg(loads.data(), static_cast<int>(loads.size())) == static_cast<int>(loads.size()))
    host["load"] = loads;
  return host;
}

json DeviceGauges::read_gpus(json& devices) const {
  json gpus = json::array();
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    json gpu = reading_json(*meters_[i]);
    gpu["gpu"] = i;
    if (!names_[i].empty()) {
      gpu["device"] = names_[i];
      for (json& device : devices)
        if (device["device"] == names_[i] && gpu["total_bytes"] > 0)
          device["free_bytes"] =
              gpu["total_bytes"].get<std::uint64_t>() - gpu["used_bytes"].get<std::uint64_t>();
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace stoker::serve
