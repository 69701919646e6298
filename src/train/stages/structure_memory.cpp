#include "train/stages/structure_memory.h"

#include <atomic>

#include <nlohmann/json.hpp>

namespace stoker {

StructureMemory::StructureMemory(nlohmann::json memory)
    : memory_(std::make_shared<nlohmann::json>(std::move(memory))) {}

StructureMemory StructureMemory::from_text(const std::string& text) {
  return text.empty() ? StructureMemory() : StructureMemory(nlohmann::json::parse(text));
}

nlohmann::json& StructureMemory::change() {
  if (memory_.use_count() > 1) memory_ = std::make_shared<nlohmann::json>(*memory_);
  // Another thread, which writes a checkpoint, may have read it until just now.
  std::atomic_thread_fence(std::memory_order_acquire);
  return *memory_;
}

std::string StructureMemory::text() const {
  return empty() ? "" : memory_->dump();
}

}  // namespace stoker
