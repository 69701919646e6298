#include <cmath>

#include <gtest/gtest.h>

// The kernels that begin and end a step are others' and have plain twins, which run here in their place.
#define begin_step_cuda begin_step_here
#define gather_rows_cuda gather_rows_here
#define end_epoch_cuda end_epoch_here

#include "torch/emulated/expert_launch.h"
// All of the engine, over memory, streams and recordings of the host's (emulated/fused/cuda).
#include "fused/cpu/experts/expert_engine.h"
#include "fused/cuda/experts/expert_engine.cpp"
#include "torch/expert_case.h"
#include "torch/training_case.h"

namespace stoker::kernels {

LaunchError begin_step_here(const BeginStep& work, Stream, bool) {
  begin_step(work);
  return nullptr;
}
LaunchError gather_rows_here(const Gather& work, std::int64_t first, std::int64_t count, Stream) {
  gather_rows(work, first, count);
  return nullptr;
}
LaunchError end_epoch_here(const EndEpoch& work, Stream) {
  end_epoch(work);
  return nullptr;
}

}  // namespace stoker::kernels

namespace stoker::fused {

Gpu gpu_of(Device) {
  return {};
}
void check_classes(const Dataset&, std::int64_t, Device, const OwnStream&) {}

namespace experts {

LaunchError launch_step(const ExpertWork& work, int blocks, Stream) {
  with_operands(
      work, [&](auto format) { take_step<decltype(format)>(work, blocks, emulated::LaunchedExperts{work}); });
  return nullptr;
}
LaunchError launch_validation(const ExpertWork& work, int blocks, Stream) {
  with_operands(work, [&](auto format) {
    pass_forward<decltype(format)>(work, blocks, emulated::LaunchedExperts{work});
  });
  return nullptr;
}
LaunchError launch_take_values(const ExpertWork& work, Stream) {
  emulated::LaunchedExperts{work}(TakeValues{}, 1);
  return nullptr;
}
LaunchError launch_keep_best(const ExpertWork& work, int blocks, Stream) {
  emulated::LaunchedExperts{work}(KeepBest{}, blocks);
  return nullptr;
}

}  // namespace experts
}  // namespace stoker::fused

// The engine of mixtures of experts on a GPU, its frame and its kernels, run on the CPU and held against the
// engine there.
namespace stoker {
namespace {

using fused::experts::make_engine;
using test::ExpertCase;

class ExpertFrame : public testing::TestWithParam<ExpertCase> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, ExpertFrame,
                         testing::Values(ExpertCase{.name = "Plain"},
                                         ExpertCase{.name = "Momentum", .optimizer = Optimizer::sgd},
                                         ExpertCase{.name = "HalfDrawn", .exploration = 0.5},
                                         ExpertCase{.name = "All",
                                                    .max_grad_norm = 0.1,
                                                    .dropout = 0.3,
                                                    .load_balance = 0.3,
                                                    .router_z = 0.1,
                                                    .is_weighted = true}),
                         [](const auto& each) { return each.param.name; });

TEST_P(ExpertFrame, ReportsWhatTheEngineOnTheCpuDoes) {
  const EngineRequest request = test::expert_request(GetParam());
  const auto engine = make_engine(request);
  fused_cpu::ExpertEngine plain(request);
  const ChunkResult result = test::run_epochs(*engine, request, 3, 11);
  const ChunkResult expected = test::run_epochs(plain, request, 3, 11);
  ASSERT_EQ(result.finished_epochs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const EpochRecord &one = result.finished_epochs[i], &other = expected.finished_epochs[i];
    EXPECT_EQ(one.epoch, other.epoch);
    EXPECT_NEAR(one.train_loss, other.train_loss, 2e-4 * other.train_loss);
    EXPECT_NEAR(one.validation_loss.value(), other.validation_loss.value(), 1e-3);
    EXPECT_EQ(one.is_best, other.is_best);
    ASSERT_EQ(one.gradient_norm.has_value(), other.gradient_norm.has_value());
    if (one.gradient_norm) {
      EXPECT_NEAR(*one.gradient_norm, *other.gradient_norm, 1e-3 * *other.gradient_norm);
    }
    ASSERT_EQ(one.values.size(), other.values.size());
    for (std::size_t v = 0; v < one.values.size(); ++v) {
      EXPECT_EQ(one.values[v].name, other.values[v].name);
      EXPECT_NEAR(one.values[v].value, other.values[v].value, 1e-3 * std::abs(other.values[v].value) + 1e-6);
    }
  }
  EXPECT_LT(test::largest_difference(engine->parameters(), plain.parameters()), 5e-3);
  EXPECT_LT(test::largest_difference(engine->best_parameters(), plain.best_parameters()), 5e-3);
}

TEST_P(ExpertFrame, GoesOnBitForBitWhereItStopped) {
  const EngineRequest request = test::expert_request(GetParam());
  const auto whole = make_engine(request), first = make_engine(request), second = make_engine(request);
  test::run_epochs(*whole, request, 2, 100);
  first->run({0, std::vector<float>(10, 0.01F)});
  second->restore(first->state());
  test::run_epochs(*second, request, 2, 3, 10);
  EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
}

class ExpertFrameAlone : public ExpertFrame {};
INSTANTIATE_TEST_SUITE_P(Cases, ExpertFrameAlone,
                         testing::Values(ExpertCase{.name = "Plain"},
                                         ExpertCase{.name = "HalfDrawn", .exploration = 0.5}),
                         [](const auto& each) { return each.param.name; });

// The engine on the CPU gives a state with one expert more, and both go on with it; the step was recorded
// before.
TEST_P(ExpertFrameAlone, TakesAStateWithAnotherNumberOfExperts) {
  const EngineRequest request = test::expert_request(GetParam());
  const auto engine = make_engine(request);
  fused_cpu::ExpertEngine plain(request);
  const std::int64_t steps = request.steps_per_epoch();
  for (Engine* each : {engine.get(), static_cast<Engine*>(&plain)}) {
    test::run_epochs(*each, request, 1, 7);
    NamedArrays state = each->state();
    for (NamedArray& array : state) {
      const auto born = static_cast<std::size_t>(GetParam().experts);
      if (array.name == std::string("parameters.") + alive_name) array.array.as<float>()[born] = 1;
      if (array.name == "parameters.router.outer.bias") array.array.as<float>()[born] = 5;
      if (!array.name.starts_with("parameters.experts.")) continue;
      const auto values = array.array.as<float>();
      const std::size_t size = values.size() / static_cast<std::size_t>(GetParam().room);
      std::copy_n(values.begin(), size, values.begin() + static_cast<std::ptrdiff_t>(born * size));
    }
    each->restore(state);
    test::run_epochs(*each, request, 2, 7, steps);
  }
  const NamedArrays found = engine->parameters();
  EXPECT_LT(test::largest_difference(found, plain.parameters()), 5e-3);
  EXPECT_EQ(find_array(found, activations_name).as<float>()[static_cast<std::size_t>(GetParam().experts)],
            203);
}

TEST_P(ExpertFrameAlone, ValidatesMoreRowsThanItTakesAtOnce) {
  EngineRequest request = test::expert_request(GetParam());
  request.validation = test::rows_for_experts(GetParam(), 1100, GetParam().columns, 4);
  request.batch_size = 203;
  const auto engine = make_engine(request);
  fused_cpu::ExpertEngine plain(request);
  const EpochRecord found = engine->run({0, {0.01F}}).finished_epochs.at(0);
  const EpochRecord expected = plain.run({0, {0.01F}}).finished_epochs.at(0);
  EXPECT_NEAR(found.validation_loss.value(), expected.validation_loss.value(), 1e-5);
  EXPECT_NEAR(found.train_loss, expected.train_loss, 1e-5);
}

TEST_P(ExpertFrameAlone, StopsEarlyAndKeepsTheBest) {
  EngineRequest request = test::expert_request(GetParam());
  request.patience = 1;
  const auto engine = make_engine(request);
  const ChunkResult result = engine->run({0, std::vector<float>(140, 0.3F)});
  ASSERT_TRUE(result.stopped_early);
  const EpochRecord& last = result.finished_epochs.back();
  EXPECT_FALSE(last.is_best);
  EXPECT_EQ(result.finished_epochs.size(), static_cast<std::size_t>(last.epoch) + 1);
  EXPECT_FALSE(test::same_bits(engine->parameters(), engine->best_parameters()));
  const NamedArrays before = engine->state();
  EXPECT_TRUE(engine->run({140, {0.01F}}).finished_epochs.empty());
  EXPECT_TRUE(test::same_bits(engine->state(), before));
}

TEST_P(ExpertFrameAlone, WaitsOnceForAChunkAndNeverForAStep) {
  const auto engine = make_engine(test::expert_request(GetParam()));
  std::int64_t next = 0;
  for (const std::size_t steps : {1, 7, 30}) {
    const std::int64_t waits = fused::wait_count, copies = fused::upload_count;
    engine->run({next, std::vector<float>(steps, 1e-3F)});
    EXPECT_EQ(fused::wait_count - waits, 1) << steps;
    EXPECT_EQ(fused::upload_count - copies, 1) << steps;
    next += static_cast<std::int64_t>(steps);
  }
}

TEST_P(ExpertFrameAlone, RefusesTheStateOfAnotherRoom) {
  ExpertCase other = GetParam();
  other.room += 2;
  const auto engine = make_engine(test::expert_request(GetParam()));
  const NamedArrays before = engine->state();
  EXPECT_THROW(engine->restore(make_engine(test::expert_request(other))->state()), Error);
  EXPECT_TRUE(test::same_bits(engine->state(), before));
}

}  // namespace
}  // namespace stoker
