#include <cmath>

#include <gtest/gtest.h>

#include "fused/cuda/sets/flat.h"
#include "fused/cuda/sets/train.cuh"
#include "torch/reception_case.h"
#include "torch/training_case.h"

// The kernels over sets, their text compiled for the CPU and run thread by thread (emulated/gpu.h), held
// against the eager engine: what only a GPU can tell is left to fused_sets_test.cpp.
namespace stoker {
namespace {

using test::ReceptionCase;
namespace sets = fused::sets;

constexpr float reception_rate = 0.1F;

// A training as the engine frames it, in host memory.
struct EmulatedTraining {
  EngineRequest request;
  sets::Sizes sizes;
  std::vector<float> parameters = std::vector<float>(sets::parameters, 0.0F);
  std::vector<float> first_moment = parameters, second_moment = parameters;
  std::vector<float> unfinished = std::vector<float>(sets::team * sets::parameters, NAN);
  std::vector<double> row_sums = std::vector<double>(sets::team * sets::block_rows, 0.0);
  kernels::StepCounters counters;
  float stopped = 0;

  explicit EmulatedTraining(const ReceptionCase& each)
      : request(test::reception_request_of(each)),
        sizes{static_cast<int>(each.members), static_cast<int>(each.columns),
              static_cast<int>(each.targets + 1)} {
    sets::to_flat(sizes, request.initial_parameters, "", parameters);
  }

  sets::SetRows rows_of(const Dataset& dataset) const {
    const auto named = [&](const char* name) { return dataset.find(name)->array.as<float>().data(); };
    const Array* weights = dataset.find(Role::weights);
    return {named("receivers"), named("present"), named("targets"),
            weights == nullptr ? nullptr : weights->as<float>().data(), dataset.rows()};
  }

  // From `first` on, all of one epoch.
  void train(std::int64_t first, int count) {
    const OptimizerSettings& settings = request.optimizer;
    const auto probability =
        static_cast<float>(settings_as<TriangulationSettings>(request.network.settings).dropout);
    std::vector<sets::UpdateStep> steps;
    for (int i = 0; i < count; ++i) {
      const auto number = static_cast<double>(first + i + 1);
      steps.push_back({reception_rate, static_cast<float>(1 - reception_rate * settings.weight_decay),
                       static_cast<float>(reception_rate / (1 - std::pow(settings.beta1, number))),
                       static_cast<float>(1 / std::sqrt(1 - std::pow(settings.beta2, number)))});
    }
    sets::TrainSets work;
    work.sizes = sizes;
    work.rows = rows_of(request.training);
    work.steps = steps.data();
    work.step_count = count;
    work.first_step = first;
    work.epoch = first / request.steps_per_epoch();
    work.first_position = first % request.steps_per_epoch() * request.batch_size;
    work.batch_size = request.batch_size;
    work.rounds = static_cast<int>((request.batch_size + sizes.team_rows() - 1) / sizes.team_rows());
    work.seed = request.seed;
    work.dropout_threshold = dropout_threshold(probability);
    work.dropout_scale = 1.0F / (1.0F - probability);
    work.optimizer = static_cast<int>(settings.kind);
    work.beta1 = static_cast<float>(settings.kind == Optimizer::sgd ? settings.momentum : settings.beta1);
    work.beta2 = static_cast<float>(settings.beta2);
    work.epsilon = static_cast<float>(settings.epsilon);
    work.decay = settings.kind == Optimizer::adamw ? 0.0F : static_cast<float>(settings.weight_decay);
    work.max_grad_norm = static_cast<float>(settings.max_grad_norm);
    work.parameters = parameters.data();
    work.first_moment = first_moment.data();
    work.second_moment = second_moment.data();
    work.unfinished = unfinished.data();
    work.row_sums = row_sums.data();
    work.stopped = &stopped;
    work.counters = &counters;
    emulated::Cluster cluster(sets::team, fused::threads, static_cast<std::size_t>(shared_bytes(sizes)));
    cluster.run([&] { sets::Trainer(work, cluster.memory(cluster.block())).run(); });
  }

  double validate() const {
    sets::ValidateSets work;
    work.sizes = sizes;
    work.rows = rows_of(request.validation);
    std::vector<double> sums(static_cast<std::size_t>(validation_blocks(sizes, work.rows.rows)), NAN);
    work.parameters = parameters.data();
    work.stopped = &stopped;
    work.sums = sums.data();
    emulated::Cluster cluster(static_cast<int>(sums.size()), fused::threads,
                              static_cast<std::size_t>(shared_bytes(sizes)));
    cluster.run([&] { sets::Judge(sizes, cluster.memory(cluster.block())).run(work); });
    double sum = 0;
    for (const double each : sums) sum += each;
    return sum / static_cast<double>(work.rows.rows);
  }

  double train_loss() const {
    double sum = 0;
    for (const double each : row_sums) sum += each;
    return sum / static_cast<double>(request.training.rows());
  }
  NamedArrays arrays() const {
    NamedArrays made;
    sets::append_from_flat(sizes, parameters, "", made);
    return made;
  }
};

// Distance from `expected`, by that which `expected` has come from `start`.
double share_of_way(const Array& found, const Array& expected, const Array& start) {
  double differing = 0, way = 0;
  for (std::size_t i = 0; i < found.as<float>().size(); ++i) {
    const double wanted = expected.as<float>()[i];
    differing += std::pow(found.as<float>()[i] - wanted, 2);
    way += std::pow(wanted - start.as<float>()[i], 2);
  }
  return std::sqrt(differing / way);
}

class SetKernels : public testing::TestWithParam<ReceptionCase> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  }
};

// With fp16 operands a value near 0 may fall to the other side of a ReLU: a few in a hundred of a gradient,
// where a wrong product or a place taken for another would be most of it.
TEST_P(SetKernels, TakeTheStepsOfEager) {
  const ReceptionCase& each = GetParam();
  EmulatedTraining training(each);
  const auto eager = test::make_engine("eager", training.request);
  const auto steps = static_cast<std::size_t>(training.request.steps_per_epoch());
  const ChunkResult expected = eager->run({0, std::vector<float>(steps, reception_rate)});
  training.train(0, static_cast<int>(steps));
  ASSERT_EQ(expected.finished_epochs.size(), 1U);
  EXPECT_EQ(training.counters.step, static_cast<std::int64_t>(steps));
  EXPECT_NEAR(training.train_loss(), expected.finished_epochs[0].train_loss,
              1e-4 * static_cast<double>(steps));
  const NamedArrays wanted = eager->parameters();
  for (const NamedArray& array : training.arrays())
    EXPECT_LT(share_of_way(array.array, find_array(wanted, array.name),
                           find_array(training.request.initial_parameters, array.name)),
              0.2)
        << array.name;
  if (each.validation_rows == 0) return;
  EXPECT_NEAR(training.validate(), expected.finished_epochs[0].validation_loss.value(), 1e-2);
}

// Gradients by sgd: what they are shows in the very parameters.
std::vector<ReceptionCase> reception_cases() {
  std::vector<ReceptionCase> cases;
  const auto add = [&](const char* name, auto&& change) {
    ReceptionCase each;
    each.name = name;
    each.optimizer = Optimizer::sgd;
    change(each);
    cases.push_back(each);
  };
  add("w4", [](ReceptionCase& each) { each.validation_rows = 37; });
  add("without_dropout", [](ReceptionCase& each) { each.dropout = 0; });
  add("most_of_all", [](ReceptionCase& each) {
    each.members = each.columns = 16;
    each.targets = 3;
    each.batch = each.rows = 100;
    each.validation_rows = 20;
  });
  add("odd_and_weighted", [](ReceptionCase& each) {
    each.members = 11;
    each.columns = 5;
    each.targets = 1;
    each.batch = 130;  // two rounds of 128, the second of 2
    each.rows = 150;   // and a step of 20
    each.is_weighted = true;
  });
  add("one_receiver", [](ReceptionCase& each) {
    each.members = each.columns = 1;
    each.batch = each.rows = 64;
    each.dropout = 0;
  });
  add("clipped", [](ReceptionCase& each) {
    each.members = 7;
    each.batch = each.rows = 300;
    each.weight_decay = 0.01;
    each.max_grad_norm = 0.05;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, SetKernels, testing::ValuesIn(reception_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(SetKernelsAlone, GoOnBitForBitWhereTheyStopped) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  ReceptionCase each;
  each.batch = 40;
  each.rows = 100;
  EmulatedTraining whole(each), parts(each);
  whole.train(0, 3);
  parts.train(0, 1);
  parts.train(1, 2);
  EXPECT_EQ(whole.parameters, parts.parameters);
  EXPECT_EQ(whole.first_moment, parts.first_moment);
  EXPECT_EQ(whole.second_moment, parts.second_moment);
  EXPECT_EQ(whole.row_sums, parts.row_sums);
}

}  // namespace
}  // namespace stoker
