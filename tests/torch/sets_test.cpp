#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/set_case.h"
#include "model/family.h"
#include "torch/door.h"
#include "torch/training_case.h"

// Sets on the fused engine and without LibTorch, against their module under autograd.
namespace stoker {
namespace {

using test::make_engine;
using test::SetCase;

// With plain descent at a rate of 1, what a step changes is the gradient.
void expect_the_same_gradients(SetCase c) {
  SCOPED_TRACE(testing::PrintToString(c));
  c.optimizer = Optimizer::sgd;
  c.batch = c.rows;
  const EngineRequest request = request_for(c);
  const auto fused = make_engine("fused", request);
  const auto eager = make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, request, 1, 1, 0, 1.0F);
  const ChunkResult other = test::run_epochs(*eager, request, 1, 1, 0, 1.0F);
  EXPECT_NEAR(one.finished_epochs[0].train_loss, other.finished_epochs[0].train_loss,
              1e-5 * (1 + std::abs(other.finished_epochs[0].train_loss)));
  const NamedArrays found = fused->parameters();
  for (const NamedArray& each : eager->parameters()) {
    const auto before = find_array(request.initial_parameters, each.name).as<float>();
    const auto expected = each.array.as<float>();
    const auto actual = find_array(found, each.name).as<float>();
    double largest = 1e-3;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max<double>(largest, std::abs(expected[i] - before[i]));
      worst = std::max<double>(worst, std::abs(expected[i] - actual[i]));
    }
    EXPECT_LT(worst, 1e-4 * largest) << each.name;
  }
}

TEST(SetsFusedAndEager, HaveTheSameLossAndEveryGradient) {
  for (const double dropout : {0.0, 0.3})
    for (const double absent : {0.0, 0.4, 0.9})
      for (const bool weighted : {false, true}) {
        SetCase c;
        c.settings.dropout = dropout;
        c.absent = absent;
        c.weighted = weighted;
        expect_the_same_gradients(c);
      }
}

TEST(SetsFusedAndEager, AgreeOnAnyShape) {
  for (const double dropout : {0.0, 0.3}) {
    for (const std::int64_t members : {1, 2, 7, 10, 16, 19, 33}) {
      SetCase c;
      c.members = members;
      c.settings = {members, 64, 32, 4, 64, dropout};
      c.columns = 6;
      expect_the_same_gradients(c);
    }
    for (const auto& [inner, width, heads, head] : {std::array<std::int64_t, 4>{1, 1, 1, 1},
                                                    {5, 9, 3, 7},
                                                    {17, 33, 3, 19},
                                                    {16, 48, 2, 33},
                                                    {31, 40, 1, 16}}) {
      SetCase c;
      c.columns = 17;
      c.numbers = 1;
      c.settings = {5, inner, width, heads, head, dropout};
      expect_the_same_gradients(c);
    }
  }
}

TEST(SetsFusedAndEager, AgreeOnSetsWithoutMembers) {
  SetCase c;
  c.has_empty = true;
  c.settings.dropout = 0.2;
  expect_the_same_gradients(c);
}

TEST(SetsFusedAndEager, AgreeOnMembersThatAreAlike) {
  SetCase c;
  EngineRequest request = request_for(c);
  for (float& value : const_cast<Array&>(request.training.find("features")->array).as<float>()) value = 0.5F;
  request.optimizer.kind = Optimizer::sgd;
  const auto fused = make_engine("fused", request);
  const auto eager = make_engine("eager", request);
  test::run_epochs(*fused, request, 1, 100, 0, 0.1F);
  test::run_epochs(*eager, request, 1, 100, 0, 0.1F);
  EXPECT_LT(test::largest_difference(eager->parameters(), fused->parameters()), 1e-4);
}

TEST(SetsFusedAndEager, HaveTheSameLossesOverManySteps) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd})
    for (const double limit : {0.0, 0.5}) {
      SetCase c;
      c.members = 10;
      c.columns = 6;
      c.settings = {10, 64, 32, 4, 64, 0.2};
      c.rows = 203;
      c.batch = 64;
      c.validation_rows = 51;
      c.weighted = true;
      c.optimizer = optimizer;
      c.max_grad_norm = limit;
      const EngineRequest request = request_for(c);
      SCOPED_TRACE(testing::PrintToString(c));
      const auto fused = make_engine("fused", request);
      const auto eager = make_engine("eager", request);
      const ChunkResult one = test::run_epochs(*fused, request, 20, 7, 0, 0.001F);
      const ChunkResult other = test::run_epochs(*eager, request, 20, 7, 0, 0.001F);
      for (std::size_t i = 0; i < 20; ++i) {
        ASSERT_NEAR(one.finished_epochs[i].train_loss, other.finished_epochs[i].train_loss, 1e-3);
        ASSERT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss, 1e-3);
        EXPECT_EQ(one.finished_epochs[i].gradient_norm.has_value(), limit > 0);
      }
    }
}

TEST(SetOutputs, AreThoseOfTheModule) {
  for (const auto& [members, width, heads] :
       {std::array<std::int64_t, 3>{10, 32, 4}, {1, 9, 3}, {19, 33, 3}}) {
    SetCase c;
    c.members = members;
    c.settings = {members, 40, width, heads, 24, 0.2};
    c.rows = 1500;
    c.has_empty = true;
    const EngineRequest request = request_for(c);
    const Array found = family_of(request.network)
                            .outputs(request.network, request.initial_parameters, request.training, 3, 1400);
    const Array expected =
        torch_door::outputs(request.network, request.initial_parameters, request.training, 3, 1400);
    ASSERT_EQ(found.shape(), expected.shape());
    for (std::size_t i = 0; i < found.as<float>().size(); ++i) {
      const float wanted = expected.as<float>()[i];
      ASSERT_NEAR(found.as<float>()[i], wanted, 2e-5 * (1 + std::abs(wanted))) << i;
    }
  }
}

}  // namespace
}  // namespace stoker
