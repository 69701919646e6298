#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace stoker {

// What a family whose structure changes knows of that, as JSON (model/restructuring.h); of other families
// nothing. It grows with every change, and to write or to copy all of it takes longer than a change: copies
// share it until one of them is changed, and text is made for those who ask.
class StructureMemory {
 public:
  StructureMemory() = default;
  explicit StructureMemory(nlohmann::json memory);
  static StructureMemory from_text(const std::string& text);  // of no text: nothing

  bool empty() const { return memory_ == nullptr; }
  const nlohmann::json& json() const { return *memory_; }
  nlohmann::json& change();  // of this copy alone
  std::string text() const;  // of nothing: no text

 private:
  std::shared_ptr<nlohmann::json> memory_;
};

}  // namespace stoker
