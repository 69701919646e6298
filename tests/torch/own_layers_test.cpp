#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "device/array.h"
#include "device/flush_to_zero.h"
#include "torch/cpu_settings.h"
#include "torch/modules/activate.h"
#include "torch/modules/encoder_layer.h"
#include "torch/modules/gru_layer.h"
#include "torch/modules/lstm_layer.h"
#include "torch/modules/recurrent_layer.h"
#include "torch/values_drawn.h"

// Layers whose way forward and back is written out for CPUs, held to LibTorch's operations and autograd.
namespace stoker {
namespace {

void expect_close(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  const double scale = expected.abs().max().item<double>();
  EXPECT_LT((actual - expected).abs().max().item<double>(), 2e-5 * std::max(scale, 1.0)) << what;
}

struct RecurrentCase {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t columns;
  std::int64_t hidden;
  bool bidirectional;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
};

class OwnRecurrent : public testing::TestWithParam<RecurrentCase> {
 protected:
  void SetUp() override { at::globalContext().setUserEnabledMkldnn(false); }

  // The window and the weights of each direction, all to be differentiated.
  std::vector<at::Tensor> entering(std::int64_t gates) const {
    const RecurrentCase c = GetParam();
    std::vector<at::Tensor> all{test::drawn({c.rows, c.length, c.columns}, 0)};
    for (std::int64_t direction = 0; direction < c.directions(); ++direction)
      for (const Shape& shape : {Shape{gates * c.hidden, c.columns}, Shape{gates * c.hidden, c.hidden},
                                 Shape{gates * c.hidden}, Shape{gates * c.hidden}})
        // As large as they begin a training: larger ones make rounding grow from moment to moment.
        all.push_back(at::mul(test::drawn(shape, all.size()), 1 / std::sqrt(c.hidden)));
    for (at::Tensor& each : all) each.requires_grad_(true);
    return all;
  }

  void expect_same(const at::Tensor& found, const std::vector<at::Tensor>& own, const at::Tensor& expected,
                   const std::vector<at::Tensor>& reference) const {
    expect_close(found, expected, "outputs");
    const at::Tensor factors = test::drawn(found.sizes().vec(), 99);
    found.backward(factors);
    expected.backward(factors);
    for (std::size_t i = 0; i < own.size(); ++i)
      expect_close(own[i].grad(), reference[i].grad(), "gradient " + std::to_string(i));
  }
};

TEST_P(OwnRecurrent, LstmHasTheOutputsAndGradientsOfLibTorchs) {
  const RecurrentCase c = GetParam();
  const std::vector<at::Tensor> own = entering(4);
  const std::vector<at::Tensor> reference = entering(4);
  ASSERT_TRUE(torch_door::suits_own_recurrent(own.front(), c.hidden));
  const at::Tensor found = torch_door::own_lstm_layer(own.front(), std::span(own).subspan(1));
  const at::Tensor state = at::zeros({c.directions(), c.rows, c.hidden});
  const std::vector<at::Tensor> weights(reference.begin() + 1, reference.end());
  const at::Tensor expected = std::get<0>(
      at::lstm(reference.front(), {state, state}, weights, true, 1, 0, true, c.bidirectional, true));
  expect_same(found, own, expected, reference);
}

TEST_P(OwnRecurrent, GruHasTheOutputsAndGradientsOfLibTorchs) {
  const RecurrentCase c = GetParam();
  const std::vector<at::Tensor> own = entering(3);
  const std::vector<at::Tensor> reference = entering(3);
  ASSERT_TRUE(torch_door::suits_own_recurrent(own.front(), c.hidden));
  const at::Tensor found = torch_door::own_gru_layer(own.front(), std::span(own).subspan(1));
  const at::Tensor state = at::zeros({c.directions(), c.rows, c.hidden});
  const std::vector<at::Tensor> weights(reference.begin() + 1, reference.end());
  const at::Tensor expected =
      std::get<0>(at::gru(reference.front(), state, weights, true, 1, 0, true, c.bidirectional, true));
  expect_same(found, own, expected, reference);
}

INSTANTIATE_TEST_SUITE_P(Shapes, OwnRecurrent,
                         testing::Values(RecurrentCase{3, 5, 4, 16, true}, RecurrentCase{1, 1, 3, 16, true},
                                         RecurrentCase{7, 20, 29, 48, false},
                                         RecurrentCase{2, 3, 1, 32, true},
                                         RecurrentCase{29, 13, 40, 80, true}));

struct EncoderCase {
  std::int64_t rows;
  std::int64_t length;
  std::int64_t heads;
  std::int64_t share;
  std::int64_t inner;
  Activation activation;
};

class OwnEncoder : public testing::TestWithParam<std::tuple<EncoderCase, bool>> {
 protected:
  void SetUp() override { at::globalContext().setUserEnabledMkldnn(false); }
  EncoderCase shape() const { return std::get<0>(GetParam()); }

  fused_cpu::EncoderShape encoder_shape() const {
    const EncoderCase c = shape();
    fused_cpu::EncoderShape encoder;
    encoder.attention = {c.length, c.heads, c.share};
    encoder.inner = c.inner;
    encoder.activation = c.activation;
    encoder.epsilon = 1e-5F;
    return encoder;
  }

  // The moments and the weights, all to be differentiated.
  std::vector<at::Tensor> entering() const {
    const EncoderCase c = shape();
    const std::int64_t width = c.heads * c.share;
    std::vector<at::Tensor> all{test::drawn({c.rows, c.length, width}, 0)};
    for (const Shape& each : {Shape{3 * width, width}, Shape{3 * width}, Shape{width, width}, Shape{width},
                              Shape{c.inner, width}, Shape{c.inner}, Shape{width, c.inner}, Shape{width},
                              Shape{width}, Shape{width}, Shape{width}, Shape{width}})
      all.push_back(at::mul(test::drawn(each, all.size()), each.size() == 2 ? 2 / std::sqrt(each[1]) : 1.0));
    for (at::Tensor& each : all) each.requires_grad_(true);
    return all;
  }

  // 0 or twice the value; undefined without dropout.
  std::array<at::Tensor, 4> masks() const {
    std::array<at::Tensor, 4> all;
    if (!std::get<1>(GetParam())) return all;
    const EncoderCase c = shape();
    const std::int64_t width = c.heads * c.share;
    const std::int64_t widths[]{c.heads * c.length * c.length, c.length * width, c.length * c.inner,
                                c.length * width};
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = test::drawn({c.rows, widths[i]}, 50 + i).ge(0.0).to(at::kFloat).mul(2.0);
    return all;
  }

  at::Tensor expected(const std::vector<at::Tensor>& all, const std::array<at::Tensor, 4>& masks) const {
    const EncoderCase c = shape();
    const std::int64_t width = c.heads * c.share;
    const auto drop = [](const at::Tensor& x, const at::Tensor& mask) {
      return mask.defined() ? at::mul(x, mask.view(x.sizes())) : x;
    };
    const at::Tensor& x = all[0];
    const at::Tensor normed = at::layer_norm(x, {width}, all[9], all[10], 1e-5);
    const at::Tensor heads = at::linear(normed, all[1], all[2])
                                 .view({c.rows, c.length, 3, c.heads, c.share})
                                 .permute({2, 0, 3, 1, 4});
    const at::Tensor scores =
        at::matmul(at::mul(heads.select(0, 0), 1 / std::sqrt(c.share)), heads.select(0, 1).transpose(2, 3));
    const at::Tensor context = at::matmul(drop(at::softmax(scores, 3), masks[0]), heads.select(0, 2))
                                   .transpose(1, 2)
                                   .reshape({c.rows, c.length, width});
    const at::Tensor sum = at::add(x, drop(at::linear(context, all[3], all[4]), masks[1]));
    const at::Tensor inner = torch_door::activate(
        c.activation, at::linear(at::layer_norm(sum, {width}, all[11], all[12], 1e-5), all[5], all[6]));
    return at::add(sum, drop(at::linear(drop(inner, masks[2]), all[7], all[8]), masks[3]));
  }
};

TEST_P(OwnEncoder, HasTheOutputsAndGradientsOfLibTorchs) {
  const std::vector<at::Tensor> own = entering();
  const std::vector<at::Tensor> reference = entering();
  const std::array<at::Tensor, 4> left_out = masks();
  ASSERT_TRUE(torch_door::suits_own_encoder(own.front(), encoder_shape()));
  const at::Tensor found =
      torch_door::own_encoder_layer(own.front(), encoder_shape(), std::span(own).subspan(1), left_out);
  const at::Tensor wanted = expected(reference, left_out);
  expect_close(found, wanted, "outputs");
  const at::Tensor factors = test::drawn(found.sizes().vec(), 99);
  found.backward(factors);
  wanted.backward(factors);
  for (std::size_t i = 0; i < own.size(); ++i)
    expect_close(own[i].grad(), reference[i].grad(), "gradient " + std::to_string(i));
}

TEST_P(OwnEncoder, HasTheSameGradientsOnAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  std::vector<std::vector<at::Tensor>> all;
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    all.push_back(entering());
    const std::vector<at::Tensor>& own = all.back();
    const at::Tensor found =
        torch_door::own_encoder_layer(own.front(), encoder_shape(), std::span(own).subspan(1), masks());
    found.backward(test::drawn(found.sizes().vec(), 99));
  }
  at::set_num_threads(threads);
  for (std::size_t i = 0; i < all[0].size(); ++i)
    for (std::size_t other = 1; other < all.size(); ++other)
      EXPECT_TRUE(all[0][i].grad().equal(all[other][i].grad())) << i;
}

TEST(OwnEncoderShapes, IsNotForWidthsThatAreNoWholeVectorsNorForLongWindows) {
  fused_cpu::EncoderShape shape;
  shape.attention = {20, 8, 16};
  shape.inner = 64;
  const at::Tensor x = at::zeros({2, 20, 128});
  EXPECT_TRUE(torch_door::suits_own_encoder(x, shape));
  EXPECT_FALSE(torch_door::suits_own_encoder(x.to(at::kDouble), shape));
  shape.inner = 65;
  EXPECT_FALSE(torch_door::suits_own_encoder(x, shape));
  shape.inner = 64;
  shape.attention.share = 12;
  EXPECT_FALSE(torch_door::suits_own_encoder(x, shape));
  shape.attention = {2000, 8, 16};
  EXPECT_FALSE(torch_door::suits_own_encoder(x, shape));
}

INSTANTIATE_TEST_SUITE_P(Shapes, OwnEncoder,
                         testing::Combine(testing::Values(EncoderCase{19, 20, 2, 16, 48, Activation::gelu},
                                                          EncoderCase{1, 1, 1, 16, 16, Activation::relu},
                                                          EncoderCase{3, 33, 1, 48, 32, Activation::silu},
                                                          EncoderCase{70, 5, 3, 32, 80, Activation::tanh},
                                                          EncoderCase{2, 16, 2, 16, 16, Activation::sigmoid},
                                                          EncoderCase{5, 128, 1, 16, 32, Activation::gelu}),
                                          testing::Bool()));

// Loops of LibTorch's headers quietly run on one thread where the library is compiled without OpenMP. Then
// only that one would flush.
TEST(LoopsBehindTheDoor, GoToAllThreadsSoThatAllFlushToZero) {
  const int threads = at::get_num_threads();
  at::set_num_threads(2);
  const at::Tensor factors = at::mul(at::ones({1 << 20}), 1e-20);
  const at::Tensor subnormal = at::mul(factors, factors);  // by both threads, as they are without flushing
  at::Tensor flushed;
  {
    const torch_door::FlushAllToZero flushing;
    flushed = at::mul(factors, factors);
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(subnormal.ne(0).all().item<bool>());
  EXPECT_TRUE(flushed.eq(0).all().item<bool>());
}

}  // namespace
}  // namespace stoker
