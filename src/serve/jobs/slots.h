#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace stoker::serve {

// Room for one job at a time: some cores, or a GPU.
struct Slot {
  std::string name;
  bool is_gpu = false;
  std::vector<std::pair<std::string, std::string>> environment;
};

// So many on the processor, whose cores they share, and one for each GPU of the devices that were told by
// `stoker devices --json`.
std::vector<Slot> slots_of_machine(const nlohmann::json& devices, int on_processor);
bool has_gpu(const std::vector<Slot>& slots);

}  // namespace stoker::serve
