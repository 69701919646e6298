#include "torch/gradient_norms.h"

#include <cmath>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

class Norms : public testing::Test {
 protected:
  static at::Tensor number(float value) { return at::full({1}, value, floats_on(Device::cpu())); }
  void add(float norm, bool is_skipped) { norms_.add(number(norm), number(is_skipped ? 1 : 0)); }
  std::optional<double> mean_of_epoch() {
    norms_.end_epoch(at::zeros({1}, options_of(DType::int64, Device::cpu())));
    return norms_.of_line(0);
  }

  GradientNorms norms_{Device::cpu(), 4};
};

TEST_F(Norms, OfStepsThatWereSkippedDoNotCount) {
  add(2, false);
  add(NAN, true);
  add(4, false);
  EXPECT_NEAR(mean_of_epoch().value(), 3, 1e-5);
  add(INFINITY, true);
  EXPECT_EQ(mean_of_epoch(), std::nullopt);
}

TEST_F(Norms, GoOnInTheMiddleOfAnEpoch) {
  norms_.add(number(2), {});
  NamedArrays state;
  norms_.append_to(state);
  GradientNorms other(Device::cpu(), 4);
  other.restore(state);
  other.add(number(5), {});
  other.end_epoch(at::zeros({1}, options_of(DType::int64, Device::cpu())));
  EXPECT_NEAR(other.of_line(0).value(), 3.5, 1e-5);
  state.pop_back();  // earlier versions kept no number of steps
  norms_.restore(state);
  EXPECT_EQ(mean_of_epoch(), std::nullopt);
  norms_.add(number(7), {});
  EXPECT_NEAR(mean_of_epoch().value(), 7, 1e-5);
}

}  // namespace
}  // namespace stoker::torch_door
