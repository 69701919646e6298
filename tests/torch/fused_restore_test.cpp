#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cuda/fused_cuda.h"
#include "fused/reshaped.h"
#include "torch/fused_case.h"

// The fused engine on CUDA: states that go from a group to a model alone and back, and rows that it does not
// take.
namespace stoker {
namespace {

using test::Case;
using test::request_of;

class FusedRestore : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

// Clipping takes a team of blocks where a single one would do: a group that clips some of its models has
// another plan than most of them have alone.
std::vector<EngineRequest> clipped_and_not(const Case& shape) {
  std::vector<EngineRequest> requests;
  for (const double norm : {0.0, 0.5}) {
    Case each = shape;
    each.max_grad_norm = norm;
    requests.push_back(request_of(each, 6 * each.batch + 11));
  }
  return requests;
}

std::vector<Case> cases_of_two_plans() {
  std::vector<Case> all(5);
  for (Case& each : all) each.dropout = 0.2;
  all[0].inputs = 20;          // a block, and a team of two
  all[1].inputs = 13;          // a duet, and a team
  all[2].hidden = {64, 32};    // a block, and a team of one
  all[3].batch = 100;          // a team either way
  all[4].hidden = {512, 512};  // all multiprocessors, with and without gradients that wait
  all[4].rate = 2e-4F;
  return all;
}

void expect_losses(const std::vector<EpochRecord>& actual, const std::vector<EpochRecord>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].epoch, expected[i].epoch);
    EXPECT_NEAR(actual[i].train_loss, expected[i].train_loss,
                1e-2 * expected[i].train_loss + 2e-3 * expected[0].train_loss)
        << "epoch " << i;
  }
}

// Saved in the middle of an epoch, whose loss is then made of both parts.
TEST_F(FusedRestore, GoesOnAloneWithTheStateOfAGroupThatClips) {
  for (const Case& each : cases_of_two_plans()) {
    const std::vector<EngineRequest> requests = clipped_and_not(each);
    std::vector<EngineRequest> placed;
    for (const EngineRequest& request : requests)
      placed.push_back(test::placed_on(request, *test::first_gpu(), Memory::device));
    const auto group = fused::make_cuda_group(placed);
    const std::vector<ChunkResult> first =
        group->run(std::vector<Chunk>(2, {0, std::vector<float>(10, each.rate)}));
    for (std::size_t i = 0; i < 2; ++i) {
      const auto alone = fused::make_cuda(placed[i]);
      alone->restore(group->state(i));
      std::vector<EpochRecord> epochs = first[i].finished_epochs;
      for (const EpochRecord& epoch : alone->run({10, std::vector<float>(25, each.rate)}).finished_epochs)
        epochs.push_back(epoch);
      const auto eager = test::make_engine("eager", requests[i]);
      expect_losses(epochs, eager->run({0, std::vector<float>(35, each.rate)}).finished_epochs);
    }
  }
}

TEST_F(FusedRestore, GoesOnInAGroupThatClipsWithTheStateOfAModelAlone) {
  for (const Case& each : cases_of_two_plans()) {
    const std::vector<EngineRequest> requests = clipped_and_not(each);
    std::vector<EngineRequest> placed;
    for (const EngineRequest& request : requests)
      placed.push_back(test::placed_on(request, *test::first_gpu(), Memory::device));
    const auto group = fused::make_cuda_group(placed);
    std::vector<std::vector<EpochRecord>> epochs;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto alone = fused::make_cuda(placed[i]);
      epochs.push_back(alone->run({0, std::vector<float>(10, each.rate)}).finished_epochs);
      group->restore(i, alone->state());
    }
    const std::vector<ChunkResult> rest =
        group->run(std::vector<Chunk>(2, {10, std::vector<float>(25, each.rate)}));
    for (std::size_t i = 0; i < 2; ++i) {
      epochs[i].insert(epochs[i].end(), rest[i].finished_epochs.begin(), rest[i].finished_epochs.end());
      const auto eager = test::make_engine("eager", requests[i]);
      expect_losses(epochs[i], eager->run({0, std::vector<float>(35, each.rate)}).finished_epochs);
    }
  }
}

TEST_F(FusedRestore, GoesOnInTheMiddleOfAnEpochBitForBit) {
  for (const Case& each : cases_of_two_plans()) {
    for (const EngineRequest& request : clipped_and_not(each)) {
      const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
      const auto whole = fused::make_cuda(placed);
      const ChunkResult expected = whole->run({0, std::vector<float>(10, each.rate)});
      const auto second = fused::make_cuda(placed);
      second->restore(whole->state());
      const ChunkResult one = whole->run({10, std::vector<float>(25, each.rate)});
      const ChunkResult other = second->run({10, std::vector<float>(25, each.rate)});
      ASSERT_EQ(one.finished_epochs.size(), other.finished_epochs.size());
      for (std::size_t i = 0; i < one.finished_epochs.size(); ++i)
        EXPECT_EQ(one.finished_epochs[i].train_loss, other.finished_epochs[i].train_loss);
      EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
    }
  }
}

// Why an engine does not take the request, or "".
template <class Make>
std::string complaint_of(Make make) {
  try {
    make();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    return error.what();
  }
  return "";
}

TEST_F(FusedRestore, RefusesClassesThatTheNetworkDoesNotKnowAsEagerDoes) {
  Case each;
  each.loss = Loss::cross_entropy;
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 40}) {
    for (const bool in_validation : {false, true}) {
      EngineRequest request = request_of(each, 70);
      request.validation = test::synthetic_rows(40, test::shape_of(request).inputs, true, 2);
      Dataset& dataset = in_validation ? request.validation : request.training;
      dataset.arrays[1].array.as<std::int64_t>()[17] = number;
      const std::vector<EngineRequest> placed(2,
                                              test::placed_on(request, *test::first_gpu(), Memory::device));
      const std::string expected = complaint_of([&] { test::make_engine("eager", request); });
      EXPECT_NE(expected.find("the targets contain classes"), std::string::npos);
      EXPECT_EQ(complaint_of([&] { fused::make_cuda(placed[0]); }), expected);
      EXPECT_EQ(complaint_of([&] { fused::make_cuda_group(placed); }), expected);
    }
  }
}

}  // namespace
}  // namespace stoker
