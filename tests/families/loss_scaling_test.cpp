#include "torch/loss_scaling.h"

#include <cmath>
#include <limits>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "torch/tensors.h"

// What the scale of fp16's gradients does from step to step; on a GPU the same operations are captured.
namespace stoker::torch_door {
namespace {

class Scaling : public testing::Test {
 protected:
  float scale() const { return scaling_.scale().const_data_ptr<float>()[0]; }
  // One step whose scaled gradients are this; returns what is left of them.
  float step(float gradient) {
    at::Tensor gradients = at::full({3}, gradient, floats_on(Device::cpu()));
    scaling_.take_out_of(gradients);
    scaling_.adapt();
    return gradients.const_data_ptr<float>()[0];
  }

  at::Tensor stopped_ = at::zeros({}, floats_on(Device::cpu()));
  LossScaling scaling_{Device::cpu(), stopped_};
};

TEST_F(Scaling, IsTakenOutOfTheGradients) {
  EXPECT_FLOAT_EQ(step(65536.0F * 0.25F), 0.25F);
  EXPECT_EQ(scaling_.skipped().const_data_ptr<float>()[0], 0);
}

TEST_F(Scaling, HalvesAfterAnOverflowWhoseStepIsLeftOut) {
  step(std::numeric_limits<float>::infinity());
  EXPECT_EQ(scaling_.skipped().const_data_ptr<float>()[0], 1);
  EXPECT_EQ(scale(), 32768);
  step(1);
  EXPECT_EQ(scaling_.skipped().const_data_ptr<float>()[0], 0);
}

TEST_F(Scaling, RecoversWhenItWasLowered) {
  for (int i = 0; i < 4; ++i) step(NAN);
  EXPECT_EQ(scale(), 4096);
  for (int i = 0; i < LossScaling::good_steps_to_grow; ++i) step(1);
  EXPECT_EQ(scale(), 8192);
}

TEST_F(Scaling, IsNotEnoughWhereGradientsOverflowUnscaled) {
  for (int i = 0; i < 16; ++i) step(NAN);
  EXPECT_TRUE(scaling_.is_enough());
  step(NAN);
  EXPECT_FALSE(scaling_.is_enough());
}

TEST_F(Scaling, StaysAsItIsOnceTrainingHasStopped) {
  stopped_.fill_(1);
  step(NAN);
  EXPECT_EQ(scale(), 65536);
  EXPECT_EQ(scaling_.skipped().const_data_ptr<float>()[0], 1);
}

TEST_F(Scaling, CountsNoStepThatItLeftOutAsAnUpdate) {
  const auto number_of = [&](float step) {
    at::Tensor number = at::full({}, step, floats_on(Device::cpu()));
    scaling_.leave_out_of(number);
    return number.const_data_ptr<float>()[0];
  };
  EXPECT_EQ(number_of(1), 1);
  step(NAN);
  step(1);
  step(NAN);
  EXPECT_EQ(number_of(4), 2);
  EXPECT_EQ(number_of(1), 1) << "an optimiser that began anew";
  NamedArrays state;
  scaling_.append_to(state);
  scaling_.restore(state);
  EXPECT_EQ(number_of(4), 2);
  state.pop_back();  // as earlier versions kept it
  scaling_.restore(state);
  EXPECT_EQ(number_of(4), 4);
  stopped_.fill_(1);
  step(NAN);
  EXPECT_EQ(number_of(4), 4) << "nothing is trained any more";
}

TEST_F(Scaling, IsPartOfTheState) {
  step(NAN);
  for (int i = 0; i < 7; ++i) step(1);
  NamedArrays state;
  scaling_.append_to(state);
  LossScaling other(Device::cpu(), stopped_);
  other.restore(state);
  NamedArrays again;
  other.append_to(again);
  EXPECT_EQ(find_array(again, "loss_scale").as<float>()[0], 32768);
  EXPECT_EQ(find_array(again, "good_steps_of_scale").as<std::int32_t>()[0], 7);
  state.front().array = Array::from<float>(std::array{-1.0F}, {1});
  EXPECT_THROW(other.restore(state), Error);
}

}  // namespace
}  // namespace stoker::torch_door
