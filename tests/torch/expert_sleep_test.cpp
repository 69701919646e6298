#include <gtest/gtest.h>

#include "torch/emulated/gpu.h"
// All that edits experts on a GPU, over memory and streams of the host's (emulated/fused/cuda).
#include "fused/cuda/experts/expert_engine.h"
#include "fused/cuda/experts/experts_on_device.cpp"
#include "fused/cuda/experts/sleep.cuh"
#include "model/experts/unit_matching.h"
#include "torch/expert_edit_case.h"

namespace stoker::fused::experts {
namespace {

struct LaunchedSleep {
  template <class Part, class Work>
  void operator()(const Part& part, const Work& work, int blocks) const {
    emulated::Cluster grid(blocks, Part::threads, Part::bytes);
    grid.run([&] { part(work, grid.memory(grid.block())); });
  }
};

}  // namespace

LaunchError launch_routes(const ExpertWork& work, int blocks, Stream) {
  route_rows(work, blocks, LaunchedSleep{});
  return nullptr;
}
LaunchError launch_sleep(const SleepWork& work, const SleepOrder& order, int blocks, Stream) {
  carry_out(work, order, blocks, LaunchedSleep{});
  return nullptr;
}

}  // namespace stoker::fused::experts

// Sleeps on a GPU, their kernels run on the CPU and held against those of the host.
namespace stoker {
namespace {

using fused::experts::make_engine;
using test::ExpertCase;

class ExpertSleep : public testing::TestWithParam<ExpertCase> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer does not know the stacks of emulated threads";
#endif
  }
};
INSTANTIATE_TEST_SUITE_P(Cases, ExpertSleep, testing::ValuesIn(test::expert_edit_cases()),
                         [](const auto& each) { return each.param.name; });

TEST_P(ExpertSleep, ChangesWhatTheHostWouldChange) {
  const EngineRequest request = test::expert_request(GetParam());
  test::expect_the_changes_of_the_host(*make_engine(request), *make_engine(request), request,
                                       GetParam().experts);
}

// A write that nobody waited for would be read too soon in one of the two orders.
TEST_P(ExpertSleep, DoesNotDependOnTheOrderOfThreads) {
  const EngineRequest request = test::expert_request(GetParam());
  const auto one = make_engine(request), other = make_engine(request);
  for (Engine* each : {one.get(), other.get()}) {
    each->run({0, std::vector<float>(3, 0.01F)});
    emulated::Cluster::runs_backwards = each == other.get();
    const auto handle = test::structure_of(*each);
    auto& state = dynamic_cast<ExpertState&>(*handle);
    state.bear(1, GetParam().experts, random_key(7, Purpose::structure, 3));
    state.align(test::pairs_among(GetParam().experts + 1));
    state.merge(1, 0.5);
    emulated::Cluster::runs_backwards = false;
  }
  EXPECT_TRUE(test::same_bits(one->state(), other->state()));
}

class ExpertSleepAlone : public ExpertSleep {};
INSTANTIATE_TEST_SUITE_P(Cases, ExpertSleepAlone, testing::Values(ExpertCase{.name = "Plain"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(ExpertSleepAlone, DecidesWhatTheHostWouldDecide) {
  const EngineRequest request = test::lively_request(GetParam());
  test::expect_the_decisions_of_the_host(*make_engine(request), request);
}

TEST_P(ExpertSleepAlone, WaitsAFewTimes) {
  const EngineRequest request = test::lively_request(GetParam());
  const auto engine = make_engine(request);
  engine->run({0, std::vector<float>(5, 0.01F)});
  nlohmann::json memory = lives_of_experts().begin(request.network);
  std::int64_t before = fused::wait_count;
  lives_of_experts().edit_in_place({request.network, 5, request.seed, request.training},
                                   *test::structure_of(*engine), memory);
  // Buffers, rows that are new, their routes, centres, rates, pairs.
  EXPECT_EQ(fused::wait_count - before, 6);
  engine->run({5, std::vector<float>(5, 0.01F)});
  before = fused::wait_count;
  const std::int64_t copies = fused::upload_count;
  lives_of_experts().edit_in_place({request.network, 10, request.seed, request.training},
                                   *test::structure_of(*engine), memory);
  EXPECT_LE(fused::wait_count - before, 5);
  EXPECT_LE(fused::upload_count - copies, 2);
}

TEST_P(ExpertSleepAlone, SeesRowsThatCameLater) {
  const EngineRequest request = test::expert_request(GetParam());
  const auto engine = make_engine(request);
  const ExpertShape shape = expert_shape(request.network).value();
  NamedArrays state = engine->state();
  ExpertsOnHost host(shape, state);
  const auto handle = test::structure_of(*engine);
  auto& found = dynamic_cast<ExpertState&>(*handle);
  const Array& all = request.training.features();
  for (const std::int64_t count : {50, 130, 203}) {
    const auto whole = std::make_shared<Array>(all);
    Dataset rows{{{"features", Role::features,
                   Array::over(DType::float32, {count, all.dimension(1)},
                               std::shared_ptr<std::byte>(whole, static_cast<std::byte*>(whole->data())))}}};
    EXPECT_EQ(found.route(rows).chosen, host.route(rows).chosen);
  }
  const Dataset others = test::rows_for_experts(GetParam(), 203, shape.inputs, 77);
  EXPECT_EQ(found.route(others).chosen, host.route(others).chosen);
}

struct MatchAlone {
  const float* likeness;
  int units;
  std::vector<std::int32_t>* found;
  static constexpr int threads = fused::experts::comparing_threads;
  static constexpr int bytes = fused::experts::slices_bytes + fused::experts::UnitMatching::bytes;

  void operator()(int, char* memory) const {
    const fused::experts::UnitMatching matching(likeness, units, units, memory,
                                                memory + fused::experts::slices_bytes);
    matching.run();
    for (int i = static_cast<int>(threadIdx.x); i < units; i += threads)
      (*found)[static_cast<std::size_t>(i)] = matching.of_one[i];
  }
};

TEST_P(ExpertSleepAlone, PairsUnitsAsTheHostDoes) {
  const RandomKey key = random_key(3, Purpose::sample, 1);
  std::uint32_t drawn = 0;
  for (const int units : {1, 2, 31, 70, 150})
    for (const int kinds : {1, 3, 1000, 0}) {  // of values, so that many are equal
      std::vector<float> likeness(static_cast<std::size_t>(units * units));
      for (float& each : likeness)
        each = kinds == 0 ? static_cast<float>(uniform(key, drawn++))
                          : static_cast<float>(random_bits(key, drawn++) % static_cast<unsigned>(kinds));
      likeness[likeness.size() / 2] = NAN;
      std::vector<std::int32_t> found(static_cast<std::size_t>(units));
      fused::experts::LaunchedSleep{}(MatchAlone{likeness.data(), units, &found}, 0, 1);
      EXPECT_EQ(found, matched_units(likeness, units)) << units << " " << kinds;
    }
}

}  // namespace
}  // namespace stoker
