#include <cmath>
#include <cstring>
#include <deque>

#include <gtest/gtest.h>

#include "fused/cpu/experts/expert_engine.h"
#include "fused/cuda/experts/flat.h"
#include "fused/cuda/experts/plan.h"
#include "kernels/end_epoch.h"
#include "torch/emulated/expert_launch.h"
#include "torch/expert_case.h"
#include "torch/training_case.h"

// The kernels of mixtures of experts, their text compiled for the CPU and run thread by thread
// (emulated/gpu.h), held against the engine on the CPU: what only a GPU can tell is left to
// fused_experts_test.cpp.
namespace stoker {
namespace {

using test::ExpertCase;
namespace experts = fused::experts;

// Memory that begins as no number, with a fence behind it that nobody may have crossed.
class Fenced {
 public:
  template <class T>
  T* make(std::int64_t count, bool is_zero = false) {
    auto& bytes = all_.emplace_back(static_cast<std::size_t>(count) * sizeof(T) + fence, std::uint8_t{0xff});
    if (is_zero) std::memset(bytes.data(), 0, bytes.size() - fence);
    return reinterpret_cast<T*>(bytes.data());
  }
  bool are_whole() const {
    for (const auto& each : all_)
      for (std::size_t i = each.size() - fence; i < each.size(); ++i)
        if (each[i] != 0xff) return false;
    return true;
  }

 private:
  static constexpr std::size_t fence = 256;
  std::deque<std::vector<std::uint8_t>> all_;
};

// A training as the engine frames it, in host memory.
struct EmulatedExperts {
  EngineRequest request;
  experts::ExpertWork work;
  experts::ExpertWork validation;
  kernels::BeginStep begin;
  Fenced memory;
  std::vector<float> parameters, first_moment, second_moment, best_parameters;
  std::vector<std::int32_t> living;
  std::int32_t living_count = 0;
  kernels::StepCounters counters;
  std::vector<experts::UpdateStep> steps;
  std::int64_t first_step = 0;
  std::vector<double> row_sums, validation_sums, term_sums, values;
  kernels::EpochLine line;
  double norm_sum = 0, best_loss = INFINITY;
  float stopped = 0, rate = 0, update_number = 0;
  static constexpr int blocks = 3;  // so that each has several tiles to do

  explicit EmulatedExperts(const EngineRequest& of)
      : request(of), work(experts::work_of(request, expert_shape(request.network).value())) {
    const auto size = static_cast<std::size_t>(work.layout.size);
    parameters.resize(size);
    experts::to_flat(work.layout, request.initial_parameters, "", parameters);
    best_parameters = parameters;
    first_moment.resize(size);
    second_moment.resize(size);
    living = experts::living_in(work.layout, parameters, work.top_k);
    living_count = static_cast<std::int32_t>(living.size());
    row_sums.resize(static_cast<std::size_t>(work.batch));
    validation_sums = row_sums;
    term_sums.resize(static_cast<std::size_t>(work.batch * work.terms));
    values.resize(static_cast<std::size_t>(work.terms + 1));
    experts::place_buffers(work, [&](auto*& pointer, std::int64_t count) {
      pointer = memory.make<std::remove_reference_t<decltype(*pointer)>>(count);
    });
    experts::BatchBuffers batch;
    batch.features = memory.make<float>(work.batch * work.layout.router[0].inputs, true);
    batch.targets = memory.make<float>(work.batch * std::max<std::int64_t>(2, work.losses.width));
    const bool is_weighted = request.training.find(Role::weights) != nullptr;
    if (is_weighted) batch.weights = memory.make<float>(work.batch);
    point(batch);
    begin.gather_count = experts::gathers_of(request.training, work.layout, batch, begin.gathers);
    begin.seed = request.seed;
    begin.rows = begin.epoch_rows = request.training.rows();
    begin.batch_size = request.batch_size;
    begin.batch_rows = std::min(request.batch_size, request.training.rows());
    begin.steps_per_epoch = request.steps_per_epoch();
    begin.rates = begin.learning_rate = &rate;
    begin.rate_count = 1;
    begin.stopped = &stopped;
    begin.counters = &counters;
    begin.update_number = &update_number;
    validation = experts::validation_of(work);
    validation.row_sums = validation_sums.data();
  }

  void point(const experts::BatchBuffers& batch) {
    work.counters = &counters;
    work.stopped = &stopped;
    work.features = batch.features;
    work.losses.float_targets = static_cast<const float*>(batch.targets);
    work.losses.class_targets = static_cast<const std::int64_t*>(batch.targets);
    work.losses.row_weights = batch.weights;
    work.losses.batch_rows = &counters.current_rows;
    work.parameters = parameters.data();
    work.best_parameters = best_parameters.data();
    if (request.optimizer.has_first_moment()) work.first_moment = first_moment.data();
    if (request.optimizer.has_second_moment()) work.second_moment = second_moment.data();
    work.living = living.data();
    work.living_count = &living_count;
    work.row_sums = row_sums.data();
    if (work.terms > 1) work.term_sums = term_sums.data();
    work.first_step = &first_step;
    work.norm_sum = &norm_sum;
    work.lines = &line;
    work.line_capacity = 1;
    work.values = values.data();
  }

  void train(std::int64_t count, float learning_rate) {
    first_step = counters.step;
    steps.clear();
    for (std::int64_t i = 0; i < count; ++i)
      steps.push_back(experts::update_step(request.optimizer, first_step + i + 1, learning_rate));
    work.steps = steps.data();
    for (std::int64_t i = 0; i < count; ++i) {
      kernels::begin_step(begin);
      experts::with_operands(work, [&](auto format) {
        experts::take_step<decltype(format)>(work, blocks, emulated::LaunchedExperts{work});
      });
    }
  }

  // Of all rows that are held back, a batch at a time.
  void validate() {
    kernels::Gather gathers[kernels::most_gathers];
    experts::BatchBuffers to{const_cast<float*>(work.features), const_cast<float*>(work.losses.float_targets),
                             const_cast<float*>(work.losses.row_weights)};
    const int count = experts::gathers_of(request.validation, work.layout, to, gathers);
    const std::int64_t rows = request.validation.rows();
    for (std::int64_t first = 0; first < rows; first += work.batch) {
      validation.fixed_rows = std::min(work.batch, rows - first);
      for (int i = 0; i < count; ++i) kernels::gather_rows(gathers[i], first, validation.fixed_rows);
      experts::with_operands(validation, [&](auto format) {
        experts::pass_forward<decltype(format)>(validation, blocks, emulated::LaunchedExperts{validation});
      });
    }
  }

  void end_epoch() {
    validate();
    counters.record_count = 0;
    emulated::LaunchedExperts{work}(experts::TakeValues{}, 1);
    kernels::EndEpoch end;
    end.row_sums = row_sums.data();
    end.row_sum_count = std::ssize(row_sums);
    end.rows = request.training.rows();
    end.validation_sums = validation_sums.data();
    end.validation_sum_count = std::ssize(validation_sums);
    end.validation_rows = request.validation.rows();
    end.steps_per_epoch = request.steps_per_epoch();
    end.counters = &counters;
    end.lines = &line;
    end.line_capacity = 1;
    end.best_loss = &best_loss;
    end.stopped = &stopped;
    kernels::end_epoch(end);
    emulated::LaunchedExperts{work}(experts::KeepBest{}, blocks);
  }

  NamedArrays arrays(const std::vector<float>& flat, const char* prefix) const {
    NamedArrays made;
    experts::append_from_flat(work.layout, flat, prefix, made);
    return made;
  }
};

class ExpertKernels : public testing::TestWithParam<ExpertCase> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  }
};

void expect_close(const NamedArrays& found, const NamedArrays& expected, double within) {
  for (const NamedArray& array : found) {
    const auto values = array.array.as<float>();
    const auto wanted = find_array(expected, array.name).as<float>();
    ASSERT_EQ(values.size(), wanted.size()) << array.name;
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(std::isfinite(values[i])) << array.name << " " << i;
      difference = std::max(difference, std::abs(static_cast<double>(values[i]) - wanted[i]));
      largest = std::max(largest, std::abs(static_cast<double>(wanted[i])));
    }
    EXPECT_LE(difference, within * largest) << array.name;
  }
}

// An epoch, whose last batch is smaller, its validation and its end.
TEST_P(ExpertKernels, TakeTheStepsOfTheCpu) {
  const EngineRequest request = test::expert_request(GetParam());
  EmulatedExperts training(request);
  fused_cpu::ExpertEngine engine(request);
  const std::int64_t steps = request.steps_per_epoch();
  const ChunkResult expected = engine.run({0, std::vector<float>(static_cast<std::size_t>(steps), 0.01F)});
  training.train(steps, 0.01F);
  const NamedArrays state = engine.state();
  expect_close(training.arrays(training.parameters, "parameters."), state, 2e-4);
  if (request.optimizer.has_first_moment())
    expect_close(training.arrays(training.first_moment, "first_moment."), state, 1e-3);
  if (request.optimizer.has_second_moment())
    expect_close(training.arrays(training.second_moment, "second_moment."), state, 1e-3);

  training.end_epoch();
  const EpochRecord& record = expected.finished_epochs.at(0);
  EXPECT_NEAR(training.line.train_loss, record.train_loss, 1e-5 * std::abs(record.train_loss));
  EXPECT_NEAR(training.line.validation_loss, record.validation_loss.value(), 1e-4);
  EXPECT_EQ(training.parameters, training.best_parameters);
  if (request.optimizer.max_grad_norm > 0) {
    EXPECT_NEAR(training.values.back() / static_cast<double>(steps), record.gradient_norm.value(), 1e-4);
  }
  std::size_t value = 0;
  for (std::size_t i = 0; request.losses.size() > 1 && i < request.losses.size(); ++i) {
    while (record.values.at(value).name != "train_" + request.losses[i].name) ++value;
    EXPECT_NEAR(training.values[i] / static_cast<double>(request.training.rows()), record.values[value].value,
                1e-4 * std::abs(record.values[value].value));
  }
  EXPECT_TRUE(training.memory.are_whole());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ExpertKernels,
    testing::Values(
        ExpertCase{.name = "Plain"}, ExpertCase{.name = "OneOfOne", .experts = 1, .room = 1, .top_k = 1},
        ExpertCase{.name = "OneOfMany", .experts = 5, .room = 9, .top_k = 1},
        ExpertCase{.name = "ThreeOfMany", .experts = 5, .room = 20, .top_k = 3},
        ExpertCase{.name = "FourOfFour", .top_k = 4},
        ExpertCase{.name = "AllToOne", .top_k = 1, .goes_to_one = true},
        ExpertCase{.name = "EmptyOnes", .experts = 6, .goes_to_one = true},
        ExpertCase{.name = "Numbers", .outputs = 1, .has_classes = false},
        ExpertCase{.name = "SeveralNumbers", .outputs = 20, .has_classes = false},
        ExpertCase{.name = "Clipped", .max_grad_norm = 0.1},
        ExpertCase{.name = "ClippedAndEmpty", .max_grad_norm = 0.1, .goes_to_one = true},
        ExpertCase{.name = "Momentum", .optimizer = Optimizer::sgd, .weight_decay = 0.001},
        ExpertCase{.name = "Adam", .optimizer = Optimizer::adam, .weight_decay = 0.001},
        ExpertCase{.name = "Dropout", .dropout = 0.3}, ExpertCase{.name = "Temperature", .temperature = 2.5},
        ExpertCase{.name = "Noise", .noise = 0.5}, ExpertCase{.name = "Balanced", .load_balance = 0.3},
        ExpertCase{.name = "BothWeighted",
                   .temperature = 1.5,
                   .load_balance = 0.3,
                   .router_z = 0.1,
                   .is_weighted = true},
        ExpertCase{.name = "WholeBatch", .batch = 203},
        ExpertCase{.name = "ManyAndFew", .experts = 40, .room = 50, .top_k = 2, .batch = 77},
        ExpertCase{.name = "Wide", .max_grad_norm = 0.5, .batch = 128, .columns = 70, .hidden = {50, 33, 72}},
        ExpertCase{.name = "AsMeasured",  // of stoker bench w5
                   .experts = 8,
                   .room = 8,
                   .outputs = 10,
                   .optimizer = Optimizer::sgd,
                   .batch = 128,
                   .columns = 784,
                   .hidden = {256, 256}},
        ExpertCase{.name = "WideToOne",
                   .experts = 2,
                   .room = 3,
                   .top_k = 1,
                   .outputs = 35,
                   .has_classes = false,
                   .goes_to_one = true,
                   .batch = 101,
                   .columns = 97,
                   .hidden = {130}}),
    [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Drawing, ExpertKernels, testing::ValuesIn(test::drawing_cases()),
                         [](const auto& each) { return each.param.name; });

class ExpertKernelsAlone : public ExpertKernels {};
INSTANTIATE_TEST_SUITE_P(Cases, ExpertKernelsAlone,
                         testing::Values(ExpertCase{.name = "Plain"}, ExpertCase{.name = "All",
                                                                                 .max_grad_norm = 0.1,
                                                                                 .dropout = 0.3,
                                                                                 .noise = 0.5,
                                                                                 .exploration = 0.5,
                                                                                 .load_balance = 0.3,
                                                                                 .router_z = 0.1,
                                                                                 .is_weighted = true}),
                         [](const auto& each) { return each.param.name; });

TEST_P(ExpertKernelsAlone, GoOnBitForBitWhereTheyStopped) {
  const EngineRequest request = test::expert_request(GetParam());
  EmulatedExperts whole(request), parts(request);
  whole.train(3, 0.01F);
  parts.train(1, 0.01F);
  parts.train(2, 0.01F);
  EXPECT_EQ(std::memcmp(whole.parameters.data(), parts.parameters.data(), whole.parameters.size() * 4), 0);
  EXPECT_EQ(whole.first_moment, parts.first_moment);
  EXPECT_EQ(whole.row_sums, parts.row_sums);
}

TEST(ExpertKernelsOfTies, AskTheFirstOnes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  EngineRequest request = test::expert_request({.name = "Ties", .experts = 40, .room = 44, .top_k = 3});
  for (NamedArray& array : request.initial_parameters)
    if (array.name.starts_with("router.outer")) std::ranges::fill(array.array.as<float>(), 0.0F);
  EmulatedExperts training(request);
  training.train(1, 0.0F);
  for (std::int64_t i = 0; i < request.batch_size * 3; ++i) {
    EXPECT_EQ(training.work.chosen[i], i % 3);
    EXPECT_EQ(training.work.sources[i], i % request.batch_size);
    EXPECT_EQ(training.work.places[i], i % 3 * request.batch_size + i / 3);
  }
}

// A write that nobody waited for would be read too soon in one of the two orders.
TEST_P(ExpertKernelsAlone, DoNotDependOnTheOrderOfThreads) {
  const EngineRequest request = test::expert_request(GetParam());
  EmulatedExperts one(request), other(request);
  one.train(2, 0.01F);
  one.end_epoch();
  emulated::Cluster::runs_backwards = true;
  other.train(2, 0.01F);
  other.end_epoch();
  emulated::Cluster::runs_backwards = false;
  EXPECT_EQ(std::memcmp(one.parameters.data(), other.parameters.data(), one.parameters.size() * 4), 0);
  EXPECT_EQ(one.second_moment, other.second_moment);
  EXPECT_EQ(one.line.validation_loss, other.line.validation_loss);
  EXPECT_EQ(one.values, other.values);
}

// Operands that are rounded: a few bits are lost, and a wrong place would be most of a weight.
TEST_P(ExpertKernelsAlone, RoundWhatIsAskedFor) {
  ExpertCase each = GetParam();
  each.optimizer = Optimizer::sgd;
  each.noise = 0;
  EngineRequest request = test::expert_request(each);
  EmulatedExperts exact(request);
  exact.train(2, 0.01F);
  double before = 0;
  for (const Precision precision : {Precision::tf32, Precision::bf16}) {
    request.precision = precision;
    EmulatedExperts rounded(request);
    rounded.train(2, 0.01F);
    const double difference = test::largest_difference(rounded.arrays(rounded.first_moment, "first_moment."),
                                                       exact.arrays(exact.first_moment, "first_moment."));
    EXPECT_GT(difference, before);
    EXPECT_LT(difference, 0.1);
    before = difference;
  }
}

}  // namespace
}  // namespace stoker
