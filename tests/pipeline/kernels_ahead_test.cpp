#include "pipeline/training/kernels_ahead.h"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/files/files.h"
#include "model/network/mlp.h"
#include "patience.h"
#include "pipeline/watchers.h"

namespace stoker {
namespace {

// So long that only what never happens takes longer.
template <class Future>
bool comes(const Future& future) {
  return future.wait_for(test::an_hour) == std::future_status::ready;
}

SmallPipeline network() {
  SmallPipeline pipeline;
  pipeline.model_card = tiny_network;
  pipeline.train = "target_column: MEDV, device: cpu";
  return pipeline;
}

struct Seen {
  std::atomic<int> calls{0};
  std::int64_t features = 0;
  std::vector<std::int64_t> hidden_layers;
};

// Runs the document and waits, when its data is there, until so many trainings were seen ahead in all.
void run_seeing(const Document& document, RunOptions options, Seen& seen, int calls) {
  options.compile_ahead = [&seen](const FitRequest& request, const StopSignal&) {
    seen.features = Preparation::fit(request.training, request.preparation, Scaling::standard, no_notes())
                        .feature_count();
    seen.hidden_layers = settings_as<MlpSettings>(request.spec.settings).hidden_layers;
    ++seen.calls;
  };
  Watcher watcher;
  watcher.at_card = [&](const std::string& card) {
    test::comes_true([&] { return card != "load" || seen.calls >= calls; });
  };
  StopSignal stop;
  run_pipeline(document, options, watcher, stop);
  EXPECT_EQ(seen.calls, calls);
}

TEST(KernelsAhead, AreCompiledWhileTheDataIsRead) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder.path());
  std::promise<void> began, loaded;
  std::future<void> has_begun = began.get_future(), has_loaded = loaded.get_future();
  std::atomic<bool> compiled_beside_the_rest = false;
  options.compile_ahead = [&](const FitRequest&, const StopSignal&) {
    began.set_value();
    compiled_beside_the_rest = comes(has_loaded);
  };
  Watcher watcher;
  watcher.at_card = [&](const std::string& card) {
    if (card != "load") return;
    EXPECT_TRUE(comes(has_begun)) << "nothing was compiled before the data was there";
    loaded.set_value();
  };
  StopSignal stop;
  run_pipeline(network().document(), options, watcher, stop);
  EXPECT_TRUE(compiled_beside_the_rest) << "the run waited for the compiler";
}

TEST(KernelsAhead, KnowTheWidthThatTheFileWillHave) {
  const TemporaryFolder folder;
  std::string text = "city,size,price,flat\n";
  for (int i = 0; i < 400; ++i)
    text += (i % 3 == 0   ? "Rome,"
             : i % 3 == 1 ? "Oslo,"
                          : "Bern,") +
            std::to_string(i * 0.37) + "," + std::to_string(i * 1.9) + "," + std::to_string(i / 2) + "\n";
  write_file(folder.path() / "flats.csv", text);
  SmallPipeline pipeline = network();
  pipeline.load = "source: csv, path: flats.csv";
  pipeline.split = "group_column: flat";
  pipeline.train = "target_column: price, device: cpu";
  Seen seen;
  run_seeing(pipeline.document(folder.path()), options_in(folder.path() / "runs"), seen, 1);
  EXPECT_EQ(seen.features, 4) << "three cities and the size; groups are no feature";
  EXPECT_EQ(seen.hidden_layers, std::vector<std::int64_t>{8});
}

TEST(KernelsAhead, AreGivenUpWhenTheRunIsOver) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder.path());
  std::promise<void> began;
  std::future<void> has_begun = began.get_future();
  std::atomic<bool> was_stopped = false;
  options.compile_ahead = [&](const FitRequest&, const StopSignal& stop) {
    began.set_value();
    was_stopped = test::comes_true([&] { return stop.reason() != StopReason::none; });
  };
  SmallPipeline pipeline = network();
  pipeline.train = "target_column: NO_SUCH, device: cpu";
  Watcher watcher;
  watcher.at_card = [&](const std::string&) { EXPECT_TRUE(comes(has_begun)); };
  EXPECT_EQ(failure_of(pipeline.document(), options, watcher).code(), ExitCode::wrong_request);
  EXPECT_TRUE(was_stopped);
}

TEST(KernelsAhead, ThatCannotBeCompiledAreLeftToTheTraining) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder.path());
  options.compile_ahead = [](const FitRequest&, const StopSignal&) { throw std::runtime_error("no"); };
  const Watched watched = run_watched(network().document(), options);
  EXPECT_EQ(watched.watcher.epochs.size(), 6U);
}

TEST(KernelsAhead, AreNotCompiledForATrainingThatIsKept) {
  const TemporaryFolder folder;
  const RunOptions options = options_in(folder.path());
  Seen seen;
  run_seeing(network().document(), options, seen, 1);
  run_seeing(network().document(), options, seen, 1);
  SmallPipeline other = network();
  other.train += ", scaling: minmax";
  run_seeing(other.document(), options, seen, 2);
}

TEST(KernelsAhead, AreNotCompiledForALinearModel) {
  const TemporaryFolder folder;
  Seen seen;
  run_seeing(SmallPipeline().document(), options_in(folder.path()), seen, 0);
}

}  // namespace
}  // namespace stoker
