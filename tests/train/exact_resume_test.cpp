#include <cmath>
#include <cstring>

#include "data/windows/windows.h"
#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit/fit.h"

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
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd, Optimizer::lion})
    for (const Schedule schedule : {Schedule::constant, Schedule::cosine, Schedule::step, Schedule::plateau,
                                    Schedule::exponential, Schedule::one_cycle})
      for (const Precision precision : {Precision::fp32, Precision::bf16})
        all.push_back({optimizer, schedule, precision});
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

std::string name_of_case(const testing::TestParamInfo<ExactCase>& way) {
  return fmt::format("{}_{}_{}", config::name_of(way.param.optimizer), config::name_of(way.param.schedule),
                     config::name_of(way.param.precision));
}

void expect_the_same_bits(const NamedArrays& one, const NamedArrays& other) {
  for (const NamedArray& each : one) {
    const Array& array = find_array(other, each.name);
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
}

// In the middle of an epoch.
void expect_the_same_end_after_an_interruption(FitRequest request) {
  RecordingListener listener;
  const FitResult whole = fit(request, listener, StopSignal{});
  TemporaryFolder folder;
  request.checkpoints = folder.path();
  StopSignal stop;
  InterruptsAfterAChunk interrupting(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(request, interrupting, stop); });
  ASSERT_FALSE(interrupting.steps.empty());
  const std::int64_t per_epoch = whole.steps / static_cast<std::int64_t>(whole.epochs.size());
  EXPECT_NE(interrupting.steps.back() % per_epoch, 0);
  request.resume = true;
  const FitResult resumed = fit(request, listener, StopSignal{});
  EXPECT_EQ(resumed.precision, request.config.precision);
  ASSERT_EQ(resumed.epochs.size(), whole.epochs.size());
  EXPECT_EQ(resumed.epochs.back().record.train_loss, whole.epochs.back().record.train_loss);
  expect_the_same_bits(whole.model.parameters, resumed.model.parameters);
}

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
  expect_the_same_end_after_an_interruption(request);
}

INSTANTIATE_TEST_SUITE_P(With, ExactResume, testing::ValuesIn(every_case()), name_of_case);

Table classes_of_series() {
  std::string csv = "x,label\n";
  for (int i = 0; i < 190; ++i)
    csv += fmt::format("{:.4f},{}\n", std::sin(0.7 * i) + std::sin(0.3 * i), i % 7 < 3 ? "up" : "down");
  WindowsConfig config;
  config.length = 6;
  config.horizon = 1;
  config.target_column = "label";
  config.answer = Answer::given;
  config.feature_columns = {"x"};
  return frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
}

ModelSpec network_of_series() {
  ModelSpec spec = test::spec_of("gru");
  spec.settings.set("hidden_size", std::int64_t{8});
  spec.settings.set("layers", std::int64_t{1});
  spec.settings.set("dropout", 0.2);
  spec.training.epochs = 3;
  spec.training.validation_ratio = 0.2;
  spec.training.batch_size = 16;
  return spec;
}

// With all that a step can have: parts of a batch, smoothed classes, dropout, clipped gradients and an
// average of the weights.
class ExactResumeOfSequences : public testing::TestWithParam<ExactCase> {};

TEST_P(ExactResumeOfSequences, EndsInTheSameBits) {
  const Table table = classes_of_series();
  ModelSpec spec = network_of_series();
  spec.training.learning_rate = GetParam().optimizer == Optimizer::lion ? 0.0005 : 0.005;
  spec.training.optimizer = GetParam().optimizer;
  spec.training.schedule = GetParam().schedule;
  spec.training.step_epochs = 1;
  spec.training.plateau_patience = 1;
  spec.training.accumulation_steps = 3;
  spec.training.label_smoothing = 0.1;
  spec.training.weight_average = 0.9;
  spec.training.max_grad_norm = 0.5;
  FitRequest request = test::request_for(table, spec);
  request.preparation.target_column = "label";
  request.config.precision = GetParam().precision;
  expect_the_same_end_after_an_interruption(request);
}

// Schedules of both kinds: by what happened, and by the step.
std::vector<ExactCase> cases_of_series() {
  std::vector<ExactCase> all = every_case();
  std::erase_if(all, [](const ExactCase& each) {
    return each.schedule != Schedule::plateau && each.schedule != Schedule::one_cycle;
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(With, ExactResumeOfSequences, testing::ValuesIn(cases_of_series()), name_of_case);

// Numbers that are not finite lead to fp32 first, and where that does not help to an error; what was kept on
// the way is whole, and goes on with a lower rate.
TEST(DivergedSequence, SaysSoAndLeavesNothingThatCannotBeGoneOnFrom) {
  const Table table = classes_of_series();
  FitRequest request = test::request_for(table, network_of_series());
  request.preparation.target_column = "label";
  request.spec.training.optimizer = Optimizer::sgd;
  request.spec.training.learning_rate = 1e30;
  request.config.precision = Precision::bf16;
  request.config.checkpoint_seconds = 0;
  TemporaryFolder folder;
  request.checkpoints = folder.path();
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { fit(request, listener, StopSignal{}); }),
              testing::HasSubstr("diverged in epoch 1 of 3"));
  request.spec.training.learning_rate = 0.01;
  request.resume = true;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.epochs.size(), 3U);
  EXPECT_TRUE(std::isfinite(result.epochs.back().record.train_loss));
}

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
  expect_the_same_bits(whole.model.parameters, resumed.model.parameters);
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
