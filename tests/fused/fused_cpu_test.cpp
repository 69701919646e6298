#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "device/flush_to_zero.h"
#include "fused/cpu/curves.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cpu/row_order.h"
#include "fused/plain_training.h"
#include "fused/reshaped.h"

namespace stoker {
namespace {

using fused_cpu::FusedCpuEngine;

struct Case {
  std::vector<std::int64_t> hidden{24, 9};
  Activation activation = Activation::relu;
  Loss loss = Loss::mse;
  Optimizer optimizer = Optimizer::adam;
  double dropout = 0;
  double max_grad_norm = 0;
  double weight_decay = 0;
  bool weighted = false;
  std::int64_t rows = 53;
  std::int64_t batch = 16;
  std::int64_t inputs = 5;
  std::int64_t outputs = 1;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << fmt::format("{} -> [{}] -> {}, {}, {}, {}, dropout {}, clip {}, decay {}, {} rows by {}{}",
                            c.inputs, fmt::join(c.hidden, ", "), c.outputs, config::name_of(c.activation),
                            config::name_of(c.loss), config::name_of(c.optimizer), c.dropout, c.max_grad_norm,
                            c.weight_decay, c.rows, c.batch, c.weighted ? ", weighted" : "");
}

Dataset rows_for(const Case& c) {
  const RandomKey key = random_key(3, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  const auto draw = [&] { return static_cast<float>(2 * uniform(key, drawn++) - 1); };
  Array features(DType::float32, {c.rows, c.inputs});
  for (float& value : features.as<float>()) value = draw();
  Array targets(DType::int64, {c.rows});
  if (c.loss == Loss::cross_entropy) {
    for (std::int64_t& value : targets.as<std::int64_t>())
      value = static_cast<std::int64_t>((draw() + 1) / 2 * static_cast<float>(c.outputs));
  } else {
    targets = Array(DType::float32, {c.rows, c.outputs});
    for (float& value : targets.as<float>())
      value = c.loss == Loss::binary_cross_entropy ? (draw() > 0 ? 1.0F : 0.0F) : 2 * draw();
  }
  Dataset dataset{{{"features", Role::features, features}, {"targets", Role::targets, targets}}};
  if (c.weighted) {
    Array weights(DType::float32, {c.rows});
    for (float& value : weights.as<float>()) value = draw() + 1;
    dataset.arrays.push_back({"weights", Role::weights, weights});
  }
  return dataset;
}

EngineRequest request_for(const Case& c) {
  EngineRequest request;
  request.network = mlp_network({c.inputs, c.hidden, c.outputs, c.activation, c.dropout});
  request.loss().kind = c.loss;
  request.loss().huber_delta = 0.7;
  request.loss().quantile = 0.8;
  request.optimizer.kind = c.optimizer;
  request.optimizer.momentum = c.optimizer == Optimizer::sgd ? 0.8 : 0;
  request.optimizer.max_grad_norm = c.max_grad_norm;
  request.optimizer.weight_decay = c.weight_decay;
  request.batch_size = c.batch;
  request.seed = 21;
  request.training = rows_for(c);
  request.initial_parameters = initial_parameters(request.network, 8);
  return request;
}

ChunkResult run_epochs(Engine& engine, const EngineRequest& request, std::int64_t epochs) {
  return engine.run(
      {0, std::vector<float>(static_cast<std::size_t>(epochs * request.steps_per_epoch()), 0.01F)});
}

void expect_as_plain(const Case& c) {
  SCOPED_TRACE(testing::PrintToString(c));
  const EngineRequest request = request_for(c);
  ASSERT_EQ(fused_cpu::refusal(request), "");
  FusedCpuEngine engine(request);
  const ChunkResult result = run_epochs(engine, request, 3);
  const test::PlainResult expected = test::train_plainly(request, 3, 0.01F);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(result.finished_epochs[i].train_loss, expected.train_losses[i],
                1e-4 * (1 + expected.train_losses[i]));
  for (const NamedArray& entry : expected.parameters) {
    const auto wanted = entry.array.as<float>();
    const auto parameters = engine.parameters();
    const auto found = find_array(parameters, entry.name).as<float>();
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(found[i], wanted[i], 2e-3) << entry.name << " " << i;
  }
}

constexpr std::array activations{Activation::relu, Activation::tanh, Activation::sigmoid, Activation::gelu,
                                 Activation::silu};

TEST(FusedCpu, TrainsEveryActivationAndOptimiserAsPlainLoopsDo) {
  for (const Activation activation : activations)
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd})
      for (const double dropout : {0.0, 0.3})
        for (const double decay : {0.0, 0.1}) {
          Case c;
          c.activation = activation;
          c.optimizer = optimizer;
          c.dropout = dropout;
          c.weight_decay = decay;
          expect_as_plain(c);
        }
}

TEST(FusedCpu, TrainsEveryLossAsPlainLoopsDo) {
  for (const Loss loss :
       {Loss::mse, Loss::huber, Loss::quantile, Loss::binary_cross_entropy, Loss::cross_entropy})
    for (const std::int64_t outputs : {1, 3, 20})
      for (const bool weighted : {false, true})
        for (const double limit : {0.0, 0.2}) {
          if (loss == Loss::binary_cross_entropy && outputs != 1) continue;
          Case c;
          c.loss = loss;
          c.outputs = outputs;
          c.weighted = weighted;
          c.max_grad_norm = limit;
          c.activation = Activation::tanh;
          expect_as_plain(c);
        }
}

TEST(FusedCpu, TrainsEveryShapeAndBatchAsPlainLoopsDo) {
  const std::vector<std::vector<std::int64_t>> shapes{
      {1}, {16}, {33}, {64, 32}, {128, 64, 32}, {7, 5, 3, 2}, {8, 8, 8, 8, 8, 8, 8, 8}};
  for (const auto& hidden : shapes)
    for (const std::int64_t batch : {1, 7, 32, 53})
      for (const std::int64_t inputs : {1, 6, 11, 13, 17}) {
        Case c;
        c.hidden = hidden;
        c.batch = batch;
        c.inputs = inputs;
        c.dropout = 0.2;
        c.activation = Activation::gelu;
        c.rows = batch == 1 ? 9 : 53;
        expect_as_plain(c);
      }
}

TEST(FusedCpu, WorksThroughLargeBatchesInSlicesAsPlainLoopsDo) {
  for (const std::int64_t batch : {129, 200, 301})
    for (const double limit : {0.0, 0.1}) {
      Case c;
      c.rows = 501;
      c.batch = batch;
      c.dropout = 0.2;
      c.max_grad_norm = limit;
      c.weighted = true;
      c.loss = Loss::huber;
      expect_as_plain(c);
    }
}

TEST(FusedCpu, TrainsTheSameWithEveryInstructionSetOfThisMachine) {
  Case c;
  c.hidden = {40, 18};
  c.dropout = 0.25;
  c.activation = Activation::silu;
  const EngineRequest request = request_for(c);
  FusedCpuEngine best(request);
  FusedCpuEngine baseline(request, fused_cpu::kernels_baseline());
  const ChunkResult one = run_epochs(best, request, 5);
  const ChunkResult other = run_epochs(baseline, request, 5);
  EXPECT_NEAR(one.finished_epochs[4].train_loss, other.finished_epochs[4].train_loss, 1e-4);
}

// STOKER_CPU for as long as this lives.
class WantedInstructions {
 public:
  explicit WantedInstructions(const char* name) { setenv("STOKER_CPU", name, 1); }
  ~WantedInstructions() { unsetenv("STOKER_CPU"); }
  WantedInstructions(const WantedInstructions&) = delete;
  WantedInstructions& operator=(const WantedInstructions&) = delete;
};

TEST(FusedCpu, RunsTheInstructionSetThatTheEnvironmentNames) {
  const std::string best = fused_cpu::best_kernels().name;
  {
    const WantedInstructions wanted("baseline");
    EXPECT_STREQ(fused_cpu::best_kernels().name, fused_cpu::kernels_baseline().name);
  }
  {
    const WantedInstructions wanted("");
    EXPECT_EQ(fused_cpu::best_kernels().name, best);
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    const WantedInstructions wanted("avx2");
    EXPECT_STREQ(fused_cpu::best_kernels().name, "AVX2");
  }
#else
  const WantedInstructions wanted("avx2");
  EXPECT_THROW(fused_cpu::best_kernels(), Error);
#endif
}

TEST(FusedCpu, RefusesAnInstructionSetThatItDoesNotKnow) {
  const WantedInstructions wanted("avx3");
  const EngineRequest request = request_for({});
  try {
    fused_cpu::maker().make(request);
    FAIL() << "it trains with instructions that it does not know";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("STOKER_CPU is 'avx3'; it must be baseline, avx2 or avx512"));
  }
}

TEST(FusedCpu, GivesTheSameBitsWithAnyNumberOfThreads) {
  Case c;
  c.rows = 3001;
  c.batch = 1500;
  c.hidden = {40, 18};
  c.dropout = 0.25;
  const EngineRequest request = request_for(c);
  FusedCpuEngine one(request, fused_cpu::best_kernels(), 1);
  run_epochs(one, request, 6);
  for (const int threads : {2, 3, 7}) {
    FusedCpuEngine many(request, fused_cpu::best_kernels(), threads);
    run_epochs(many, request, 6);
    const NamedArrays expected = one.state();
    const NamedArrays found = many.state();
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(std::memcmp(found[i].array.data(), expected[i].array.data(), expected[i].array.bytes()), 0)
          << threads << " threads: " << expected[i].name;
  }
}

// A network whose first layer gets no gradient, with moments that the next update makes subnormal.
NamedArrays state_with_fading_moments(const FusedCpuEngine& engine) {
  NamedArrays state = engine.state();
  for (NamedArray& entry : state) {
    if (entry.name == "parameters.layers.0.bias") std::ranges::fill(entry.array.as<float>(), -1e6F);
    if (entry.name.starts_with("first_moment.")) std::ranges::fill(entry.array.as<float>(), 1.2e-38F);
    if (entry.name.starts_with("second_moment.")) std::ranges::fill(entry.array.as<float>(), 1.1756e-38F);
  }
  return state;
}

std::int64_t count_subnormal(const NamedArrays& state) {
  std::int64_t count = 0;
  for (const NamedArray& entry : state) {
    if (entry.array.type() != DType::float32) continue;
    for (const float value : entry.array.as<float>()) count += std::fpclassify(value) == FP_SUBNORMAL ? 1 : 0;
  }
  return count;
}

TEST(FusedCpu, LeavesNoSubnormalMoments) {
  for (const std::int64_t batch : {16, 1500}) {
    Case c;
    c.rows = 3001;
    c.batch = batch;
    c.hidden = {40, 18};
    const EngineRequest request = request_for(c);
    for (const int threads : {1, 3}) {
      FusedCpuEngine engine(request, fused_cpu::best_kernels(), threads);
      engine.restore(state_with_fading_moments(engine));
      run_epochs(engine, request, 3);
      EXPECT_EQ(count_subnormal(engine.state()), 0) << batch << " rows a batch, " << threads << " threads";
    }
  }
}

TEST(FusedCpu, GivesSubnormalNumbersBackToItsCaller) {
  const EngineRequest request = request_for({});
  FusedCpuEngine engine(request);
  ASSERT_FALSE(flushes_to_zero());
  run_epochs(engine, request, 1);
  EXPECT_FALSE(flushes_to_zero());
  EXPECT_THROW(run_epochs(engine, request, 1), Error) << "a chunk that does not follow";
  EXPECT_FALSE(flushes_to_zero());
  const FlushToZero by_the_caller;
  EXPECT_THROW(run_epochs(engine, request, 1), Error);
  EXPECT_TRUE(flushes_to_zero());
}

TEST(FlushToZero, TakesSubnormalOperandsAndResultsForZeros) {
  volatile float least_normal = 1.17549435e-38F;
  volatile float subnormal = 1e-40F;
  EXPECT_GT(least_normal * 0.5F, 0);
  EXPECT_GT(subnormal * 1e10F, 0);
  {
    const FlushToZero flushed;
    const float result = least_normal * 0.5F;
    const float from_operand = subnormal * 1e10F;
    EXPECT_EQ(result, 0);
    EXPECT_EQ(from_operand, 0);
  }
  EXPECT_GT(least_normal * 0.5F, 0);
}

TEST(FusedCpu, TakesRowsInTheOrderOfThePermutation) {
  const RandomKey key = random_key(4, Purpose::shuffle, 2);
  for (const std::uint64_t size : {1, 2, 5, 64, 100, 40'000}) {
    const Permutation permutation(key, size);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min<std::uint64_t>(size, 150)));
    const std::uint64_t first = size - rows.size();
    fused_cpu::permuted_rows(key, size, first, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], static_cast<std::int64_t>(permutation(first + i)));
  }
}

TEST(FusedCpu, SaysWhatItCannotRun) {
  const auto refused = [](auto change) {
    EngineRequest request = request_for({});
    change(request);
    return fused_cpu::refusal(request);
  };
  EXPECT_EQ(refused([](EngineRequest&) {}), "");
  EXPECT_THAT(refused([](EngineRequest& r) { r.device = Device::cuda(0); }), testing::HasSubstr("CPU"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.network.family = "ridge"; }),
              testing::HasSubstr("multi-layer perceptrons, not ridge"));
  EXPECT_THAT(refused([](EngineRequest& r) {
                test::reshape(r, [](MlpShape& shape) { shape.hidden_layers.assign(9, 4); });
              }),
              testing::HasSubstr("not 9"));
  EXPECT_THAT(refused([](EngineRequest& r) {
                test::reshape(r, [&](MlpShape& shape) { shape.hidden_layers = {5000}; });
              }),
              testing::HasSubstr("5000"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.batch_size = 0; }),
              testing::HasSubstr("a batch cannot have 0 rows"));
  EXPECT_THAT(refused([](EngineRequest& r) { r.loss().kind = Loss::cross_entropy; }),
              testing::HasSubstr("targets"));
  EXPECT_THAT(refused([](EngineRequest& r) {
                r.training.arrays.push_back({"weights", Role::weights, Array(DType::float32, {3})});
              }),
              testing::HasSubstr("the weights are 3 rows"));
}

// Distance in units of the last place of the larger of 1e-6 and the expected number.
double places_apart(float found, double expected) {
  const double size = std::max(std::fabs(expected), 1e-6);
  return std::fabs(static_cast<double>(found) - expected) / (size * std::ldexp(1.0, -23));
}

template <class Vector, class Exact>
double worst_of(Vector vector, Exact exact, double from, double to) {
  double worst = 0;
  for (double x = from; x < to; x += 1e-3) {
    const auto argument = static_cast<float>(x);
    const float found = vector(fused_cpu::all(argument))[0];
    worst = std::max(worst, places_apart(found, exact(static_cast<double>(argument))));
  }
  return worst;
}

TEST(FusedCpu, BendsWithinRoundingOfLibm) {
  EXPECT_LT(worst_of([](auto x) { return fused_cpu::exp_of_negative(x); },
                     [](double x) { return std::exp(x); }, -80, 0),
            2);
  EXPECT_LT(worst_of([](auto x) { return fused_cpu::hyperbolic_tangent(x); },
                     [](double x) { return std::tanh(x); }, -12, 12),
            2.5);
  EXPECT_LT(worst_of([](auto x) { return fused_cpu::error_function(x); },
                     [](double x) { return std::erf(x); }, -6, 6),
            2);
  EXPECT_LT(worst_of([](auto x) { return fused_cpu::sigmoid(x); },
                     [](double x) { return 1 / (1 + std::exp(-x)); }, -13, 20),
            3);
}

}  // namespace
}  // namespace stoker
