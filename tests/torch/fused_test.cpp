#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/flush_to_zero.h"
#include "fused/reshaped.h"
#include "torch/training_case.h"

// The fused engine's losses against the eager engine's, step by step.
namespace stoker {
namespace {

using test::make_engine;
using test::small_request;

// One batch per epoch, so that every step has a record of its own.
EngineRequest single_batches(EngineRequest request, std::int64_t rows) {
  request.training = test::synthetic_rows(rows, 6, request.loss().kind == Loss::cross_entropy, 1);
  request.validation = test::synthetic_rows(70, 6, request.loss().kind == Loss::cross_entropy, 2);
  request.batch_size = rows;
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

// A loss near 0 is a difference of numbers near 1, whose rounding it shows.
double allowed_difference(double relative, double loss) {
  return relative * loss + 1e-7;
}

void expect_the_same_curve(const EngineRequest& request, double relative) {
  const auto fused = make_engine("fused", request);
  const auto eager = make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, request, 200, 50, 0, 0.001F);
  const ChunkResult other = test::run_epochs(*eager, request, 200, 50, 0, 0.001F);
  ASSERT_EQ(one.finished_epochs.size(), 200U);
  for (std::size_t i = 0; i < 200; ++i) {
    const double expected = other.finished_epochs[i].train_loss;
    ASSERT_NEAR(one.finished_epochs[i].train_loss, expected, allowed_difference(relative, expected))
        << "step " << i;
    ASSERT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss,
                allowed_difference(relative, *other.finished_epochs[i].validation_loss))
        << "step " << i;
  }
}

TEST(FusedAndEager, HaveTheSameLossesOver200Steps) {
  for (const Activation activation :
       {Activation::relu, Activation::tanh, Activation::sigmoid, Activation::gelu, Activation::silu}) {
    EngineRequest request = small_request();
    test::reshape(request, [&](MlpShape& shape) {
      shape.dropout = 0;
      shape.activation = activation;
      shape.hidden_layers = {128, 64, 32};
    });
    SCOPED_TRACE(config::name_of(activation));
    expect_the_same_curve(single_batches(request, 32), 1e-3);
  }
}

TEST(FusedAndEager, DrawTheSameDropout) {
  for (const std::vector<std::int64_t>& hidden : {std::vector<std::int64_t>{24, 10}, {7, 19, 33}}) {
    EngineRequest request = small_request();
    test::reshape(request, [&](MlpShape& shape) {
      shape.hidden_layers = hidden;
      shape.activation = Activation::gelu;
    });
    expect_the_same_curve(single_batches(request, 40), 1e-3);
  }
}

TEST(FusedAndEager, AgreeOnBatchesOfManySlices) {
  for (const double limit : {0.0, 0.5}) {
    EngineRequest request = small_request();
    request.loss().kind = Loss::cross_entropy;
    test::reshape(request, [&](MlpShape& shape) {
      shape.outputs = 3;
      shape.hidden_layers = {40, 17};
    });
    request.optimizer.max_grad_norm = limit;
    expect_the_same_curve(single_batches(request, 1003), 1e-3);
  }
}

// Moments that the next update makes subnormal, of a network whose hidden units are all off.
NamedArrays with_fading_moments(NamedArrays state) {
  for (NamedArray& entry : state) {
    if (entry.name == "parameters.layers.0.bias") std::ranges::fill(entry.array.as<float>(), -1e6F);
    if (entry.name.starts_with("first_moment.")) std::ranges::fill(entry.array.as<float>(), 1.2e-38F);
    if (entry.name.starts_with("second_moment.")) std::ranges::fill(entry.array.as<float>(), 1.1756e-38F);
  }
  return state;
}

TEST(FusedAndEager, TakeSubnormalMomentsForZerosInAllThreads) {
  EngineRequest request = small_request();
  request.network = mlp_network({6, {256, 128}, 1, Activation::relu, 0});
  request = single_batches(request, 2048);  // worth several threads
  for (const char* name : {"fused", "eager"}) {
    const auto engine = make_engine(name, request);
    engine->restore(with_fading_moments(engine->state()));
    test::run_epochs(*engine, request, 2, 2, 0, 0.001F);
    EXPECT_FALSE(flushes_to_zero()) << name << " changes how its caller computes";
    const NamedArrays state = engine->state();
    for (const char* moment : {"first_moment.layers.0.weight", "second_moment.layers.0.weight"}) {
      const auto values = find_array(state, moment).as<float>();
      EXPECT_EQ(std::ranges::count(values, 0.0F), static_cast<std::ptrdiff_t>(values.size()))
          << name << " " << moment;
    }
    EXPECT_THROW(test::run_epochs(*engine, request, 1, 1, 0), Error) << "a chunk that does not follow";
    EXPECT_FALSE(flushes_to_zero()) << name;
  }
}

TEST(FusedAndEager, StopAtTheSameEpoch) {
  EngineRequest request = small_request();
  test::reshape(request, [&](MlpShape& shape) { shape.dropout = 0; });
  request.validation.arrays[1].array = test::synthetic_rows(50, 6, false, 123).targets();
  request.patience = 3;
  const ChunkResult one = test::run_epochs(*make_engine("fused", request), request, 100, 40);
  const ChunkResult other = test::run_epochs(*make_engine("eager", request), request, 100, 40);
  EXPECT_TRUE(one.stopped_early);
  EXPECT_EQ(one.finished_epochs.size(), other.finished_epochs.size());
}

}  // namespace
}  // namespace stoker
