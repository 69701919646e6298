#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/shard_turns.h"
#include "torch/training_case.h"

// Training rows that pass through a few slots of the device's memory: what comes out is, bit for bit, what
// the same order gives where all rows are there. On the CPU the slots are copies in ordinary memory.
namespace stoker {
namespace {

using test::make_engine;
using test::run_epochs;
using test::same_bits;
using testing::HasSubstr;

struct WindowWay {
  const char* name;
  const char* engine;
  bool on_gpu;
  Memory memory;  // that the window copies from
};

// 203 rows in shards of `size`; batches of 16, the last of 11.
EngineRequest sharded_request(std::int64_t size) {
  EngineRequest request = test::small_request();
  request.order.rows_per_shard = size;
  return request;
}

class WindowBehaviour : public testing::TestWithParam<WindowWay> {
 protected:
  void SetUp() override {
    if (GetParam().on_gpu && !test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
  std::unique_ptr<Engine> with_all_rows(const EngineRequest& request) const {
    return make_engine(GetParam().engine, GetParam().on_gpu
                                              ? test::placed_on(request, *test::first_gpu(), Memory::device)
                                              : request);
  }
  std::unique_ptr<Engine> with_window(EngineRequest request, std::int64_t slots) const {
    request.window_slots = slots;
    if (GetParam().on_gpu) {
      const EngineRequest there = test::placed_on(request, *test::first_gpu(), Memory::device);
      const EngineRequest here = test::placed_on(request, *test::first_gpu(), GetParam().memory);
      request = there;
      request.training = here.training;
    }
    return make_engine(GetParam().engine, request);
  }
};

TEST_P(WindowBehaviour, GivesWhatTheSameOrderGivesWithAllRows) {
  for (const std::int64_t size : {16, 17, 50, 100, 202, 203, 300}) {
    for (const std::int64_t slots : {2, 3, 5}) {
      const EngineRequest request = sharded_request(size);
      const auto all = with_all_rows(request);
      const auto window = with_window(request, slots);
      run_epochs(*all, request, 6, 1000);
      run_epochs(*window, request, 6, 1000);
      EXPECT_TRUE(same_bits(window->state(), all->state())) << size << " rows in " << slots << " slots";
    }
  }
}

TEST_P(WindowBehaviour, ChunkBoundariesDoNotMatter) {
  const EngineRequest request = sharded_request(30);
  const auto all = with_all_rows(request);
  run_epochs(*all, request, 5, 1000);
  for (const std::int64_t chunk : {1, 3, 13, 20}) {
    const auto window = with_window(request, 2);
    run_epochs(*window, request, 5, chunk);
    EXPECT_TRUE(same_bits(window->state(), all->state())) << chunk;
  }
}

TEST_P(WindowBehaviour, GoesOnExactlyFromASavedStateWhereverItsWindowWas) {
  const EngineRequest request = sharded_request(30);
  const auto all = with_all_rows(request);
  run_epochs(*all, request, 4, 7);
  for (const std::int64_t stop : {1, 13, 17, 39}) {
    const auto first = with_window(request, 3);
    first->run({0, std::vector<float>(static_cast<std::size_t>(stop), 0.01F)});
    const NamedArrays state = first->state();
    const auto second = with_window(request, 2);
    second->restore(state);
    run_epochs(*second, request, 4, 7, stop);
    EXPECT_TRUE(same_bits(second->state(), all->state())) << "stopped after step " << stop;
    // The same engine, brought back from far ahead.
    run_epochs(*first, request, 4, 7, stop);
    first->restore(state);
    run_epochs(*first, request, 4, 7, stop);
    EXPECT_TRUE(same_bits(first->state(), all->state())) << "brought back to step " << stop;
  }
}

TEST_P(WindowBehaviour, TakesBatchesInParts) {
  EngineRequest request = sharded_request(40);
  request.accumulation_steps = 3;
  const auto all = with_all_rows(request);
  const auto window = with_window(request, 2);
  run_epochs(*all, request, 4, 100);
  run_epochs(*window, request, 4, 100);
  EXPECT_TRUE(same_bits(window->state(), all->state()));
}

INSTANTIATE_TEST_SUITE_P(Ways, WindowBehaviour,
                         testing::Values(WindowWay{"EagerOnTheCpu", "eager", false, Memory::host},
                                         WindowWay{"EagerOnTheGpu", "eager", true, Memory::pinned},
                                         WindowWay{"Graph", "graph", true, Memory::pinned},
                                         WindowWay{"GraphFromOrdinaryMemory", "graph", true, Memory::host}),
                         [](const testing::TestParamInfo<WindowWay>& way) {
                           return std::string(way.param.name);
                         });

std::string refusal_of_window(const EngineRequest& request) {
  try {
    make_engine("eager", request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Window, IsRefusedWhereItCannotWork) {
  EngineRequest request = sharded_request(15);
  request.window_slots = 3;
  EXPECT_THAT(refusal_of_window(request), HasSubstr("a batch of 16 rows is larger than a shard of 15"));
  request = sharded_request(0);
  request.window_slots = 3;
  EXPECT_THAT(refusal_of_window(request), HasSubstr("a window of 3 shards of 0 rows"));
  request = sharded_request(20);
  request.window_slots = 1;
  EXPECT_THAT(refusal_of_window(request), HasSubstr("a window of 1 shards"));
}

TEST(ShardTurns, SayWhichShardsAStepReads) {
  const ShardTurns turns(sharded_request(50));  // five of them, the last of 3 rows; 13 steps
  EXPECT_EQ(turns.shards(), 5);
  EXPECT_EQ(turns.of_step(0), (Turns{0, 0}));
  EXPECT_EQ(turns.of_step(3), (Turns{0, 1}));  // rows 48 to 63
  EXPECT_EQ(turns.of_step(4), (Turns{1, 1}));
  EXPECT_EQ(turns.of_step(12), (Turns{3, 4}));  // rows 192 to 202
  EXPECT_EQ(turns.of_step(13), (Turns{5, 5}));
  EXPECT_EQ(turns.steps_alike(0, 100), 3);
  EXPECT_EQ(turns.steps_alike(0, 2), 2);
  EXPECT_EQ(turns.steps_alike(3, 100), 1);
  EXPECT_EQ(turns.shard_at(4), 4) << "the smaller one comes last";
  EXPECT_EQ(turns.rows_of(4), 3);
  EXPECT_EQ(turns.first_row(4), 200);
}

}  // namespace
}  // namespace stoker
