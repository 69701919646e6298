#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace stoker::serve {

// Room for one job at a time: some cores, or a GPU.
struct Slot {
  std::string name;
  bool is_gpu = false;
  std::vector<std::pair<std::string, std::string>> environment;
};

// So many on the processor, whose cores they share, and one for each GPU. Which there are, `program` (stoker
// itself) is asked for in a process of its own: who has looked keeps the memory that the driver took.
std::vector<Slot> slots_of_machine(const std::filesystem::path& program, int on_processor);
bool has_gpu(const std::vector<Slot>& slots);

}  // namespace stoker::serve
