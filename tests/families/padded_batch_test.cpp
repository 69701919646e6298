#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "families/sets_and_series.h"
#include "model/family.h"
#include "model/network/cnn1d.h"
#include "model/network/recurrent.h"
#include "model/network/residual_mlp.h"
#include "model/network/temporal_mlp.h"
#include "model/network/transformer.h"
#include "torch/last_batch.h"
#include "torch/torch_engine.h"
#include "torch/training_case.h"

// The last batch of an epoch, padded to the size of the others, against the same batch cut short.
namespace stoker {
namespace {

using torch_door::LastBatch;
using torch_door::TorchEngine;

constexpr std::int64_t padded_length = 6;
constexpr std::int64_t padded_columns = 3;

Dataset windows_to_pad(std::int64_t rows, std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  Array series(DType::float32, {rows + padded_length, padded_columns});
  Array starts(DType::int64, {rows});
  Array targets(DType::float32, {rows, 1});
  for (float& each : series.as<float>()) each = static_cast<float>(2 * uniform(key, drawn++) - 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto place = static_cast<std::size_t>(row);
    starts.as<std::int64_t>()[place] = row * 13 % rows;
    targets.as<float>()[place] = series.as<float>()[static_cast<std::size_t>(row * 13 % rows) + 4];
  }
  return {{{"window", Role::features, series, starts, padded_length}, {"targets", Role::targets, targets}}};
}

template <class Settings>
EngineRequest window_request(const char* family, const Settings& settings) {
  EngineRequest request;
  request.network = {family,
                     config::write(settings),
                     {{"window", Role::features, DType::float32, {padded_length, padded_columns}}},
                     1};
  request.training = windows_to_pad(203, 1);
  request.validation = windows_to_pad(50, 2);
  return request;
}

EngineRequest recurrent_request(const char* family) {
  RecurrentSettings settings;
  settings.hidden_size = 8;
  return window_request(family, settings);
}

EngineRequest lstm_request() {
  return recurrent_request("lstm");
}
EngineRequest gru_request() {
  return recurrent_request("gru");
}
EngineRequest transformer_request() {
  TransformerSettings settings;
  settings.hidden_size = 16;
  settings.layers = 2;
  settings.heads = 4;
  settings.feed_forward = 20;
  return window_request("transformer", settings);
}
EngineRequest temporal_request() {
  TemporalMlpSettings settings;
  settings.hidden_layers = {16, 8};
  settings.moments = 3;
  return window_request("temporal_mlp", settings);
}
EngineRequest cnn1d_request() {
  Cnn1dSettings settings;
  settings.hidden_size = 12;
  settings.layers = 2;
  return window_request("cnn1d", settings);
}
EngineRequest residual_request() {
  EngineRequest request = test::small_request();
  ResidualMlpSettings settings;
  settings.width = 12;
  settings.block_width = 21;  // odd, so that parts begin in the middle of a pair of dropout
  settings.dropout = 0.2;
  request.network = {"residual_mlp", config::write(settings), {table_features(DType::float32, 6)}, 1};
  return request;
}
EngineRequest two_losses_request() {
  test::add_sets_and_series();
  return test::sets_and_series_request();
}

struct PaddedCase {
  const char* name;
  EngineRequest (*request)();
};

class PaddedBatches : public testing::TestWithParam<PaddedCase> {
 protected:
  static EngineRequest request() {
    EngineRequest made = GetParam().request();
    made.batch_size = 24;  // the last of 203 rows are 11
    made.seed = 11;
    made.precision = Precision::fp32;
    // adam would make much of what rounding leaves of a small gradient
    made.optimizer.kind = Optimizer::sgd;
    made.optimizer.momentum = 0.5;
    made.optimizer.max_grad_norm = 1;
    made.initial_parameters = initial_parameters(made.network, 5);
    return made;
  }
};

struct Trained {
  Trained(const EngineRequest& request, LastBatch last_batch, std::int64_t epochs,
          TorchEngine::Kind kind = TorchEngine::Kind::eager) {
    TorchEngine engine(request, kind, last_batch);
    result = test::run_epochs(engine, request, epochs, 7, 0, 0.05F);
    parameters = engine.parameters();
  }
  ChunkResult result;
  NamedArrays parameters;
};

// A bias in front of a batch norm has no gradient but what rounding leaves of it, which is no measure.
void expect_near(const NamedArray& expected, const Array& found, double near) {
  const auto wanted = expected.array.as<float>();
  float largest = 1e-3F;
  for (const float each : wanted) largest = std::max(largest, std::abs(each));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found.as<float>()[i], wanted[i], near * largest) << expected.name << " at " << i;
}

void expect_the_same(const EngineRequest& request, std::int64_t epochs, double near) {
  const Trained cut(request, LastBatch::cut, epochs);
  const Trained padded(request, LastBatch::padded, epochs);
  for (const NamedArray& each : cut.parameters)
    expect_near(each, find_array(padded.parameters, each.name), near);
  ASSERT_EQ(padded.result.finished_epochs.size(), cut.result.finished_epochs.size());
  for (std::size_t i = 0; i < cut.result.finished_epochs.size(); ++i) {
    const EpochRecord& expected = cut.result.finished_epochs[i];
    const EpochRecord& found = padded.result.finished_epochs[i];
    EXPECT_NEAR(found.train_loss, expected.train_loss, near * expected.train_loss) << i;
    EXPECT_NEAR(*found.validation_loss, *expected.validation_loss, near * *expected.validation_loss) << i;
    EXPECT_NEAR(*found.gradient_norm, *expected.gradient_norm, near * *expected.gradient_norm) << i;
    for (std::size_t k = 0; k < expected.values.size(); ++k)
      EXPECT_NEAR(found.values[k].value, expected.values[k].value, near * expected.values[k].value)
          << expected.values[k].name;
  }
}

// Weights, and running moments where there are any: parameters() has both.
TEST_P(PaddedBatches, TrainLikeShortOnes) {
  expect_the_same(request(), 1, 1e-5);
  expect_the_same(request(), 5, 1e-4);
}

TEST_P(PaddedBatches, TrainLikeShortOnesInParts) {
  EngineRequest parts = request();
  parts.accumulation_steps = 5;  // of 5 rows; the last batch is three parts, the third has 1 row
  expect_the_same(parts, 3, 1e-4);
}

TEST_P(PaddedBatches, TrainLikeShortOnesWithWeightedRows) {
  EngineRequest weighted = request();
  for (Dataset* data : {&weighted.training, &weighted.validation}) {
    Array weights(DType::float32, {data->rows()});
    for (std::int64_t row = 0; row < data->rows(); ++row)
      weights.as<float>()[static_cast<std::size_t>(row)] = row % 3 == 0 ? 2.0F : 0.5F;
    data->arrays.push_back({"weights", Role::weights, weights});
  }
  expect_the_same(weighted, 3, 1e-4);
}

TEST_P(PaddedBatches, GoOnExactlyFromTheMiddleOfAnEpoch) {
  const EngineRequest made = request();
  const auto engine = [&] { return TorchEngine(made, TorchEngine::Kind::eager, LastBatch::padded); };
  TorchEngine whole = engine();
  test::run_epochs(whole, made, 3, 1000);
  for (const std::int64_t cut : {1, 9, 13}) {
    TorchEngine first = engine();
    first.run({0, std::vector<float>(static_cast<std::size_t>(cut), 0.01F)});
    TorchEngine second = engine();
    second.restore(first.state());
    test::run_epochs(second, made, 3, 1000, cut);
    EXPECT_TRUE(test::same_bits(whole.state(), second.state())) << cut;
  }
}

// Where every batch is full, nothing is padded.
TEST_P(PaddedBatches, AreNotNeededWhereBatchesAreFull) {
  EngineRequest even = request();
  even.batch_size = 29;  // of 203 rows
  const Trained cut(even, LastBatch::cut, 2);
  const Trained padded(even, LastBatch::padded, 2);
  EXPECT_TRUE(test::same_bits(cut.parameters, padded.parameters));
}

TEST_P(PaddedBatches, TrainOnTheGpuAsOnTheCpu) {
  if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  const EngineRequest on_gpu = test::placed_on(request(), *test::first_gpu(), Memory::device);
  const Trained expected(request(), LastBatch::cut, 3);
  for (const auto kind : {TorchEngine::Kind::eager, TorchEngine::Kind::graph}) {
    const Trained padded(on_gpu, LastBatch::padded, 3, kind);
    EXPECT_LT(test::largest_difference(expected.parameters, padded.parameters), 5e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, PaddedBatches,
    testing::Values(PaddedCase{"Mlp", test::small_request}, PaddedCase{"ResidualMlp", residual_request},
                    PaddedCase{"TemporalMlp", temporal_request}, PaddedCase{"Lstm", lstm_request},
                    PaddedCase{"Gru", gru_request}, PaddedCase{"Transformer", transformer_request},
                    PaddedCase{"Cnn1d", cnn1d_request}, PaddedCase{"TwoLosses", two_losses_request}),
    [](const auto& way) { return std::string(way.param.name); });

TEST(PaddedBatch, OfSmoothedClassesInBf16TrainLikeShortOnes) {
  EngineRequest request = residual_request();
  request.training = test::synthetic_rows(203, 6, true, 1);
  request.validation = test::synthetic_rows(50, 6, true, 2);
  request.network.outputs = 3;
  request.loss().kind = Loss::cross_entropy;
  request.loss().label_smoothing = 0.1;
  request.batch_size = 24;
  request.precision = Precision::bf16;
  request.optimizer.kind = Optimizer::sgd;
  request.optimizer.max_grad_norm = 1;
  request.initial_parameters = initial_parameters(request.network, 5);
  expect_the_same(request, 2, 0.02);
}

TEST(PaddedBatch, PayWhereTheyAddLittleToAnEpoch) {
  EXPECT_TRUE(torch_door::padding_pays(1000, 256));     // 24 rows more
  EXPECT_FALSE(torch_door::padding_pays(257, 256));     // 255 more, nearly twice the work
  EXPECT_TRUE(torch_door::padding_pays(100'001, 256));  // 95 more
  EXPECT_FALSE(torch_door::padding_pays(1025, 512));    // 511
}

}  // namespace
}  // namespace stoker
