#include "train/choose/choose_batch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "base/files/files.h"
#include "expect_error.h"
#include "listeners.h"
#include "scripted_engine.h"
#include "tables.h"
#include "train/fit/fit.h"
#include "train/fit/fit_network.h"

namespace stoker {
namespace {

using test::RecordingListener;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(BatchSizes, TriesSizesThatLeaveAnEpochSomeSteps) {
  EXPECT_THAT(batch_sizes_to_try(10), ElementsAre(10));
  EXPECT_THAT(batch_sizes_to_try(500), ElementsAre(32));
  EXPECT_THAT(batch_sizes_to_try(4096), ElementsAre(32, 64, 128, 256));
  EXPECT_EQ(batch_sizes_to_try(10'000'000).back(), 8192);
}

TEST(FastestBatch, TakesTheSmallestThatIsAsFastAsAny) {
  const std::array<TriedBatch, 4> tried{{{32, 100}, {64, 190}, {128, 198}, {256, 199}}};
  EXPECT_EQ(fastest_batch(tried), 64);
  const std::array<TriedBatch, 3> falling{{{32, 100}, {64, 90}, {128, 80}}};
  EXPECT_EQ(fastest_batch(falling), 32);
}

TEST(BatchSizes, ScalesTheRateByTheStatedRule) {
  EXPECT_DOUBLE_EQ(rate_factor_of(128, Optimizer::sgd), 4);
  for (const Optimizer each : {Optimizer::adam, Optimizer::adamw, Optimizer::lion})
    EXPECT_DOUBLE_EQ(rate_factor_of(128, each), 2);
  EXPECT_DOUBLE_EQ(rate_factor_of(32, Optimizer::adam), 1);
}

// The time that planted engines take, in place of that of the machine.
struct PlantedTime {
  double wall = 0;
  double cpu = 0;
  ProbeClocks clocks() {
    return {[this] { return wall; }, [this] { return cpu; }};
  }
};

// Every step takes 10 ms of CPU time, so more rows are faster, until memory runs out. Other programs make
// each use of the engine as many times slower as `slower` says.
class PlantedEngine : public test::ScriptedEngine {
 public:
  PlantedEngine(std::int64_t rows, std::int64_t most, PlantedTime& time,
                std::function<Probe(std::int64_t rows)> slower)
      : ScriptedEngine({.steps_per_epoch = 1'000'000}),
        rows_(rows),
        most_(most),
        time_(time),
        slower_(std::move(slower)) {}
  ChunkResult run(const Chunk& chunk) override {
    if (rows_ > most_) throw OutOfMemory("planted");
    const Probe times = slower_(rows_);
    const double seconds = 0.01 * static_cast<double>(chunk.learning_rates.size());
    time_.wall += times.wall_seconds * seconds;
    time_.cpu += times.cpu_seconds * seconds;
    return ScriptedEngine::run(chunk);
  }

 private:
  std::int64_t rows_;
  std::int64_t most_;
  PlantedTime& time_;
  std::function<Probe(std::int64_t rows)> slower_;
};

class ChooseBatch : public testing::Test {
 protected:
  std::int64_t choose(std::int64_t most, const std::function<Probe(std::int64_t rows)>& slower) {
    const PreparedData data = prepare(table_, nullptr, test::predicting_last(table_),
                                      form_of(family_of(spec_), spec_.settings), no_notes());
    PlantedTime time;
    const MakeEngine make = [&](const EngineRequest& each) {
      return std::make_unique<PlantedEngine>(each.batch_size, most, time, slower);
    };
    const Notes notes = [this](Severity severity, const std::string& message) {
      (severity == Severity::warning ? warning_ : said_) = message;
    };
    return choose_batch_by(time.clocks(), engine_request(spec_, data, Device::cpu()), make, notes);
  }
  static Probe undisturbed(std::int64_t) { return {1, 1}; }

  const Table table_ = test::sample(SampleName::friedman, 8192);
  const ModelSpec spec_ = test::small_network();
  std::string said_;
  std::string warning_;
};

TEST_F(ChooseBatch, StopsWhereMemoryRunsOut) {
  EXPECT_EQ(choose(200, undisturbed), 128);
  EXPECT_THAT(said_, HasSubstr("batch_size auto takes 128 rows (32: "));
  EXPECT_EQ(warning_, "");
  EXPECT_THROW(choose(16, undisturbed), OutOfMemory);
}

TEST_F(ChooseBatch, IsTheSameNextToProgramsThatTakeTheCores) {
  int uses = 0;
  // One use of the engine waits twelve times as long as another, and most of all those of the best batch.
  const auto disturbed = [&](std::int64_t rows) {
    return Probe{rows == 128 ? 40.0 : 1.0 + ++uses % 12, 1.0};
  };
  EXPECT_EQ(choose(200, disturbed), 128);
  EXPECT_EQ(warning_, "");
}

TEST_F(ChooseBatch, WarnsIfProbesDoNotAgree) {
  double times = 1;
  const auto ever_faster = [&](std::int64_t) { return Probe{times, times *= 0.95}; };
  choose(40, ever_faster);
  EXPECT_THAT(warning_,
              HasSubstr("the machine is too busy to compare batch sizes well: a step of 32 rows took"));
}

TEST(AutomaticBatch, TrainsWithARateThatFitsIt) {
  const Table table = test::sample(SampleName::friedman, 4000);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 3;
  spec.training.batch_size = automatic_batch;
  RecordingListener listener;
  const FitResult result = fit(test::request_for(table, spec), listener, StopSignal{});
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("batch_size auto takes")));
  EXPECT_GE(result.batch_size, 32);
  EXPECT_NEAR(result.learning_rate,
              spec.training.learning_rate * rate_factor_of(result.batch_size, spec.training.optimizer),
              1e-12);
  EXPECT_EQ(result.steps, 3 * ((4000 + result.batch_size - 1) / result.batch_size));
}

// Interrupts after the first epoch.
class InterruptsEarly : public RecordingListener {
 public:
  explicit InterruptsEarly(StopSignal& stop) : stop_(stop) {}
  void epoch_finished(const EpochReport& report) override {
    RecordingListener::epoch_finished(report);
    stop_.interrupt();
  }

 private:
  StopSignal& stop_;
};

TEST(AutomaticBatch, IsKeptByAResumedRun) {
  const Table table = test::sample(SampleName::friedman, 4000);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 400;
  spec.training.batch_size = automatic_batch;
  TemporaryFolder folder;
  FitRequest request = test::request_for(table, spec);
  request.checkpoints = folder.path();
  StopSignal stop;
  InterruptsEarly first(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(request, first, stop); });
  request.resume = true;
  RecordingListener second;
  const FitResult result = fit(request, second, StopSignal{});
  EXPECT_EQ(result.epochs.size(), 400U);
  for (const std::string& each : second.infos) EXPECT_THAT(each, testing::Not(HasSubstr("auto takes")));
  EXPECT_EQ(result.steps, 400 * ((4000 + result.batch_size - 1) / result.batch_size));
}

TEST(AutomaticBatch, KeepsItsPartsOfAStep) {
  const Table table = test::sample(SampleName::friedman, 4000);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 2;
  spec.training.batch_size = automatic_batch;
  spec.training.accumulation_steps = 4;
  const PreparedData data = prepare(table, nullptr, test::predicting_last(table),
                                    form_of(family_of(spec), spec.settings), no_notes());
  EXPECT_EQ(engine_request(spec, data, Device::cpu()).accumulation_steps, 4);
}

// Some 32 steps of three epochs.
FitRequest ensemble_with_automatic_batch(const Table& table) {
  ModelSpec spec = test::small_network();
  spec.training.epochs = 3;
  spec.training.batch_size = automatic_batch;
  FitRequest request = test::request_for(table, spec);
  request.config.ensemble.folds = 3;
  return request;
}

TEST(AutomaticBatch, IsChosenOnceForTheMembersOfAnEnsemble) {
  const Table table = test::sample(SampleName::friedman, 3000);
  const FitRequest request = ensemble_with_automatic_batch(table);
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  const auto is_told = [](const std::string& each) { return each.find("auto takes") != std::string::npos; };
  EXPECT_EQ(std::ranges::count_if(listener.infos, is_told), 1);
  EXPECT_GE(result.batch_size, 32);
  EXPECT_NEAR(result.learning_rate,
              request.spec.training.learning_rate *
                  rate_factor_of(result.batch_size, request.spec.training.optimizer),
              1e-12);
  EXPECT_EQ(result.steps, 3 * 3 * ((2000 + result.batch_size - 1) / result.batch_size));
}

// What was measured in the first sitting holds in the next, whatever the machine would measure then.
TEST(AutomaticBatch, IsKeptByAResumedEnsemble) {
  const Table table = test::sample(SampleName::friedman, 3000);
  FitRequest request = ensemble_with_automatic_batch(table);
  TemporaryFolder folder;
  request.checkpoints = folder.path();
  RecordingListener listener;
  const FitResult whole = fit(request, listener, StopSignal{});
  const std::string kept = read_file(folder.path() / "batches.json", 4096);
  const std::string rows = fmt::format(": {}", whole.batch_size);
  ASSERT_THAT(kept, HasSubstr(rows));
  std::string other = kept;
  other.replace(other.find(rows), rows.size(), ": 50");
  for (const auto& each : std::filesystem::directory_iterator(folder.path()))
    if (each.is_directory()) std::filesystem::remove_all(each.path());
  write_file(folder.path() / "batches.json", other);
  request.resume = true;
  RecordingListener second;
  EXPECT_EQ(fit(request, second, StopSignal{}).batch_size, 50);
  for (const std::string& each : second.infos) EXPECT_THAT(each, testing::Not(HasSubstr("auto takes")));
  for (const char* damaged : {"{", "{\"a\": -1}", "[1]", "{\"a\": 1e300}"}) {
    write_file(folder.path() / "batches.json", damaged);
    EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fit(request, second, StopSignal{}); }),
                HasSubstr("batches.json"))
        << damaged;
  }
}

TEST(LargeBatch, IsAllRowsAndSaysSo) {
  const Table table = test::sample(SampleName::friedman, 100);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 2;
  spec.training.batch_size = 512;
  RecordingListener listener;
  const FitResult result = fit(test::request_for(table, spec), listener, StopSignal{});
  EXPECT_EQ(result.steps, 2);
  EXPECT_EQ(result.batch_size, 100);
  EXPECT_THAT(listener.infos,
              testing::Contains(HasSubstr("batch_size 512 is more than the 100 training rows")));
}

}  // namespace
}  // namespace stoker
