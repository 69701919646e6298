#include <cstring>
#include <numeric>
#include <set>

#include "expect_error.h"
#include "listeners.h"
#include "predict/decide/out_of_fold.h"
#include "predict/measure/evaluate.h"
#include "predict/rows/predictions.h"
#include "tables.h"
#include "train/fit/fit.h"
#include "train/fit/fit_ensemble.h"
#include "train/fit/fit_network.h"
#include "train/fit/variants.h"
#include "train/group/many.h"
#include "train/rows/folds.h"

// Several models that predict together: each as if it had been trained by hand, whatever is beside it.
namespace stoker {
namespace {

using test::RecordingListener;
using test::sample;
using testing::Each;
using testing::HasSubstr;

ModelSpec quick_network() {
  ModelSpec spec = test::small_network();
  spec.settings.set("dropout", 0.1);
  spec.training.epochs = 8;
  return spec;
}

FitRequest ensemble_request(const Table& table, ModelSpec spec, std::int64_t folds,
                            std::int64_t repeats = 1) {
  FitRequest request = test::request_for(table, std::move(spec));
  request.config.ensemble = {.folds = folds, .repeats = repeats};
  return request;
}

FitResult fitted(const FitRequest& request) {
  RecordingListener listener;
  return fit(request, listener, StopSignal{});
}

bool same_members(const Model& one, const Model& other) {
  if (one.members.size() != other.members.size()) return false;
  for (std::size_t i = 0; i < one.members.size(); ++i) {
    const NamedArrays& a = one.members[i].parameters;
    const NamedArrays& b = other.members[i].parameters;
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (a[k].array.bytes() != b[k].array.bytes() ||
          std::memcmp(a[k].array.data(), b[k].array.data(), a[k].array.bytes()) != 0)
        return false;
  }
  return true;
}

// One member, without fit_ensemble.
Model trained_by_hand(const FitRequest& request, const SplitRows& rows, std::size_t number) {
  ModelSpec spec = request.spec;
  spec.training.seed = seed_of_member(request.spec.training.seed, number);
  const Table held_back = take_rows(request.training, rows.second);
  const PreparedData data = prepare(take_rows(request.training, rows.first), &held_back, request.preparation,
                                    Scaling::standard, no_notes());
  Member member;
  member.request = engine_request(spec, data, Device::cpu());
  member.request.threads = 1;
  member.plan.config = spec.training;
  member.plan.rows = member.request.training.rows();
  member.plan.steps_per_epoch = member.request.steps_per_epoch();
  const StopSignal stop;
  const MemberResult result = train_member(member, EngineChoice::automatic, stop);
  return {member.request.network, data.preparation, result.parameters};
}

TEST(Ensemble, PredictsTheMeanOfModelsThatAreTrainedByHand) {
  const Table table = sample(SampleName::friedman, 240);
  const Table unseen = sample(SampleName::friedman, 50, 7);
  const FitRequest request = ensemble_request(table, quick_network(), 4);
  const FitResult result = fitted(request);
  ASSERT_EQ(result.model.members.size(), 4U);
  const std::vector<SplitRows> folds = folds_of(table, {}, 4, request.spec.training.seed);
  std::vector<double> mean(50, 0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<double> own = predict(trained_by_hand(request, folds[i], i), unseen).values;
    for (std::size_t row = 0; row < mean.size(); ++row) mean[row] += own[row] / 4;
  }
  const std::vector<double> predicted = predict(result.model, unseen).values;
  for (std::size_t row = 0; row < mean.size(); ++row) EXPECT_NEAR(predicted[row], mean[row], 1e-12);
}

TEST(Ensemble, AveragesProbabilitiesOfClasses) {
  const Table table = sample(SampleName::blobs, 150);
  for (const ModelSpec& spec : {quick_network(), test::spec_of("logistic_regression")}) {
    const FitResult result = fitted(ensemble_request(table, spec, 3));
    ASSERT_EQ(result.model.members.size(), 3U);
    const Predictions together = predict(result.model, table);
    std::vector<double> mean(together.probabilities.size(), 0.0);
    for (const Model& member : result.model.members) {
      const Predictions own = predict(member, table);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += own.probabilities[i] / 3;
    }
    for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(together.probabilities[i], mean[i], 1e-12);
    const std::size_t width = together.class_names.size();
    for (std::size_t row = 0; row < together.classes.size(); ++row) {
      const auto first = mean.begin() + static_cast<std::ptrdiff_t>(row * width);
      EXPECT_EQ(together.classes[row],
                std::max_element(first, first + static_cast<std::ptrdiff_t>(width)) - first);
    }
  }
}

TEST(Ensemble, IsTheSameOnAnyNumberOfThreads) {
  const Table table = sample(SampleName::friedman, 200);
  FitRequest request = ensemble_request(table, quick_network(), 3, 2);
  request.threads = 1;
  const FitResult one = fitted(request);
  request.threads = 4;
  const FitResult four = fitted(request);
  EXPECT_EQ(one.model.members.size(), 6U);
  EXPECT_TRUE(same_members(one.model, four.model));
}

TEST(Ensemble, MembersDifferInSeedsAndRepeatsInRows) {
  const Table table = sample(SampleName::friedman, 90);
  const FitResult result = fitted(ensemble_request(table, quick_network(), 3, 2));
  std::set<std::vector<std::int64_t>> held_back;
  for (const Model& member : result.model.members) held_back.insert(member.held_back.rows);
  EXPECT_EQ(held_back.size(), 6U);
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : {42U, 43U})
    for (std::size_t member = 0; member < 100; ++member) seeds.insert(seed_of_member(seed, member));
  EXPECT_EQ(seeds.size(), 200U);
}

TEST(Ensemble, PredictsEveryTrainingRowByThoseThatHeldItBack) {
  const Table table = sample(SampleName::friedman, 61);
  const FitResult result = fitted(ensemble_request(table, test::spec_of("ridge"), 4, 2));
  const OutOfFold all = out_of_fold(result.model);
  std::vector<std::int64_t> every(61);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(all.rows, every);
  std::vector<double> sums(61, 0.0);
  for (const Model& member : result.model.members) {
    const std::vector<double> own = predict(member, table).values;
    for (const std::int64_t row : member.held_back.rows)
      sums[static_cast<std::size_t>(row)] += own[static_cast<std::size_t>(row)] / 2;
  }
  for (std::size_t row = 0; row < sums.size(); ++row)
    EXPECT_NEAR(all.predictions.values[row], sums[row], 1e-9);
  EXPECT_EQ(all.actual, result.model.preparation.real_targets(table));
  const Evaluation evaluation = evaluate_out_of_fold(result.model);
  EXPECT_EQ(evaluation.rows, 61);
  EXPECT_GT(evaluation.metric("r2").value_or(0), 0.5);
}

TEST(Ensemble, StopsEachMemberOnTheRowsOfItsFold) {
  const Table table = sample(SampleName::friedman, 120);
  ModelSpec spec = quick_network();
  spec.training.epochs = 400;
  spec.training.learning_rate = 0.05;
  spec.training.validation_ratio = 0.3;
  spec.training.early_stopping_patience = 3;
  RecordingListener listener;
  const FitResult result = fit(ensemble_request(table, spec, 4), listener, StopSignal{});
  EXPECT_LT(result.epochs.size(), 400U);
  EXPECT_TRUE(result.epochs.front().record.validation_loss.has_value());
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("validation_ratio 0.3 is not used")));
  for (const Model& member : result.model.members) EXPECT_EQ(member.held_back.rows.size(), 30U);
}

TEST(Ensemble, WarnsThatNamedValidationRowsAreNotUsed) {
  const Table table = sample(SampleName::friedman, 120);
  ModelSpec spec = quick_network();
  spec.training.epochs = 2;
  spec.training.validation_ids = {3, 7, 10};
  RecordingListener listener;
  const FitResult result = fit(ensemble_request(table, spec, 4), listener, StopSignal{});
  EXPECT_THAT(listener.warnings, testing::Contains(HasSubstr("validation_ids are not used")));
  EXPECT_THAT(listener.infos, testing::Not(testing::Contains(HasSubstr("validation_ratio"))));
  for (const Model& member : result.model.members) EXPECT_EQ(member.held_back.rows.size(), 30U);
}

TEST(Ensemble, StopsEarlyWithoutAValidationRatio) {
  const Table table = sample(SampleName::friedman, 120);
  ModelSpec spec = quick_network();
  spec.training.epochs = 400;
  spec.training.learning_rate = 0.05;
  spec.training.early_stopping_patience = 3;
  EXPECT_LT(fitted(ensemble_request(table, spec, 4)).epochs.size(), 400U);
  RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] { fit(test::request_for(table, spec), listener, StopSignal{}); }),
              HasSubstr("validation_ratio is 0"))
      << "of one network";
}

TEST(Ensemble, SaysHowManyRowsHaveNoPredictionOutOfFold) {
  std::string csv = "x,y\n";
  for (int row = 0; row < 40; ++row) csv += fmt::format("{},{}\n", row, row % 2 == 0 ? "even" : "odd");
  csv += "40,lonely\n41,only\n";
  const Table table = test::table_from_csv(csv);
  RecordingListener listener;
  const FitResult result =
      fit(ensemble_request(table, test::spec_of("logistic_regression"), 4), listener, StopSignal{});
  EXPECT_EQ(out_of_fold(result.model).rows.size(), 40U);
  EXPECT_THAT(listener.infos, testing::Contains(HasSubstr("2 of 42 training rows have no out-of-fold")));
}

TEST(Ensemble, KeepsGroupsTogether) {
  std::string csv = "person,x,y\n";
  for (int row = 0; row < 60; ++row) csv += fmt::format("p{},{},{}\n", row % 6, row, 2 * row + row % 5);
  Table table = test::table_from_csv(csv);
  table.group_column = "person";
  const FitResult result = fitted(ensemble_request(table, test::spec_of("ridge"), 3));
  for (const Model& member : result.model.members) {
    std::set<std::int64_t> persons;
    for (const std::int64_t row : member.held_back.rows) persons.insert(row % 6);
    EXPECT_EQ(member.held_back.rows.size(), 10 * persons.size());
  }
}

// What is a feature is decided on all rows: the text is an identifier to none of the members.
TEST(Ensemble, DecidesOnceWhichColumnsAreFeatures) {
  std::string csv = "name,x,y\n";
  for (int row = 0; row < 40; ++row) csv += fmt::format("n{},{},{}.5\n", row / 2, row * 7 % 11, 3 * row);
  const Table table = test::table_from_csv(csv);
  const FitResult result = fitted(ensemble_request(table, test::spec_of("ridge"), 2));
  for (const Model& member : result.model.members) EXPECT_EQ(member.preparation.columns().size(), 2U);
}

// Interrupts once that many steps of all members are done.
class Interrupting : public RecordingListener {
 public:
  Interrupting(StopSignal& stop, std::int64_t after) : stop_(stop), after_(after) {}
  void ensemble_advanced(const EnsembleStanding& standing) override { last = standing; }
  void advanced(std::int64_t step, std::int64_t total, double rate) override {
    RecordingListener::advanced(step, total, rate);
    if (step >= after_) stop_.interrupt();
  }
  EnsembleStanding last;

 private:
  StopSignal& stop_;
  std::int64_t after_;
};

TEST(Ensemble, GoesOnAfterAnInterruptionToTheSameBits) {
  const Table table = sample(SampleName::friedman, 200);
  ModelSpec spec = quick_network();
  spec.training.epochs = 40;
  FitRequest request = ensemble_request(table, spec, 4);
  const FitResult whole = fitted(request);
  const TemporaryFolder folder;
  request.checkpoints = folder.path();
  request.config.checkpoint_seconds = 0;
  request.threads = 2;
  int interruptions = 0;
  std::optional<FitResult> resumed;
  for (std::int64_t after = 30; !resumed && after < 10'000; after += 150) {
    StopSignal stop;
    Interrupting listener(stop, after);
    try {
      resumed = fit(request, listener, stop);
      EXPECT_EQ(listener.last.finished, 4U);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ExitCode::interrupted) << error.what();
      ++interruptions;
    }
    request.resume = true;
  }
  ASSERT_TRUE(resumed);
  EXPECT_GE(interruptions, 2);
  EXPECT_TRUE(same_members(whole.model, resumed->model));
}

TEST(Ensemble, OutOfTimeConsistsOfWhatIsThere) {
  const Table table = sample(SampleName::friedman, 200);
  ModelSpec spec = quick_network();
  spec.training.epochs = 1'000'000;
  FitRequest request = ensemble_request(table, spec, 5);
  request.config.time_limit = 0.3;
  request.threads = 2;
  RecordingListener listener;
  const FitResult result = fit(request, listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::time_limit);
  // The second thread may be late on a busy machine.
  EXPECT_GE(result.model.members.size(), 1U);
  EXPECT_LE(result.model.members.size(), 2U);
  EXPECT_THAT(listener.warnings, testing::Contains(HasSubstr("before all 5 members")));
  EXPECT_THAT(predict(result.model, table).values, Each(testing::Not(testing::IsNan())));
}

TEST(Ensemble, CountsTheTimeOfEarlierSittings) {
  const Table table = sample(SampleName::friedman, 200);
  const TemporaryFolder folder;
  ModelSpec spec = quick_network();
  FitRequest request = ensemble_request(table, spec, 3);
  request.checkpoints = folder.path();
  request.threads = 1;
  const FitResult whole = fitted(request);
  EXPECT_EQ(whole.end, TrainingEnd::finished);
  // A sitting that took an hour, in which two members were trained.
  std::filesystem::remove_all(folder.path() / "member-0003");
  write_file(folder.path() / "seconds", "3600\n");
  request.resume = true;
  request.config.time_limit = 3000;
  const FitResult late = fitted(request);
  EXPECT_EQ(late.end, TrainingEnd::time_limit);
  EXPECT_EQ(late.model.members.size(), 2U);
  EXPECT_GE(late.seconds, 3600);
  write_file(folder.path() / "seconds", "nonsense");
  EXPECT_TRUE(same_members(fitted(request).model, whole.model));
}

TEST(Ensemble, SaysWhichMemberDiverged) {
  const Table table = sample(SampleName::friedman, 100);
  ModelSpec spec = quick_network();
  spec.training.optimizer = Optimizer::sgd;
  spec.training.learning_rate = 1e30;
  try {
    fitted(ensemble_request(table, spec, 2));
    FAIL() << "it did not diverge";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::run_failed);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("of 2: "), HasSubstr("diverged")));
  }
}

// The rate rises from epoch to epoch, until it is too high.
TEST(Ensemble, UsesTheBestWeightsOfMembersThatDivergeLate) {
  const Table table = sample(SampleName::friedman, 600);
  ModelSpec spec = test::small_network();
  spec.training.optimizer = Optimizer::sgd;
  spec.training.momentum = 0;
  spec.training.learning_rate = 4;
  spec.training.warmup_epochs = 40;
  spec.training.epochs = 60;
  RecordingListener listener;
  const FitResult result = fit(ensemble_request(table, spec, 3), listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::finished);
  EXPECT_EQ(result.model.members.size(), 3U);
  EXPECT_LT(result.epochs.size(), 40U);
  EXPECT_THAT(listener.warnings, testing::Contains(testing::AllOf(
                                     testing::StartsWith("member 2 of 3: training diverged in epoch"),
                                     HasSubstr("the best by validation"))));
  EXPECT_THAT(result.adjustments, testing::Contains(testing::StartsWith("member 2 of 3: training diverged")));
  const double error = evaluate(result.model, table).metric("rmse").value();
  EXPECT_LT(error, 5);  // the standard deviation of the target
}

TEST(Ensemble, RefusesFoldsThatCannotBe) {
  const Table table = sample(SampleName::friedman, 30);
  for (const auto& [folds, words] : {std::pair{1, "leaves no rows"}, {100, "too few for 100 folds"}}) {
    try {
      fitted(ensemble_request(table, test::spec_of("ridge"), folds));
      FAIL() << folds;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  }
  EXPECT_THAT(problem_of({.folds = 100, .repeats = 11}), HasSubstr("1100 members"));
  EXPECT_THAT(problem_of({.folds = 0, .repeats = 2}), HasSubstr("without folds"));
}

config::Value variants(const std::string& yaml) {
  return config::parse_yaml(yaml, "");
}

TEST(Ensemble, MembersOfItsVariantsTakeTurns) {
  const Table table = sample(SampleName::friedman, 60);
  FitRequest request = ensemble_request(table, quick_network(), 3, 2);
  request.config.ensemble.variants =
      variants("{near: {scaling: robust, hidden_layers: [5]}, ranked: {scaling: quantile, epochs: 2}}");
  const Model model = fitted(request).model;
  ASSERT_EQ(model.members.size(), 6U);
  // Of one fold, both.
  const std::vector<bool> is_ranked{false, true, false, true, false, true};
  for (std::size_t i = 0; i < model.members.size(); ++i) {
    const Model& member = model.members[i];
    const auto curve = is_ranked[i] ? PreparedColumn::Curve::quantile : PreparedColumn::Curve::clipped;
    EXPECT_EQ(member.preparation.columns().front().curve, curve) << i;
    const bool is_narrow = member.parameters.front().array.shape().front() == 5;
    EXPECT_EQ(is_narrow, !is_ranked[i]) << i;
  }
  EXPECT_EQ(predict(model, table).values.size(), 60U);
}

TEST(Ensemble, OfOneVariantIsTheOneThatIsAskedForDirectly) {
  const Table table = sample(SampleName::friedman, 60);
  FitRequest varied = ensemble_request(table, quick_network(), 2);
  varied.config.ensemble.variants = variants("{only: {scaling: quantile, learning_rate: 0.01}}");
  FitRequest direct = ensemble_request(table, quick_network(), 2);
  direct.preparation.scaling = Scaling::quantile;
  direct.spec.training.learning_rate = 0.01;
  EXPECT_TRUE(same_members(fitted(varied).model, fitted(direct).model));
}

TEST(Ensemble, RefusesVariantsThatItsMembersCannotHave) {
  const Table table = sample(SampleName::friedman, 30);
  for (const auto& [yaml, words] : {std::pair{"{a: {scalling: robust}}", "scaling"},
                                    {"{a: {task: binary}}", "ensemble.variants.a.task"},
                                    {"{a: {seed: 1}}", "ensemble.variants.a.seed"},
                                    {"{a: {validation_ratio: 0.5}}", "validation_ratio"},
                                    {"{a: {}, b: {epochs: 0}}", "ensemble.variants.b.epochs"},
                                    {"{a: {scaling: 3}}", "scaling"}}) {
    FitRequest request = ensemble_request(table, quick_network(), 2);
    request.config.ensemble.variants = variants(yaml);
    EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fitted(request); }), HasSubstr(words)) << yaml;
  }
  EXPECT_THAT(problem_of_variants(variants("{a: 5}")), HasSubstr("'a' must be a map"));
}

}  // namespace
}  // namespace stoker
