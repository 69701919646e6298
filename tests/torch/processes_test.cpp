#include <algorithm>
#include <barrier>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/reshaped.h"
#include "model/family.h"
#include "torch/training_case.h"

// Several processes that train one model, as threads.
namespace stoker {
namespace {

// Adds up in the order of the ranks, so that all get the same bits.
class Shared {
 public:
  explicit Shared(std::size_t ranks) : gradients_(ranks), all_here_(static_cast<std::ptrdiff_t>(ranks)) {}

  void average(std::size_t rank, std::span<float> gradients) {
    gradients_[rank] = gradients;
    all_here_.arrive_and_wait();
    std::vector<float> mean(gradients.size());
    for (const std::span<float> each : gradients_)
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] += each[i] / static_cast<float>(gradients_.size());
    all_here_.arrive_and_wait();
    std::copy(mean.begin(), mean.end(), gradients.begin());
  }

 private:
  std::vector<std::span<float>> gradients_;
  std::barrier<> all_here_;
};

class OneRank : public Collective {
 public:
  OneRank(Shared& shared, std::size_t rank) : shared_(shared), rank_(rank) {}
  void average(std::span<float> gradients) override { shared_.average(rank_, gradients); }

 private:
  Shared& shared_;
  std::size_t rank_;
};

EngineRequest request_for_ranks(std::int64_t batch_size) {
  EngineRequest request = test::small_request();
  test::reshape(request, [](MlpShape& shape) { shape.dropout = 0; });
  request.initial_parameters = initial_parameters(request.network, 5);
  request.training = test::synthetic_rows(192, 6, false, 1);
  request.batch_size = batch_size;
  return request;
}

TEST(Processes, TrainTogetherWhatOneTrainsWithTheirBatches) {
  Shared shared(2);
  std::vector<NamedArrays> found(2);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      OneRank collective(shared, rank);
      EngineRequest request = request_for_ranks(16);
      request.order = {0, static_cast<std::int64_t>(rank), 2};
      request.collective = &collective;
      const auto engine = test::make_engine("eager", request);
      test::run_epochs(*engine, request, 5, 7);
      found[rank] = engine->parameters();
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_TRUE(test::same_bits(found[0], found[1]));
  const EngineRequest alone = request_for_ranks(32);
  const auto engine = test::make_engine("eager", alone);
  test::run_epochs(*engine, alone, 5, 1000);
  EXPECT_LT(test::largest_difference(engine->parameters(), found[0]), 1e-4);
}

TEST(Processes, AreForTheEagerEngineAlone) {
  Shared shared(1);
  OneRank collective(shared, 0);
  EngineRequest request = request_for_ranks(16);
  request.collective = &collective;
  try {
    test::make_engine("fused", request);
    FAIL() << "fused took it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a single process"));
  }
}

}  // namespace
}  // namespace stoker
