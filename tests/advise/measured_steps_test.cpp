// What is known of a training once its rows are prepared. One way alone is measured: the time is over then.
#include "advise/measured_steps.h"

#include <gtest/gtest.h>

#include "advise/own_cache.h"
#include "base/files.h"

namespace stoker::advise {
namespace {

class MeasuredStepsOfADocument : public testing::Test {
 protected:
  Work work_with(const std::string& model, const std::string& training,
                 std::map<std::string, std::int64_t> chosen = {}) const {
    write_file(folder_.path() / "pipeline.yaml", R"(
version: 1
cards:
  load: { type: data_load, config: { source: sample, sample_name: blobs, sample_rows: 200 } }
  model: { type: model_define_gpu, config: { epochs: 2, )" +
                                                     model + R"( } }
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: label)" + training + " }\n");
    const StepsToMeasure wanted{
        folder_.path() / "pipeline.yaml", {}, folder_.path() / "cache", "cpu", 0, std::move(chosen)};
    return measure_steps(wanted, StopSignal{}).works.at(0);
  }

 private:
  TemporaryFolder folder_;
  test::OwnCache cache_{folder_.path()};
};

TEST_F(MeasuredStepsOfADocument, SayWhichGpusHaveKernelsOfOurOwnForIt) {
  const Work perceptron = work_with("hidden_layers: [8]", "");
  EXPECT_EQ(perceptron.kernels_from, 80);
  EXPECT_FALSE(perceptron.needs_libtorch);
  EXPECT_EQ(work_with("model_type: mixture_of_experts, hidden_layers: [8]", "").kernels_from, 80);
  // Operands of that kind are for the CPU's and LibTorch's engines.
  EXPECT_EQ(work_with("hidden_layers: [8]", ", precision: tf32").kernels_from, 0);
}

TEST_F(MeasuredStepsOfADocument, TakeTheBatchThatARunHasChosen) {
  EXPECT_EQ(work_with("hidden_layers: [8], batch_size: auto", "", {{"train", 64}}).batch_size, 64);
  EXPECT_EQ(work_with("hidden_layers: [8], batch_size: 16", "", {{"train", 64}}).batch_size, 16);
}

}  // namespace
}  // namespace stoker::advise
