#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "model/family.h"
#include "model/network/cnn1d.h"
#include "model/network/recurrent.h"
#include "model/network/temporal_mlp.h"
#include "model/network/transformer.h"
#include "torch/door.h"
#include "torch/training_case.h"

// Families that read windows of a series, through the door.
namespace stoker {
namespace {

using test::make_engine;
using test::run_epochs;
using test::same_bits;

constexpr std::int64_t window_length = 6;
constexpr std::int64_t series_columns = 3;

// A series that remembers; the target is its mean over the window's last three moments and, of the steps
// behind the first, the same once more with the other sign.
Dataset windows_of_series(std::int64_t rows, std::uint64_t seed, std::int64_t steps) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  const std::int64_t moments = rows + window_length;
  Array series(DType::float32, {moments, series_columns});
  Array starts(DType::int64, {rows});
  Array targets(DType::float32, {rows, steps});
  float level = 0;
  for (float& each : series.as<float>())
    each = level = 0.7F * level + static_cast<float>(2 * uniform(key, drawn++) - 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t start = row * 13 % rows;
    starts.as<std::int64_t>()[static_cast<std::size_t>(row)] = start;
    float sum = 0;
    for (std::int64_t i = window_length - 3; i < window_length; ++i)
      sum += series.as<float>()[static_cast<std::size_t>((start + i) * series_columns)];
    for (std::int64_t step = 0; step < steps; ++step)
      targets.as<float>()[static_cast<std::size_t>(row * steps + step)] = step % 2 == 0 ? sum / 3 : -sum / 3;
  }
  return {{{"window", Role::features, series, starts, window_length}, {"targets", Role::targets, targets}}};
}

void make_classes(Dataset& data) {
  const Array& quantities = data.targets();
  Array classes(DType::int64, {data.rows()});
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    const float value = quantities.as<float>()[static_cast<std::size_t>(row)];
    classes.as<std::int64_t>()[static_cast<std::size_t>(row)] = value < -0.3F ? 0 : value < 0.3F ? 1 : 2;
  }
  data.arrays.back().array = classes;
}

config::Value small_recurrent() {
  RecurrentSettings settings;
  settings.hidden_size = 8;
  settings.dropout = 0.1;
  return config::write(settings);
}

// Of whole vectors, which a CPU trains with layers of our own.
config::Value vector_recurrent() {
  RecurrentSettings settings;
  settings.hidden_size = 16;
  settings.dropout = 0.1;
  return config::write(settings);
}

config::Value small_transformer() {
  TransformerSettings settings;
  settings.hidden_size = 16;
  settings.layers = 2;
  settings.heads = 4;
  settings.feed_forward = 20;
  return config::write(settings);
}

config::Value small_temporal_mlp() {
  TemporalMlpSettings settings;
  settings.hidden_layers = {16, 8};
  settings.moments = 3;
  return config::write(settings);
}

config::Value small_cnn1d() {
  Cnn1dSettings settings;
  settings.hidden_size = 12;
  settings.layers = 2;
  return config::write(settings);
}

struct SequenceWay {
  const char* name;
  const char* family;
  config::Value (*settings)();
  const char* engine;
  bool on_gpu;
};

EngineRequest sequence_request(const SequenceWay& way, std::int64_t outputs = 1) {
  EngineRequest request;
  request.network = {way.family,
                     way.settings(),
                     {{"window", Role::features, DType::float32, {window_length, series_columns}}},
                     outputs};
  request.precision = Precision::fp32;  // engines and predictions are compared closely
  request.batch_size = 16;
  request.seed = 11;
  request.training = windows_of_series(203, 1, outputs);
  request.validation = windows_of_series(50, 2, outputs);
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

class Sequences : public testing::TestWithParam<SequenceWay> {
 protected:
  void SetUp() override {
    if (GetParam().on_gpu && !test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
  std::unique_ptr<Engine> make(const EngineRequest& request, const char* engine = GetParam().engine) const {
    if (!GetParam().on_gpu) return make_engine(engine, request);
    return make_engine(engine, test::placed_on(request, *test::first_gpu(), Memory::device));
  }
};

double squared_error(const EngineRequest& request, const NamedArrays& parameters, const Dataset& data) {
  const Array outputs = torch_door::outputs(request.network, parameters, data, 0, data.rows());
  const auto predicted = outputs.as<float>();
  const auto actual = data.targets().as<float>();
  double sum = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) sum += std::pow(predicted[i] - actual[i], 2);
  return sum / static_cast<double>(data.rows());
}

TEST_P(Sequences, LearnAndPredictWhatTheyWereValidatedWith) {
  const EngineRequest request = sequence_request(GetParam());
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 40, 1000, 0, 0.003F);
  ASSERT_EQ(result.finished_epochs.size(), 40U);
  EXPECT_LT(result.finished_epochs.back().train_loss, 0.5 * result.finished_epochs.front().train_loss);
  const double expected = *result.finished_epochs.back().validation_loss;
  EXPECT_LT(expected, 0.5 * *result.finished_epochs.front().validation_loss);
  EXPECT_NEAR(squared_error(request, engine->parameters(), request.validation), expected, 2e-4 * expected);
}

TEST_P(Sequences, LearnSeveralStepsAhead) {
  const EngineRequest request = sequence_request(GetParam(), 2);
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 40, 1000, 0, 0.003F);
  EXPECT_LT(result.finished_epochs.back().train_loss, 0.5 * result.finished_epochs.front().train_loss);
}

TEST_P(Sequences, LearnClassesAndQuantiles) {
  EngineRequest classes = sequence_request(GetParam());
  classes.network.outputs = 3;
  classes.loss().kind = Loss::cross_entropy;
  make_classes(classes.training);
  make_classes(classes.validation);
  classes.initial_parameters = initial_parameters(classes.network, 5);
  EngineRequest quantile = sequence_request(GetParam());
  quantile.loss().kind = Loss::quantile;
  quantile.loss().quantile = 0.8;
  for (const EngineRequest& request : {classes, quantile}) {
    const auto engine = make(request);
    const ChunkResult result = run_epochs(*engine, request, 40, 1000, 0, 0.003F);
    EXPECT_LT(result.finished_epochs.back().train_loss, 0.75 * result.finished_epochs.front().train_loss);
  }
}

TEST_P(Sequences, GoOnExactlyFromTheMiddleOfAnEpoch) {
  EngineRequest request = sequence_request(GetParam());
  request.is_deterministic = true;
  const auto whole = make(request);
  run_epochs(*whole, request, 3, 1000);
  for (const std::int64_t cut : {1, 13, 20}) {
    const auto first = make(request);
    first->run({0, std::vector<float>(static_cast<std::size_t>(cut), 0.01F)});
    const auto second = make(request);
    second->restore(first->state());
    const std::int64_t total = 3 * request.steps_per_epoch();
    second->run({cut, std::vector<float>(static_cast<std::size_t>(total - cut), 0.01F)});
    EXPECT_TRUE(same_bits(whole->state(), second->state())) << cut;
  }
}

// A captured step and the same step given operation by operation.
TEST_P(Sequences, LoseWhatEagerLosesThere) {
  const EngineRequest request = sequence_request(GetParam());
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 6, 1000);
  const auto eager = make(request, "eager");
  const ChunkResult expected = run_epochs(*eager, request, 6, 1000);
  ASSERT_EQ(result.finished_epochs.size(), expected.finished_epochs.size());
  for (std::size_t i = 0; i < result.finished_epochs.size(); ++i) {
    const double loss = expected.finished_epochs[i].train_loss;
    EXPECT_NEAR(result.finished_epochs[i].train_loss, loss, 1e-4 * loss) << i;
  }
}

std::vector<SequenceWay> sequence_ways() {
  std::vector<SequenceWay> ways;
  for (const auto& [engine, on_gpu] : {std::pair{"eager", false}, {"eager", true}, {"graph", true}}) {
    ways.push_back({"lstm", "lstm", small_recurrent, engine, on_gpu});
    ways.push_back({"lstm_of_vectors", "lstm", vector_recurrent, engine, on_gpu});
    ways.push_back({"gru", "gru", small_recurrent, engine, on_gpu});
    ways.push_back({"transformer", "transformer", small_transformer, engine, on_gpu});
    ways.push_back({"temporal_mlp", "temporal_mlp", small_temporal_mlp, engine, on_gpu});
    ways.push_back({"cnn1d", "cnn1d", small_cnn1d, engine, on_gpu});
  }
  return ways;
}

INSTANTIATE_TEST_SUITE_P(Ways, Sequences, testing::ValuesIn(sequence_ways()), [](const auto& way) {
  const std::string place = way.param.on_gpu ? "OnTheGpu" : "OnTheCpu";
  return std::string(way.param.name) + "_" + way.param.engine + place;
});

class SequenceOutputs : public testing::TestWithParam<SequenceWay> {};

TEST_P(SequenceOutputs, OfPartsThatBeginAtABlockAreThoseOfTheWhole) {
  const EngineRequest request = sequence_request(GetParam());
  const Dataset data = windows_of_series(2 * rows_of_block + 77, 3, 1);
  const auto outputs = [&](std::int64_t first) {
    return torch_door::outputs(request.network, request.initial_parameters, data, first, data.rows() - first);
  };
  const Array whole = outputs(0);
  for (const std::int64_t first : {rows_of_block, 2 * rows_of_block}) {
    const Array part = outputs(first);
    EXPECT_EQ(std::memcmp(part.data(), whole.as<float>().data() + first, part.bytes()), 0) << first;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, SequenceOutputs,
    testing::Values(SequenceWay{"lstm_of_vectors", "lstm", vector_recurrent, "", false},
                    SequenceWay{"lstm", "lstm", small_recurrent, "", false},
                    SequenceWay{"gru", "gru", small_recurrent, "", false},
                    SequenceWay{"transformer", "transformer", small_transformer, "", false},
                    SequenceWay{"temporal_mlp", "temporal_mlp", small_temporal_mlp, "", false},
                    SequenceWay{"cnn1d", "cnn1d", small_cnn1d, "", false}),
    [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace stoker
