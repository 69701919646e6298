#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/files/claim.h"
#include "base/files/files.h"
#include "base/process/child_dialogue.h"
#include "base/process/stop.h"
#include "data/confined/reader_reach.h"

namespace stoker {

// A confined child that reads one source (reader_child.h has what it does), and its scratch folder.
class ReaderProcess {
 public:
  ReaderProcess(std::string shown, const SourceConfig& config, Reach reach);

  // Throws what the child says is wrong, and of a child that has crashed that the file is damaged.
  nlohmann::json ask(const nlohmann::json& request, const StopSignal* stop = nullptr);
  const std::filesystem::path& scratch() const { return scratch_.path(); }
  bool is_running() const { return dialogue_.is_running(); }
  // Ends the child, so that it can no longer change what it has written.
  void end() { dialogue_.end(); }

 private:
  bool fills_disk() const { return folder_bytes(scratch_.path()) > most_bytes_; }
  [[noreturn]] void tell_end(const StopSignal* stop);

  std::string shown_;
  Claim scratch_;
  std::uint64_t most_bytes_ = 0;  // of disk
  ChildDialogue dialogue_;
};

}  // namespace stoker
