#include "model/network/sequence.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/value.h"
#include "model/family.h"
#include "model/network/cnn1d.h"
#include "model/network/temporal_mlp.h"
#include "model/network/transformer.h"

namespace stoker {
namespace {

using testing::HasSubstr;

Network over_windows(const char* family, const config::Value& settings = config::Value(config::Value::Map{}),
                     std::int64_t outputs = 3) {
  config::Diagnostics diagnostics("test");
  config::Value all = checked_settings(family_named(family), settings, "", diagnostics);
  diagnostics.refuse_if_any();
  return {family, std::move(all), {{"window", Role::features, DType::float32, {20, 29}}}, outputs};
}

std::int64_t trained_count(const Network& network) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(network))
    if (spec.is_trained) count += spec.size();
  return count;
}

constexpr std::int64_t linear(std::int64_t inputs, std::int64_t outputs) {
  return inputs * outputs + outputs;
}
constexpr std::int64_t norm(std::int64_t width) {
  return 2 * width;
}

// Layer by layer as the lists of the networks that they are modelled on have them.
TEST(SequenceFamilies, HaveAsManyParametersAsTheNetworksThatTheyAreModelledOn) {
  const std::int64_t direction_1 = 4 * (128 * 29 + 128 * 128 + 2 * 128);
  const std::int64_t direction_2 = 4 * (128 * 256 + 128 * 128 + 2 * 128);
  const std::int64_t lstm = norm(29) + 2 * direction_1 + 2 * direction_2 + norm(256) + linear(256, 128) +
                            linear(128, 1) + norm(256) + linear(256, 128) + norm(128) + linear(128, 3);
  EXPECT_EQ(lstm, 625'726);
  EXPECT_EQ(trained_count(over_windows("lstm")), lstm);

  const std::int64_t layer =
      linear(128, 3 * 128) + linear(128, 128) + linear(128, 512) + linear(512, 128) + 2 * norm(128);
  const std::int64_t transformer = linear(29, 128) + norm(128) + 3 * layer + norm(128) + norm(128) +
                                   linear(128, 64) + norm(64) + linear(64, 3);
  EXPECT_EQ(transformer, 608'003);
  EXPECT_EQ(trained_count(over_windows("transformer")), transformer);

  const std::int64_t mlp = norm(29) + linear(29, 128) + norm(128) + linear(128, 96) + norm(96) +
                           linear(96, 64) + norm(64) + linear(64, 32) + norm(32) + linear(32, 16) +
                           linear(16, 32) + linear(32, 3);
  EXPECT_EQ(mlp, 26'381);
  EXPECT_EQ(trained_count(over_windows("temporal_mlp")), mlp);

  const std::int64_t convolution = 64 * 64 * 3 + 64;
  const std::int64_t cnn = norm(29) + linear(29, 64) + 4 * (norm(64) + 2 * convolution) + norm(64) +
                           norm(64) + linear(64, 32) + norm(32) + linear(32, 3);
  EXPECT_EQ(trained_count(over_windows("cnn1d")), cnn);
  EXPECT_EQ(trained_count(over_windows("gru")), lstm - (direction_1 + direction_2) / 2);
}

TEST(SequenceFamilies, TakeProductsForEveryMoment) {
  const std::int64_t lstm = 20 * (2 * 512 * (29 + 128) + 2 * 512 * (256 + 128) + 256 * 128 + 128);
  EXPECT_EQ(multiply_adds(over_windows("lstm")), lstm + 256 * 128 + 128 * 3);
  const std::int64_t layer = 128 * 384 + 128 * 128 + 2 * 128 * 512 + 2 * 20 * 128;
  EXPECT_EQ(multiply_adds(over_windows("transformer")), 20 * (29 * 128 + 3 * layer) + 128 * 64 + 64 * 3);
  EXPECT_EQ(multiply_adds(over_windows("temporal_mlp")),
            29 * 128 + 128 * 96 + 96 * 64 + 64 * 32 + 2 * 32 * 16 + 32 * 3);
}

TEST(SequenceFamilies, SayThatTheyReadWindows) {
  for (const char* name : {"lstm", "gru", "transformer", "temporal_mlp", "cnn1d"}) {
    const Family& family = family_named(name);
    EXPECT_TRUE(form_of(family, over_windows(name).settings).reads_windows) << name;
    Network of_table = over_windows(name);
    of_table.inputs = {table_features(DType::float32, 5)};
    try {
      parameter_specs(of_table);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("reads windows of a series"));
    }
  }
}

TEST(SequenceFamilies, RefuseSettingsThatContradictEachOther) {
  TransformerSettings settings;
  settings.heads = 7;
  config::Diagnostics diagnostics("test");
  checked_settings(family_named("transformer"), config::write(settings), "config", diagnostics);
  ASSERT_EQ(diagnostics.found().size(), 1U);
  EXPECT_EQ(diagnostics.found().front().path, "config.heads");
  EXPECT_THAT(diagnostics.found().front().message,
              HasSubstr("7 heads do not divide hidden_size, which is 128"));
  // As a model folder that somebody has edited may have it.
  Network network = over_windows("transformer");
  network.settings = config::write(settings);
  EXPECT_THROW(parameter_specs(network), Error);

  TemporalMlpSettings longer;
  longer.moments = 21;
  network = over_windows("temporal_mlp", config::write(longer));
  try {
    parameter_specs(network);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("last 21 moments of a window, which has 20"));
  }
}

TEST(SequenceFamilies, RefuseLayersThatNoMachineHolds) {
  TransformerSettings settings;
  settings.hidden_size = 65536;
  settings.heads = 1;
  try {
    parameter_specs(over_windows("transformer", config::write(settings)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("too large"));
  }
}

// It would leave nothing of what the column says.
TEST(SequenceFamilies, DoNotNormASingleColumnAway) {
  for (const char* name : {"lstm", "gru", "cnn1d"}) {
    Network network = over_windows(name);
    EXPECT_EQ(parameter_specs(network).front().name, "input_norm.weight") << name;
    network.inputs.front().shape = {20, 1};
    for (const ParameterSpec& spec : parameter_specs(network))
      EXPECT_NE(spec.name, "input_norm.weight") << name;
  }
}

double bound_of(const char* family, const std::string& name) {
  for (const ParameterSpec& spec : parameter_specs(over_windows(family)))
    if (spec.name == name) return spec.bound;
  return -1;
}

TEST(SequenceFamilies, BeginAsPyTorchsLayersDo) {
  EXPECT_DOUBLE_EQ(bound_of("transformer", "layers.0.self_attn.in_proj_weight"),
                   std::sqrt(6.0 / (128 + 3 * 128)));
  EXPECT_EQ(bound_of("transformer", "layers.0.self_attn.out_proj.bias"), 0);
  EXPECT_DOUBLE_EQ(bound_of("transformer", "layers.0.linear2.weight"), 1 / std::sqrt(512.0));
  EXPECT_DOUBLE_EQ(bound_of("lstm", "recurrent.weight_ih_l1_reverse"), 1 / std::sqrt(128.0));
  EXPECT_DOUBLE_EQ(bound_of("lstm", "recurrent.bias_hh_l0"), 1 / std::sqrt(128.0));
  EXPECT_DOUBLE_EQ(bound_of("cnn1d", "layers.0.first.weight"), 1 / std::sqrt(3 * 64.0));
}

}  // namespace
}  // namespace stoker
