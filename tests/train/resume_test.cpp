#include <cstring>
#include <filesystem>

#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit/fit.h"

// Resuming with the real engines, on the CPU and on a GPU where there is one: what comes out is, bit for bit,
// what an uninterrupted run gives.
namespace stoker {
namespace {

namespace fs = std::filesystem;
using test::RecordingListener;
using test::sample;
using testing::AllOf;
using testing::HasSubstr;

// Interrupts once that many steps are done, as Ctrl-C would: between two chunks, mostly inside an epoch.
class InterruptingListener : public RecordingListener {
 public:
  InterruptingListener(StopSignal& stop, std::int64_t after) : stop_(stop), after_(after) {}
  void advanced(std::int64_t step, std::int64_t total, double rate) override {
    RecordingListener::advanced(step, total, rate);
    if (step >= after_) stop_.interrupt();
  }

 private:
  StopSignal& stop_;
  std::int64_t after_;
};

class ResumeTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("cuda") && !test::has_gpu()) GTEST_SKIP() << "there is no GPU here";
    spec_.settings.set("hidden_layers", test::whole_numbers({24, 12}));
    spec_.settings.set("dropout", 0.2);
    spec_.training.learning_rate = 0.003;
    spec_.training.epochs = 60;
    spec_.training.validation_ratio = 0.2;
  }

  FitRequest request(bool resume) const {
    FitRequest result = test::request_for(table_, spec_);
    result.config.device = GetParam();
    result.checkpoints = folder_.path();
    result.resume = resume;
    return result;
  }
  FitResult uninterrupted() const {
    FitRequest whole = request(false);
    whole.checkpoints.clear();
    RecordingListener listener;
    return fit(whole, listener, StopSignal{});
  }
  // Returns the step at which it was interrupted.
  std::int64_t interrupted(bool resume, std::int64_t after, double checkpoint_seconds = 30) const {
    StopSignal stop;
    InterruptingListener listener(stop, after);
    FitRequest part = request(resume);
    part.config.checkpoint_seconds = checkpoint_seconds;
    EXPECT_THAT(test::error_of(ExitCode::interrupted, [&] { fit(part, listener, stop); }),
                HasSubstr("--resume"));
    return listener.steps.empty() ? 0 : listener.steps.back();
  }
  FitResult resumed() const {
    RecordingListener listener;
    return fit(request(true), listener, StopSignal{});
  }

  const Table table_ = sample(SampleName::friedman, 500);
  ModelSpec spec_ = test::spec_of("neural_network");
  TemporaryFolder folder_;
};

void expect_same(const FitResult& one, const FitResult& other) {
  ASSERT_EQ(one.model.parameters.size(), other.model.parameters.size());
  for (const NamedArray& each : one.model.parameters) {
    const Array& array = find_array(other.model.parameters, each.name);
    ASSERT_EQ(array.shape(), each.array.shape());
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
  ASSERT_EQ(one.epochs.size(), other.epochs.size());
  for (std::size_t i = 0; i < one.epochs.size(); ++i) {
    EXPECT_EQ(one.epochs[i].record.train_loss, other.epochs[i].record.train_loss) << "epoch " << i;
    EXPECT_EQ(one.epochs[i].record.validation_loss, other.epochs[i].record.validation_loss) << "epoch " << i;
    EXPECT_EQ(one.epochs[i].learning_rate, other.epochs[i].learning_rate) << "epoch " << i;
  }
  EXPECT_EQ(one.best_epoch, other.best_epoch);
  EXPECT_EQ(one.end, other.end);
}

TEST_P(ResumeTest, InsideAnEpochIsExact) {
  spec_.training.schedule = Schedule::cosine;
  spec_.training.warmup_epochs = 2;
  const FitResult whole = uninterrupted();
  // 400 training rows are 13 steps an epoch, and the first chunk is shorter than that.
  EXPECT_NE(interrupted(false, 1) % 13, 0);
  const std::int64_t second = interrupted(true, 100);
  EXPECT_LT(second, whole.steps);
  expect_same(whole, resumed());
}

TEST_P(ResumeTest, WithPlateauAndSgdIsExact) {
  spec_.training.schedule = Schedule::plateau;
  spec_.training.plateau_patience = 2;
  spec_.training.step_factor = 0.5;
  spec_.training.optimizer = Optimizer::sgd;
  spec_.training.learning_rate = 0.05;
  const FitResult whole = uninterrupted();
  EXPECT_LT(whole.epochs.back().learning_rate, 0.05);
  interrupted(false, 150);
  expect_same(whole, resumed());
}

TEST_P(ResumeTest, OfARunThatStopsEarlyIsExact) {
  spec_.training.epochs = 400;
  spec_.training.learning_rate = 0.03;
  spec_.training.early_stopping_patience = 10;
  const FitResult whole = uninterrupted();
  EXPECT_EQ(whole.end, TrainingEnd::stopped_early);
  interrupted(false, 30);
  const FitResult again = resumed();
  expect_same(whole, again);
  expect_same(whole, resumed());  // it is over: nothing is trained any more
}

TEST_P(ResumeTest, OfARunThatAMetricStopsIsExact) {
  spec_.training.epochs = 400;
  spec_.training.learning_rate = 0.03;
  spec_.training.early_stopping_metric = "mae";
  spec_.training.early_stopping_patience = 10;
  const FitResult whole = uninterrupted();
  EXPECT_EQ(whole.end, TrainingEnd::stopped_early);
  interrupted(false, 30);
  expect_same(whole, resumed());
}

TEST_P(ResumeTest, FromAnOlderCheckpointIsExactWhenTheNewestIsDamaged) {
  const FitResult whole = uninterrupted();
  const std::int64_t step = interrupted(false, 100, 0);
  fs::resize_file(folder_.path() / fmt::format("step-{:09}", step) / "model.safetensors", 40);
  RecordingListener listener;
  const FitResult again = fit(request(true), listener, StopSignal{});
  EXPECT_THAT(listener.warnings, testing::Contains(HasSubstr("damaged")));
  expect_same(whole, again);
}

TEST_P(ResumeTest, OfAnotherNetworkIsRefused) {
  interrupted(false, 1);
  spec_.settings.set("hidden_layers", test::whole_numbers({24, 13}));
  RecordingListener listener;
  EXPECT_THAT(
      test::error_of(ExitCode::wrong_request, [&] { fit(request(true), listener, StopSignal{}); }),
      AllOf(HasSubstr("another training"), HasSubstr("hidden_layers is [24, 12] there and [24, 13] here")));
}

TEST_P(ResumeTest, WithoutACheckpointStartsAtTheBeginning) {
  spec_.training.epochs = 3;
  RecordingListener listener;
  const FitResult result = fit(request(true), listener, StopSignal{});
  EXPECT_EQ(result.epochs.size(), 3U);
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("no checkpoint to resume from")));
}

TEST_P(ResumeTest, CanProlongARunThatWasFinished) {
  spec_.training.epochs = 30;
  RecordingListener listener;
  fit(request(false), listener, StopSignal{});
  spec_.training.epochs = 60;
  const FitResult prolonged = resumed();
  expect_same(uninterrupted(), prolonged);
}

TEST_P(ResumeTest, KeepsTheEngineThatTheRunBeganWith) {
  StopSignal stop;
  InterruptingListener listener(stop, 1);
  FitRequest eager = request(false);
  eager.config.engine = EngineChoice::eager;
  test::error_of(ExitCode::interrupted, [&] { fit(eager, listener, stop); });
  EXPECT_EQ(resumed().engine, "eager");
}

INSTANTIATE_TEST_SUITE_P(On, ResumeTest, testing::Values("cpu", "cuda"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace stoker
