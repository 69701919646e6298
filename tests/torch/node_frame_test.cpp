#include <cmath>

#include <gtest/gtest.h>

// The kernel is run block by block in place of a launch.
#define quadratic_loss_cuda quadratic_loss_here

#include "torch/emulated/gpu.h"

#define __host__
using std::isfinite;
using std::isnan;
#include "kernels/quadratic_kernel.cuh"
// All of the engine, over memory and streams of the host's (emulated/fused/cuda).
#include "fused/cuda/nodes/node_engine.cpp"
#include "train/fit/fit_network.h"
#include "train/graphs_of_cubes.h"

namespace stoker::kernels {

LaunchError quadratic_loss_here(const QuadraticScores& work, const QuadraticCubes& cubes, double* parts,
                                double* found, Stream) {
  using namespace quadratic_on_gpu;
  const QuadraticLayout layout = quadratic_layout_for(work.columns, work.outputs);
  const int blocks = static_cast<int>((cubes.pixels_of_cube + pixels_of_block - 1) / pixels_of_block);
  for (int cube = 0; cube < cubes.count; ++cube)
    for (int block = 0; block < blocks; ++block) {
      emulated::Cluster cluster(1, threads, static_cast<std::size_t>(quadratic_shared_bytes(layout)));
      cluster.run([&] {
        quadratic_of_block(cube, block, cluster.thread(), work, cubes, parts,
                           reinterpret_cast<float*>(cluster.memory(0)));
      });
    }
  for (int number = 0; number < layout.numbers(); ++number)
    sum_blocks(number, layout.numbers(), parts, static_cast<int>(cubes.count) * blocks, found);
  return nullptr;
}

}  // namespace stoker::kernels

// The engine of graphs of nodes on a GPU, run on the CPU and held against the engine there.
namespace stoker::test {
namespace {

EngineRequest request_of_graph(const Table& table, const std::string& graph) {
  ModelSpec spec = spec_of_graph(graph);
  spec.training.batch_size = 3;
  spec.training.validation_ratio = 0.25;
  const FitRequest wanted = request_for_cubes(table, spec);
  static std::vector<PreparedData> kept;  // the request looks at its arrays
  std::vector<std::int64_t> training, validation;
  for (std::int64_t row = 0; row < table.rows(); ++row) (row < 6 ? training : validation).push_back(row);
  const Table held_back = take_rows(table, validation);
  kept.push_back(prepare(take_rows(table, training), &held_back, wanted.preparation,
                         form_of(family_of(spec), spec.settings), no_notes()));
  return engine_request(spec, kept.back(), Device::cpu(), wanted.config);
}

class NodeFrame : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  }
};

Chunk six_steps() {
  return {0, {0.01F, 0.02F, 0.01F, 0.01F, 0.02F, 0.01F}};
}

TEST_F(NodeFrame, ReportsWhatTheEngineOnTheCpuDoes) {
  const Table table = some_cubes(8);
  const EngineRequest request =
      request_of_graph(table, replaced(detector, "type: CubeDataNode }",
                                       "type: CubeDataNode, settings: { normal_class_ids: [0, 9] } }"));
  ASSERT_EQ(fused::cubes::refusal(request), "");
  const auto engine = fused::cubes::make_engine(request);
  fused_cpu::NodeEngine plain(request);
  const ChunkResult result = engine->run(six_steps()), expected = plain.run(six_steps());
  ASSERT_EQ(result.finished_epochs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const EpochRecord &one = result.finished_epochs[i], &other = expected.finished_epochs[i];
    EXPECT_NEAR(one.train_loss, other.train_loss, 1e-5 * other.train_loss);
    EXPECT_NEAR(one.validation_loss.value(), other.validation_loss.value(), 1e-5);
    ASSERT_EQ(one.values.size(), other.values.size());
    for (std::size_t v = 0; v < one.values.size(); ++v)
      EXPECT_NEAR(one.values[v].value, other.values[v].value, 1e-5) << one.values[v].name;
  }
  for (const NamedArray& each : plain.parameters()) {
    const Array found = find_array(engine->parameters(), each.name);
    for (std::size_t i = 0; i < each.array.as<float>().size(); ++i)
      EXPECT_NEAR(found.as<float>()[i], each.array.as<float>()[i],
                  1e-4 * (1 + std::abs(each.array.as<float>()[i])))
          << each.name << ' ' << i;
  }
}

TEST_F(NodeFrame, GoesOnFromItsStateAndFromThatOfTheCpu) {
  const Table table = some_cubes(8);
  const EngineRequest request = request_of_graph(table, detector);
  const auto whole = fused::cubes::make_engine(request);
  whole->run(six_steps());
  const Chunk chunk = six_steps();
  const auto first = fused::cubes::make_engine(request);
  first->run({0, {chunk.learning_rates.begin(), chunk.learning_rates.begin() + 3}});
  const auto second = fused::cubes::make_engine(request);
  second->restore(first->state());
  second->run({3, {chunk.learning_rates.begin() + 3, chunk.learning_rates.end()}});
  expect_equal(second->state(), whole->state());
  fused_cpu::NodeEngine plain(request);
  plain.restore(first->state());
  EXPECT_NO_THROW(plain.run({3, {chunk.learning_rates.begin() + 3, chunk.learning_rates.end()}}));
}

// Where they lie plays no part in what is learnt.
TEST_F(NodeFrame, LearnsTheSameFromCubesThatAreBroughtBatchByBatch) {
  const Table table = some_cubes(8);
  EngineRequest request = request_of_graph(table, detector);
  const auto whole = fused::cubes::make_engine(request);
  whole->run(six_steps());
  request.brings_batches = true;
  const auto brought = fused::cubes::make_engine(request);
  const std::int64_t before = fused::upload_count;
  brought->run(six_steps());
  EXPECT_GE(fused::upload_count - before, 2 * 3 * (6 + 2)) << "cubes and masks of three epochs";
  expect_equal(brought->state(), whole->state());
}

TEST_F(NodeFrame, RefusesCubesInOrdinaryMemoryUnlessTheyAreOrWillBeBrought) {
  const Table table = some_cubes(8);
  EngineRequest request = request_of_graph(table, detector);
  request.device = Device::cuda(0);
  EXPECT_THAT(fused::cubes::refusal(request), testing::HasSubstr("ordinary memory"));
  request.is_placed = false;
  EXPECT_EQ(fused::cubes::refusal(request), "");
  request.is_placed = true;
  request.brings_batches = true;
  EXPECT_EQ(fused::cubes::refusal(request), "");
}

TEST_F(NodeFrame, RefusesWhatIsNoChain) {
  const Table table = some_cubes(8);
  EXPECT_THAT(
      fused::cubes::refusal(request_of_graph(table, replaced(detector, "[pca, logit]", "[pca, rx, logit]"))),
      testing::HasSubstr("the kernels for GPUs are for chains of affine nodes"));
  EXPECT_THAT(
      fused::cubes::refusal(request_of_graph(table, std::string(detector) + "bad_pixels: leave_out\n")),
      testing::HasSubstr("only on a CPU"));
}

}  // namespace
}  // namespace stoker::test
