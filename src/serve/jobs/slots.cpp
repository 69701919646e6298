#include "serve/jobs/slots.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "device/device.h"

namespace stoker::serve {

namespace {

std::size_t count_gpus(const nlohmann::json& told) {
  return static_cast<std::size_t>(
      std::ranges::count_if(told.at("devices"), [](const auto& each) { return each.at("device") != "cpu"; }));
}

// As the service itself may see some of the GPUs alone.
std::string visible_name(std::size_t gpu) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto names = split_text(visible == nullptr ? "" : visible, ',');
  return visible != nullptr && gpu < names.size() ? names[gpu] : std::to_string(gpu);
}

}  // namespace

std::vector<Slot> slots_of_machine(const nlohmann::json& devices, int on_processor) {
  std::vector<Slot> slots;
  const std::size_t gpus = count_gpus(devices);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    slots.push_back({fmt::format("gpu-{}", gpu), true, {{"CUDA_VISIBLE_DEVICES", visible_name(gpu)}}});
  // Jobs side by side that each took all cores would wait for each other.
  const std::string threads = std::to_string(std::max(1, cpu_cores() / std::max(1, on_processor)));
  for (int i = 0; i < on_processor; ++i)
    slots.push_back(
        {fmt::format("cpu-{}", i),
         false,
         {{"CUDA_VISIBLE_DEVICES", ""}, {"STOKER_THREADS", threads}, {"OMP_NUM_THREADS", threads}}});
  return slots;
}

bool has_gpu(const std::vector<Slot>& slots) {
  return std::ranges::any_of(slots, &Slot::is_gpu);
}

}  // namespace stoker::serve
