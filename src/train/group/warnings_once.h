#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/notes.h"
#include "train/loop/progress.h"

namespace stoker {

// What goes wrong in one of many trainings, each thing once: the same of a hundred is one thing to say. For
// many threads.
class WarningsOnce {
 public:
  explicit WarningsOnce(Notes notes) : notes_(std::move(notes)) {}

  void tell(const std::string& whose, const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (told_.insert(message).second) notes_(Severity::warning, whose + ": " + message);
  }

 private:
  Notes notes_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

// Hears the warnings of such a training and passes over all else.
class WarningsListener : public NobodyListens {
 public:
  WarningsListener(std::string whose, WarningsOnce& warnings)
      : whose_(std::move(whose)), warnings_(warnings) {}
  void note(Severity severity, const std::string& message) override {
    if (severity == Severity::warning) warnings_.tell(whose_, message);
  }

 private:
  const std::string whose_;
  WarningsOnce& warnings_;
};

}  // namespace stoker
