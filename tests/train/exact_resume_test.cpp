#include <cstring>

#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit.h"

// For every optimiser, schedule and precision that a CPU has: a run that was interrupted in the middle of an
// epoch ends in the bits of one that was not.
namespace stoker {
namespace {

using test::RecordingListener;

struct ExactCase {
  Optimizer optimizer;
  Schedule schedule;
  Precision precision;
};

std::vector<ExactCase> every_case() {
  std::vector<ExactCase> all;
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd, Optimizer::lion}) {
    for (const Schedule schedule : {Schedule::constant, Schedule::cosine, Schedule::step, Schedule::plateau,
                                    Schedule::exponential, Schedule::one_cycle})
      all.push_back({optimizer, schedule, Precision::fp32});
    all.push_back({optimizer, Schedule::one_cycle, Precision::bf16});
  }
  return all;
}

class InterruptsAfterAChunk : public RecordingListener {
 public:
  explicit InterruptsAfterAChunk(StopSignal& stop) : stop_(stop) {}
  void advanced(std::int64_t step, std::int64_t total, double rate) override {
    RecordingListener::advanced(step, total, rate);
    stop_.interrupt();
  }

 private:
  StopSignal& stop_;
};

class ExactResume : public testing::TestWithParam<ExactCase> {};

TEST_P(ExactResume, EndsInTheSameBits) {
  const Table table = test::sample(SampleName::friedman, 500);
  ModelSpec spec = test::small_network();
  spec.settings.set("dropout", 0.2);
  spec.training.epochs = 10;
  spec.training.learning_rate = GetParam().optimizer == Optimizer::lion ? 0.0005 : 0.005;
  spec.training.validation_ratio = 0.2;
  spec.training.optimizer = GetParam().optimizer;
  spec.training.schedule = GetParam().schedule;
  spec.training.step_epochs = 3;
  spec.training.plateau_patience = 1;
  FitRequest request = test::request_for(table, spec);
  request.config.precision = GetParam().precision;
  RecordingListener listener;
  const FitResult whole = fit(request, listener, StopSignal{});
  TemporaryFolder folder;
  request.checkpoints = folder.path();
  StopSignal stop;
  InterruptsAfterAChunk interrupting(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(request, interrupting, stop); });
  ASSERT_FALSE(interrupting.steps.empty());
  EXPECT_NE(interrupting.steps.back() % 13, 0);  // 400 rows are 13 steps
  request.resume = true;
  const FitResult resumed = fit(request, listener, StopSignal{});
  EXPECT_EQ(resumed.precision, GetParam().precision);
  ASSERT_EQ(resumed.epochs.size(), whole.epochs.size());
  EXPECT_EQ(resumed.epochs.back().record.train_loss, whole.epochs.back().record.train_loss);
  for (const NamedArray& each : whole.model.parameters) {
    const Array& array = find_array(resumed.model.parameters, each.name);
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(With, ExactResume, testing::ValuesIn(every_case()), [](const auto& way) {
  std::string name = fmt::format("{}_{}_{}", config::name_of(way.param.optimizer),
                                 config::name_of(way.param.schedule), config::name_of(way.param.precision));
  return name;
});

TEST(ExactResumeOfAnAverage, IsJudgedByAnyMetric) {
  const Table table = test::sample(SampleName::friedman, 500);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 60;
  spec.training.learning_rate = 0.03;
  spec.training.validation_ratio = 0.2;
  spec.training.weight_average = 0.9;
  spec.training.early_stopping_metric = "mae";
  spec.training.early_stopping_patience = 8;
  FitRequest request = test::request_for(table, spec);
  RecordingListener listener;
  const FitResult whole = fit(request, listener, StopSignal{});
  EXPECT_EQ(whole.engine, "eager");
  TemporaryFolder folder;
  request.checkpoints = folder.path();
  StopSignal stop;
  InterruptsAfterAChunk interrupting(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(request, interrupting, stop); });
  request.resume = true;
  const FitResult resumed = fit(request, listener, StopSignal{});
  EXPECT_EQ(resumed.end, whole.end);
  EXPECT_EQ(resumed.best_epoch, whole.best_epoch);
  for (const NamedArray& each : whole.model.parameters) {
    const Array& array = find_array(resumed.model.parameters, each.name);
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
}

TEST(ResumeWithOtherSettings, IsRefusedByTheNameOfWhatDiffers) {
  const Table table = test::sample(SampleName::friedman, 500);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 400;
  spec.training.accumulation_steps = 4;
  spec.training.weight_average = 0.9;
  FitRequest request = test::request_for(table, spec);
  TemporaryFolder folder;
  request.checkpoints = folder.path();
  StopSignal stop;
  InterruptsAfterAChunk interrupting(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(request, interrupting, stop); });
  request.resume = true;
  request.spec.training.accumulation_steps = 1;
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, StopSignal{}); }),
              testing::HasSubstr("accumulation_steps is 4 there and not set here"));
}

}  // namespace
}  // namespace stoker
