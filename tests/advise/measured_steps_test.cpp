// What is known of a training once its rows are prepared. One way alone is measured: the time is over then.
#include "advise/measured_steps.h"

#include <gtest/gtest.h>

#include "advise/own_cache.h"
#include "base/files/files.h"

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
    return measured(std::move(chosen));
  }

  Work work_of_cubes(const std::string& graph) const {
    write_file(folder_.path() / "pipeline.yaml", R"(
version: 1
cards:
  load: { type: data_load, config: { source: sample, sample_name: spectral_stress, sample_rows: 3 } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      batch_size: 2
)" + graph.substr(1) + R"(
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: mask }
)");
    return measured({});
  }

 private:
  Work measured(std::map<std::string, std::int64_t> chosen) const {
    const StepsToMeasure wanted{
        folder_.path() / "pipeline.yaml", {}, folder_.path() / "cache", "cpu", 0, std::move(chosen)};
    return measure_steps(wanted, StopSignal{}).works.at(0);
  }

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

// What nodes write of a cube, whatever the batch; components and weights are there once.
TEST_F(MeasuredStepsOfADocument, CountWhatNodesWriteWhereAGpuHasNoKernels) {
  const std::string chain = R"(
      nodes:
      - { name: data, type: CubeDataNode }
      - { name: scale, type: MinMaxNormalizer }
      - { name: pca, type: TrainablePCA, settings: { n_components: 3 } }
      - { name: rx, type: RXGlobal }
      - { name: logit, type: ScoreToLogit }
      - { name: bce, type: AnomalyBCEWithLogits }
      connections:
      - { source: data.cube, target: scale.data }
      - { source: scale.normalized, target: pca.data }
      - { source: pca.projected, target: rx.data }
      - { source: rx.scores, target: logit.scores }
      - { source: logit.logits, target: bce.predictions }
      - { source: data.mask, target: bce.targets }
      unfrozen: )";
  EXPECT_EQ(work_of_cubes(chain + "[pca, logit]").kernels_from, 75);
  EXPECT_EQ(work_of_cubes(chain + "[pca, logit]").nodes, 0);
  // By the settings of the graph, and by those of its training.
  for (const std::string& each :
       {chain + "[pca, rx, logit]", chain + "[pca, logit]\n      optimizer: lion"}) {
    const Work work = work_of_cubes(each);
    EXPECT_EQ(work.kernels_from, 0);
    EXPECT_EQ(work.nodes, 6);
    // 50 channels, 3 components, a score and a logit of each pixel, 4 bytes each.
    EXPECT_EQ(work.written_bytes, 128U * 128 * 4 * (50 + 3 + 1 + 1));
  }
}

TEST_F(MeasuredStepsOfADocument, TakeTheBatchThatARunHasChosen) {
  EXPECT_EQ(work_with("hidden_layers: [8], batch_size: auto", "", {{"train", 64}}).batch_size, 64);
  EXPECT_EQ(work_with("hidden_layers: [8], batch_size: 16", "", {{"train", 64}}).batch_size, 16);
}

}  // namespace
}  // namespace stoker::advise
