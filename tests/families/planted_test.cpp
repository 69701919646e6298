#include <cmath>

#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/family.h"
#include "torch/modules/module.h"
#include "torch/training_case.h"
#include "train/listeners.h"
#include "train/loop/engines.h"
#include "train/loop/metric_stopping.h"
#include "train/loop/phases.h"

// Real engines over a module in which something goes wrong: the training goes on, with a model that is as
// good.
namespace stoker {
namespace {

using test::RecordingListener;
using testing::ElementsAre;
using testing::HasSubstr;

struct Planted {
  std::int64_t zero_division_in_call = -1;  // of a pass with operands of 16 bits
  std::int64_t most_rows = 1'000'000;       // in training
};
Planted planted;
std::int64_t calls = 0;

class PlantedModule : public torch_door::Module {
 public:
  explicit PlantedModule(const torch_door::Parameters& parameters)
      : weight_(parameters("weight")), bias_(parameters("bias")) {}

  at::Tensor outputs(std::span<const at::Tensor> inputs, const torch_door::Pass& pass) const override {
    // More than any machine can address, so that the real allocator says what it says.
    if (pass.is_training && inputs.front().size(0) > planted.most_rows)
      return at::empty({std::int64_t{1} << 50}, inputs.front().options());
    const at::Tensor outputs = at::linear(inputs.front(), weight_, bias_);
    const bool has_16_bits = outputs.scalar_type() == at::kBFloat16;
    if (has_16_bits && pass.is_training && calls++ == planted.zero_division_in_call)
      return at::div(outputs, 0.0);
    return outputs;
  }
  std::vector<torch_door::DropoutLayer> dropout_layers() const override { return {}; }
  std::int64_t widest() const override { return 6; }

 private:
  at::Tensor weight_, bias_;
};

struct NoPlantedSettings {};
config::Fields fields(NoPlantedSettings&) {
  return {};
}

void add_planted() {
  static const bool added = [] {
    Family made;
    made.name = "planted";
    made.describe = config::described<NoPlantedSettings>;
    made.parameters = [](const Network&) -> std::vector<ParameterSpec> {
      return {{"weight", DType::float32, {1, 6}, 0.4}, {"bias", DType::float32, {1}, 0.4}};
    };
    add_family(made);
    torch_door::add_module(
        "planted",
        [](const Network&, const torch_door::Parameters& parameters) -> std::unique_ptr<torch_door::Module> {
          return std::make_unique<PlantedModule>(parameters);
        });
    return true;
  }();
  static_cast<void>(added);
}

class PlantedFault : public testing::Test {
 protected:
  PlantedFault() {
    add_planted();
    planted = {};
    calls = 0;
    request_ = test::small_request();
    request_.network = {
        "planted", config::Value(config::Value::Map{}), {table_features(DType::float32, 6)}, 1};
    request_.initial_parameters = initial_parameters(request_.network, 5);
  }

  TrainingOutcome train(TrainingListener& listener) {
    Checkpoints none("", {}, no_notes());
    TrainingPlan plan;
    plan.config.epochs = 40;
    plan.config.learning_rate = 0.02;
    plan.rows = request_.rows_per_epoch();
    plan.steps_per_epoch = request_.steps_per_epoch();
    const EngineMaker& maker = choose_engine(engines(), EngineChoice::eager, std::nullopt, request_);
    return train_in_phases(request_, making(maker, std::nullopt), plan, std::nullopt, none, listener, {});
  }
  static double last_loss(const TrainingOutcome& outcome) {
    return outcome.progress.epochs.back().record.train_loss;
  }

  EngineRequest request_;
};

TEST_F(PlantedFault, OfANumberThatIsNoneInBf16LeadsToFp32) {
  RecordingListener listener;
  const TrainingOutcome undisturbed = train(listener);
  request_.precision = Precision::bf16;
  planted.zero_division_in_call = 100;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(outcome.precision, Precision::fp32);
  EXPECT_EQ(outcome.progress.epochs.size(), 40U);
  EXPECT_THAT(listener.warnings, ElementsAre(HasSubstr("not finite in bf16: the training goes on in fp32")));
  EXPECT_NEAR(last_loss(outcome), last_loss(undisturbed), 0.02 * last_loss(undisturbed));
}

TEST_F(PlantedFault, OfMemoryLeadsToPartsOfABatchAndTheSameModel) {
  RecordingListener listener;
  const TrainingOutcome undisturbed = train(listener);
  planted.most_rows = 4;
  const TrainingOutcome outcome = train(listener);
  EXPECT_EQ(outcome.progress.adjustments.accumulation_steps, 4);
  EXPECT_THAT(listener.warnings, ElementsAre(HasSubstr("memory ran out in a step of 16 rows")));
  EXPECT_LT(test::largest_difference(undisturbed.parameters, outcome.parameters), 1e-4);
}

TEST_F(PlantedFault, OfMemoryThatNothingHelpsIsAnError) {
  planted.most_rows = 0;
  RecordingListener listener;
  EXPECT_THROW(train(listener), OutOfMemory);
}

}  // namespace
}  // namespace stoker
