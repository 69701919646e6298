#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cpu/sets/set_engine.h"
#include "fused/set_case.h"

// Trainings on sets: what they learn is held to their module in tests/torch/sets_test.cpp.
namespace stoker {
namespace {

using fused_cpu::SetEngine;
using test::SetCase;

SetCase large_case() {
  SetCase c;
  c.members = 10;
  c.columns = 6;
  c.settings = {10, 64, 32, 4, 64, 0.2};
  c.rows = 203;
  c.batch = 90;
  c.validation_rows = 51;
  return c;
}

ChunkResult run_steps(Engine& engine, std::int64_t first, std::int64_t count) {
  return engine.run({first, std::vector<float>(static_cast<std::size_t>(count), 0.01F)});
}

bool same_state(const NamedArrays& one, const NamedArrays& other) {
  return std::ranges::equal(one, other, [](const NamedArray& a, const NamedArray& b) {
    return a.name == b.name && a.array.shape() == b.array.shape() &&
           std::memcmp(a.array.data(), b.array.data(), a.array.bytes()) == 0;
  });
}

TEST(Sets, HaveTheSameBitsWithAnyNumberOfThreads) {
  const EngineRequest request = request_for(large_case());
  SetEngine one(request, fused_cpu::best_kernels(), 1);
  run_steps(one, 0, 12);
  for (const int threads : {2, 3}) {
    SetEngine many(request, fused_cpu::best_kernels(), threads);
    run_steps(many, 0, 12);
    EXPECT_TRUE(same_state(one.state(), many.state())) << threads;
  }
}

TEST(Sets, TrainTheSameWithEveryInstructionSetOfThisMachine) {
  const EngineRequest request = request_for(large_case());
  SetEngine best(request);
  SetEngine baseline(request, fused_cpu::kernels_baseline());
  const ChunkResult one = run_steps(best, 0, 15);
  const ChunkResult other = run_steps(baseline, 0, 15);
  EXPECT_NEAR(one.finished_epochs[4].train_loss, other.finished_epochs[4].train_loss, 1e-4);
}

TEST(Sets, GoOnExactlyFromAnyStep) {
  for (const double limit : {0.0, 0.2}) {
    SetCase c = large_case();
    c.max_grad_norm = limit;
    const EngineRequest request = request_for(c);
    SetEngine whole(request);
    run_steps(whole, 0, 11);
    for (const std::int64_t stop : {1, 3, 7}) {
      SetEngine first(request);
      run_steps(first, 0, stop);
      SetEngine second(request);
      second.restore(first.state());
      run_steps(second, stop, 11 - stop);
      EXPECT_TRUE(same_state(whole.state(), second.state())) << stop;
    }
  }
}

TEST(Sets, KeepTheBestWeightsAndStop) {
  SetCase c = large_case();
  EngineRequest request = request_for(c);
  request.patience = 2;
  SetEngine engine(request);
  const ChunkResult result = engine.run({0, std::vector<float>(900, 0.05F)});
  ASSERT_TRUE(result.stopped_early);
  const auto best = std::ranges::min_element(
      result.finished_epochs, {}, [](const EpochRecord& each) { return each.validation_loss.value(); });
  EXPECT_TRUE(best->is_best);
  EXPECT_EQ(best->epoch + 2, result.finished_epochs.back().epoch);
  EXPECT_FALSE(same_state(engine.best_parameters(), engine.parameters()));
}

TEST(Sets, AreRefusedWhereTheyCannotBeTrained) {
  const auto refusal_of = [](const auto& change) {
    EngineRequest request = request_for(SetCase{});
    change(request);
    return fused_cpu::refusal(request);
  };
  EXPECT_EQ(refusal_of([](EngineRequest&) {}), "");
  EXPECT_EQ(refusal_of([](EngineRequest& r) { r.optimizer.kind = Optimizer::lion; }),
            "it does not have the optimizer lion");
  EXPECT_EQ(refusal_of([](EngineRequest& r) { r.precision = Precision::bf16; }),
            "it computes in fp32, not in bf16");
  SetCase many;
  many.members = 129;
  EXPECT_EQ(fused_cpu::refusal(request_for(many)), "it trains sets of up to 128 members, not 129");
}

TEST(Sets, RefuseAMaskOfOtherNumbers) {
  EngineRequest request = request_for(SetCase{});
  Array mask = request.training.arrays[1].array.clone();
  mask.as<float>()[4] = 0.5F;
  request.training.arrays[1].array = mask;
  try {
    fused_cpu::maker().make(request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the mask says of each receiver whether it is present, with 1 or 0, and has a 0.5");
  }
}

TEST(Sets, RefuseAStateOfAnotherNetwork) {
  SetCase other;
  other.settings.head_width = 11;
  const SetEngine from(request_for(other));
  SetEngine to(request_for(SetCase{}));
  EXPECT_THROW(to.restore(from.state()), Error);
}

}  // namespace
}  // namespace stoker
