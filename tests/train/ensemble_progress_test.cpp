#include "train/group/ensemble_progress.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace stoker {
namespace {

// Counts calls that begin while another one has not ended.
class OneAtATime : public TrainingListener {
 public:
  void epoch_finished(const EpochReport&) override {}
  void advanced(std::int64_t, std::int64_t, double) override { visit(); }
  void note(Severity, const std::string&) override { visit(); }
  int visits = 0;  // not atomic: increments are lost if calls overlap
  std::atomic<int> overlaps{0};

 private:
  void visit() {
    if (is_inside_.exchange(true)) ++overlaps;
    ++visits;
    std::this_thread::yield();
    is_inside_ = false;
  }
  std::atomic<bool> is_inside_{false};
};

TEST(EnsembleProgress, CallsTheListenerFromOneThreadAtATime) {
  constexpr int calls = 2000;
  OneAtATime listener;
  EnsembleProgress progress(2, listener);
  const Notes notes = progress.notes();
  {
    const std::jthread first([&] {
      for (int i = 0; i < calls; ++i) progress.of_member(0).note(Severity::warning, "a member");
    });
    const std::jthread second([&] {
      for (int i = 0; i < calls; ++i) progress.of_member(1).advanced(i, calls, 1);
    });
    for (int i = 0; i < calls; ++i) notes(Severity::warning, "the whole");
  }
  EXPECT_EQ(listener.overlaps, 0);
  EXPECT_EQ(listener.visits, 3 * calls);
}

}  // namespace
}  // namespace stoker
