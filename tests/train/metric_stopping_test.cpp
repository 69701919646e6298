#include "train/loop/metric_stopping.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/edits_in_place.h"
#include "expect_error.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "listeners.h"
#include "predict/measure/evaluate.h"
#include "tables.h"
#include "train/fit/fit_network.h"
#include "train/loop/engines.h"

namespace stoker {
namespace {

using test::RecordingListener;
using testing::AllOf;
using testing::HasSubstr;

bool same_parameters(const NamedArrays& one, const NamedArrays& other) {
  if (one.size() != other.size()) return false;
  for (const NamedArray& each : one) {
    const Array& twin = find_array(other, each.name);
    if (each.array.bytes() != twin.bytes() || std::memcmp(each.array.data(), twin.data(), twin.bytes()) != 0)
      return false;
  }
  return true;
}

// A training whose losses go up and down, and the same training step by step without anybody who judges.
class MetricStoppingTest : public testing::Test {
 protected:
  MetricStoppingTest() {
    spec_.training.learning_rate = 0.05;
    spec_.training.epochs = 25;
    spec_.training.validation_ratio = 0.2;
  }

  void prepare_rows(const Table& table) {
    PreparationConfig settings = test::predicting_last(table);
    const std::vector<std::int64_t> classes = classes_of(table, settings, no_notes());
    const SplitRows rows = validation_rows(table, classes, spec_.training);
    validation_ = take_rows(table, rows.second);
    training_ = take_rows(table, rows.first);
    data_ = prepare(training_, &validation_, settings, Scaling::standard, no_notes());
    request_ = engine_request(spec_, data_, Device::cpu());
  }

  std::unique_ptr<Engine> make_engine() const {
    return choose_engine(engines(), EngineChoice::automatic, std::nullopt, request_).make(request_);
  }
  std::unique_ptr<Engine> make_judged() const {
    return judged_by(
        metric_stopping(spec_.training, request_.network, data_.preparation, data_.validation).value(),
        make_engine(), request_.steps_per_epoch());
  }
  Chunk chunk(std::int64_t first, std::int64_t end) const {
    const auto rate = static_cast<float>(spec_.training.learning_rate);
    return {first, std::vector<float>(static_cast<std::size_t>(end - first), rate)};
  }
  std::int64_t all_steps() const { return spec_.training.epochs * request_.steps_per_epoch(); }

  struct Epoch {
    double value = 0;
    NamedArrays parameters;
  };
  std::vector<Epoch> plain_epochs() const {
    const std::unique_ptr<Engine> engine = make_engine();
    std::vector<Epoch> epochs;
    const std::int64_t steps = request_.steps_per_epoch();
    for (std::int64_t i = 0; i < spec_.training.epochs; ++i) {
      engine->run(chunk(i * steps, (i + 1) * steps));
      const Model model{request_.network, data_.preparation, engine->parameters()};
      epochs.push_back({evaluate(model, validation_).metric(spec_.training.early_stopping_metric).value(),
                        model.parameters});
    }
    return epochs;
  }

  // What comes of it, told by the definition.
  struct Judged {
    std::vector<bool> is_best;
    NamedArrays parameters;
    bool stopped_early = false;
  };
  Judged expected() const {
    const bool higher = find_metric(spec_.training.early_stopping_metric)->higher_is_better;
    Judged judged;
    double best = higher ? -INFINITY : INFINITY;
    std::int64_t since = 0;
    for (const Epoch& epoch : plain_epochs()) {
      const double gain = higher ? epoch.value - best : best - epoch.value;
      judged.is_best.push_back(gain > spec_.training.early_stopping_min_delta);
      if (judged.is_best.back()) {
        best = epoch.value;
        judged.parameters = epoch.parameters;
      }
      since = judged.is_best.back() ? 0 : since + 1;
      judged.stopped_early =
          spec_.training.early_stopping_patience > 0 && since >= spec_.training.early_stopping_patience;
      if (judged.stopped_early) break;
    }
    return judged;
  }

  void expect_as_defined(const ChunkResult& result, const Engine& engine) const {
    const Judged judged = expected();
    std::vector<bool> is_best;
    for (const EpochRecord& epoch : result.finished_epochs) is_best.push_back(epoch.is_best);
    EXPECT_EQ(is_best, judged.is_best);
    EXPECT_EQ(result.stopped_early, judged.stopped_early);
    EXPECT_TRUE(same_parameters(engine.best_parameters(), judged.parameters));
  }

  ModelSpec spec_ = test::small_network();
  Table training_;
  Table validation_;
  PreparedData data_;
  EngineRequest request_;
};

TEST_F(MetricStoppingTest, KeepsTheWeightsOfTheBestEpoch) {
  prepare_rows(test::sample(SampleName::friedman, 300));
  for (const char* metric : {"mae", "median_absolute_error", "r2"}) {
    SCOPED_TRACE(metric);
    spec_.training.early_stopping_metric = metric;
    const auto engine = make_judged();
    const ChunkResult result = engine->run(chunk(0, all_steps()));
    ASSERT_EQ(result.finished_epochs.size(), 25U);
    expect_as_defined(result, *engine);
    for (const EpochRecord& epoch : result.finished_epochs) {
      ASSERT_EQ(epoch.values.size(), 1U);
      EXPECT_EQ(epoch.values[0].name, std::string("validation_") + metric);
    }
    EXPECT_FALSE(same_parameters(engine->best_parameters(), engine->parameters()));
  }
}

TEST_F(MetricStoppingTest, StopsWhenTheMetricNoLongerGetsBetter) {
  spec_.training.early_stopping_metric = "mae";
  spec_.training.early_stopping_patience = 2;
  spec_.training.early_stopping_min_delta = 0.05;
  prepare_rows(test::sample(SampleName::friedman, 300));
  EXPECT_EQ(request_.patience, 0);
  const auto engine = make_judged();
  const ChunkResult result = engine->run(chunk(0, all_steps()));
  expect_as_defined(result, *engine);
  ASSERT_TRUE(result.stopped_early);
  EXPECT_LT(result.finished_epochs.size(), 25U);
  // Nothing changes any more.
  const NamedArrays before = engine->parameters();
  EXPECT_TRUE(engine->run(chunk(0, all_steps())).stopped_early);
  EXPECT_TRUE(same_parameters(engine->parameters(), before));
}

TEST_F(MetricStoppingTest, JudgesClassesToo) {
  const Table table = test::sample(SampleName::blobs, 300);
  for (const char* metric : {"accuracy", "matthews_correlation", "roc_auc"}) {
    SCOPED_TRACE(metric);
    spec_.training.early_stopping_metric = metric;
    spec_.training.epochs = 6;
    prepare_rows(table);
    const auto engine = make_judged();
    expect_as_defined(engine->run(chunk(0, all_steps())), *engine);
  }
}

double value_named(const EpochRecord& epoch, const std::string& name) {
  const auto found = std::ranges::find(epoch.values, name, &NamedValue::name);
  return found == epoch.values.end() ? std::nan("") : found->value;
}

// Points in a plane with a circle around the middle: yes inside, no outside.
Table points_of_two_classes() {
  std::string csv = "x,y,inside\n";
  for (int i = 0; i < 300; ++i) {
    const double x = std::sin(i * 1.7), y = std::cos(i * 0.9);
    csv += fmt::format("{:.4f},{:.4f},{}\n", x, y, x * x + y * y < 1 ? "yes" : "no");
  }
  return test::table_from_csv(csv);
}

// Engines count the rows that they have right; the reference is an evaluation after each epoch. With one step
// an epoch, the rows are trained on by the weights that the epoch before left.
TEST_F(MetricStoppingTest, EveryEngineReportsTheAccuracyThatAnEvaluationFinds) {
  spec_.training.early_stopping_metric = "accuracy";
  spec_.training.epochs = 4;
  spec_.training.batch_size = 1000;
  for (const bool has_two : {false, true}) {
    prepare_rows(has_two ? points_of_two_classes() : test::sample(SampleName::blobs, 300));
    for (const EngineChoice choice : {EngineChoice::fused, EngineChoice::eager}) {
      SCOPED_TRACE(config::name_of(choice));
      const auto engine = choose_engine(engines(), choice, std::nullopt, request_).make(request_);
      double on_training_rows = std::nan("");
      for (std::int64_t epoch = 0; epoch < spec_.training.epochs; ++epoch) {
        const ChunkResult result = engine->run(chunk(epoch, epoch + 1));
        ASSERT_EQ(result.finished_epochs.size(), 1U);
        const Model model{request_.network, data_.preparation, engine->parameters()};
        EXPECT_NEAR(value_named(result.finished_epochs[0], "validation_accuracy"),
                    evaluate(model, validation_).metric("accuracy").value(), 1e-9);
        if (epoch > 0) {
          EXPECT_NEAR(value_named(result.finished_epochs[0], "train_accuracy"), on_training_rows, 1e-9);
        }
        on_training_rows = evaluate(model, training_).metric("accuracy").value();
      }
    }
  }
}

// Hits of an epoch that is interrupted are part of the state, and not known in states of earlier versions.
TEST_F(MetricStoppingTest, AccuracyGoesOnWithinAnEpoch) {
  spec_.training.epochs = 1;
  spec_.training.batch_size = 16;
  prepare_rows(test::sample(SampleName::blobs, 300));
  for (const EngineChoice choice : {EngineChoice::fused, EngineChoice::eager}) {
    SCOPED_TRACE(config::name_of(choice));
    const EngineMaker& maker = choose_engine(engines(), choice, std::nullopt, request_);
    const ChunkResult whole = maker.make(request_)->run(chunk(0, all_steps()));
    const auto half = maker.make(request_);
    half->run(chunk(0, 5));
    NamedArrays state = half->state();
    const auto rest = maker.make(request_);
    rest->restore(state);
    EXPECT_EQ(value_named(rest->run(chunk(5, all_steps())).finished_epochs.at(0), "train_accuracy"),
              value_named(whole.finished_epochs.at(0), "train_accuracy"));
    std::erase_if(state, [](const NamedArray& each) { return each.name == "train_hits"; });
    const auto of_earlier_version = maker.make(request_);
    of_earlier_version->restore(state);
    const ChunkResult result = of_earlier_version->run(chunk(5, all_steps()));
    EXPECT_TRUE(std::isnan(value_named(result.finished_epochs.at(0), "train_accuracy")));
    EXPECT_FALSE(std::isnan(value_named(result.finished_epochs.at(0), "validation_accuracy")));
  }
}

// One that could be edited where its state lies.
class EngineWithHandle : public fused_cpu::FusedCpuEngine, public EditsInPlace {
 public:
  using FusedCpuEngine::FusedCpuEngine;
  std::unique_ptr<StructureHandle> structure() override { return std::make_unique<StructureHandle>(); }
};

TEST_F(MetricStoppingTest, LeavesEditsToTheEngineThatItJudges) {
  spec_.training.early_stopping_metric = "mae";
  prepare_rows(test::sample(SampleName::friedman, 300));
  const auto without = make_judged();
  EXPECT_EQ(dynamic_cast<EditsInPlace&>(*without).structure(), nullptr);
  const auto with = judged_by(
      metric_stopping(spec_.training, request_.network, data_.preparation, data_.validation).value(),
      std::make_unique<EngineWithHandle>(request_), request_.steps_per_epoch());
  EXPECT_NE(dynamic_cast<EditsInPlace&>(*with).structure(), nullptr);
}

TEST_F(MetricStoppingTest, GoesOnExactlyFromItsState) {
  spec_.training.early_stopping_metric = "mae";
  spec_.training.early_stopping_patience = 6;
  prepare_rows(test::sample(SampleName::friedman, 300));
  const auto whole = make_judged();
  const ChunkResult result = whole->run(chunk(0, all_steps()));
  for (const std::int64_t cut : {std::int64_t{1}, request_.steps_per_epoch(), std::int64_t{21}}) {
    SCOPED_TRACE(cut);
    const auto first = make_judged();
    const std::size_t done = first->run(chunk(0, cut)).finished_epochs.size();
    const auto second = make_judged();
    second->restore(first->state());
    const ChunkResult rest = second->run(chunk(cut, all_steps()));
    EXPECT_EQ(done + rest.finished_epochs.size(), result.finished_epochs.size());
    EXPECT_EQ(rest.stopped_early, result.stopped_early);
    EXPECT_TRUE(same_parameters(second->state(), whole->state()));
  }
}

TEST_F(MetricStoppingTest, RefusesAStateThatWasJudgedByAnotherMetric) {
  spec_.training.early_stopping_metric = "mae";
  prepare_rows(test::sample(SampleName::friedman, 300));
  const auto by_mae = make_judged();
  spec_.training.early_stopping_metric = "r2";
  for (const NamedArrays& state : {by_mae->state(), make_engine()->state()})
    EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { make_judged()->restore(state); }),
                AllOf(HasSubstr("best by r2"), HasSubstr("early_stopping_metric was another")));
}

TEST_F(MetricStoppingTest, RefusesWhatDoesNotFitTheTargetOrItsRows) {
  const Table table = test::table_from_csv(
      "x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,c\n10,a\n11,b\n12,a\n13,b\n14,a\n15,b\n16,a\n");
  const auto refusal = [&](const char* metric) {
    spec_.training.early_stopping_metric = metric;
    RecordingListener listener;
    return test::error_of(ExitCode::wrong_request,
                          [&] { fit(test::request_for(table, spec_), listener, StopSignal{}); });
  };
  EXPECT_THAT(refusal("rmse"), AllOf(HasSubstr("early_stopping_metric rmse does not fit the task multiclass"),
                                     HasSubstr("accuracy")));
  EXPECT_THAT(refusal("roc_auc"),
              AllOf(HasSubstr("every class among the validation rows"), HasSubstr("'c'")));
  spec_.training.validation_ratio = 0;
  EXPECT_THAT(refusal("accuracy"), HasSubstr("validation_ratio is 0"));
}

TEST_F(MetricStoppingTest, ChoosesTheModelOfAFit) {
  spec_.training.early_stopping_metric = "mae";
  const Table table = test::sample(SampleName::friedman, 300);
  prepare_rows(table);
  const Judged judged = expected();
  RecordingListener listener;
  const FitResult result = fit(test::request_for(table, spec_), listener, StopSignal{});
  EXPECT_TRUE(same_parameters(result.model.parameters, judged.parameters));
  ASSERT_EQ(listener.epochs.size(), judged.is_best.size());
  for (std::size_t i = 0; i < judged.is_best.size(); ++i)
    EXPECT_EQ(listener.epochs[i].record.is_best, judged.is_best[i]);
  const auto last = std::find(judged.is_best.rbegin(), judged.is_best.rend(), true);
  EXPECT_EQ(result.best_epoch, judged.is_best.rend() - last - 1);
}

}  // namespace
}  // namespace stoker
