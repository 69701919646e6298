#include "data/placement/plan_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"

// A GPU of 10 GB of which 1 GB is taken: with the usual nine tenths, 8 GB may be used.
namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t giga = 1'000'000'000;

PlacementFacts facts_of(std::uint64_t training_bytes) {
  PlacementFacts facts;
  facts.training_rows = 1'000'000;
  facts.training_bytes = training_bytes;
  facts.validation_rows = 100'000;
  facts.validation_bytes = training_bytes / 10;
  facts.device = Device::cuda(0);
  facts.total_bytes = 10 * giga;
  facts.free_bytes = 9 * giga;
  facts.batch_rows = 256;
  return facts;
}

PlacementConfig wanting(PlacementChoice choice) {
  PlacementConfig config;
  config.placement = choice;
  return config;
}

std::string refusal_of(const PlacementConfig& config, const PlacementFacts& facts) {
  return refusal([&] { plan_placement(config, facts); });
}

TEST(PlanPlacement, TakesVramWhereAllRowsFit) {
  PlacementFacts facts = facts_of(7 * giga);
  PlacementPlan plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::vram);
  EXPECT_EQ(plan.training, Memory::device);
  EXPECT_EQ(plan.validation, Memory::device);
  EXPECT_EQ(plan.rows_per_shard, 0);
  EXPECT_EQ(plan.slots, 0);
  EXPECT_EQ(plan.fallback, "");
  facts.validation_bytes = 2 * giga;
  plan = plan_placement({}, facts);
  EXPECT_EQ(plan.training, Memory::device) << "validation rows are read less often";
  EXPECT_EQ(plan.validation, Memory::pinned);
}

TEST(PlanPlacement, GoesOneLevelDownFromWhatCouldNotBeHad) {
  PlacementFacts facts = facts_of(24 * giga);
  const PlacementPlan window = plan_placement({}, facts);
  const PlacementPlan ordinary = plan_below({}, facts, window, "24 GB could not be pinned");
  EXPECT_EQ(ordinary.placement, PlacementChoice::window);
  EXPECT_EQ(ordinary.training, Memory::host);
  EXPECT_THAT(ordinary.fallback,
              AllOf(HasSubstr("the training rows take"), HasSubstr("could not be pinned")));
  facts.window_has_failed = true;
  const PlacementPlan pinned = plan_below({}, facts, window, "out of memory");
  EXPECT_EQ(pinned.placement, PlacementChoice::pinned);
  EXPECT_EQ(pinned.slots, 0);
  EXPECT_EQ(pinned.rows_per_shard, 0);
  EXPECT_THAT(text_of(pinned, facts), HasSubstr("pinned in the host's memory"));
  EXPECT_THAT(pinned.fallback, HasSubstr("its shards could not be had of the memory of cuda:0"));
  std::string message;
  try {
    plan_below({}, facts, pinned, "24 GB could not be pinned");
  } catch (const OutOfMemory& error) {
    message = error.what();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("24 GB could not be pinned"), HasSubstr("fit nowhere"),
                             HasSubstr("gpu_memory_fraction")));
}

TEST(PlanPlacement, RefusesAWindowByNameWhoseShardsCouldNotBeHad) {
  PlacementFacts facts = facts_of(24 * giga);
  const PlacementConfig config = wanting(PlacementChoice::window);
  const PlacementPlan window = plan_placement(config, facts);
  facts.window_has_failed = true;
  EXPECT_THAT(refusal([&] { plan_below(config, facts, window, "out of memory"); }),
              HasSubstr("placement window: its shards could not be had"));
}

TEST(PlanPlacement, ReadsRowsThatLieInAFileThroughAWindow) {
  PlacementFacts facts = facts_of(24 * giga);
  facts.rows_lie_in_file = true;
  facts.host_bytes = giga;
  PlacementPlan plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::window);
  EXPECT_EQ(plan.training, Memory::host) << "what does not fit into memory cannot be pinned";
  EXPECT_THAT(text_of(plan, facts), HasSubstr("pass through VRAM from a mapped file"));
  facts.device = Device::cpu();
  plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::window);
  EXPECT_EQ(plan.slots, 0);
  EXPECT_EQ(plan.rows_per_shard, 41'666) << "1 GB of rows of 24 kB";
  facts.host_bytes = 10 * giga;
  EXPECT_EQ(plan_placement({}, facts).rows_per_shard, 125'000) << "no more than an eighth";
  facts.no_window = "there is none";
  plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::host);
  EXPECT_THAT(plan.fallback, HasSubstr("no window: there is none"));
}

TEST(PlanPlacement, GoesDownToAWindowAndThenToPinnedMemory) {
  PlacementFacts facts = facts_of(24 * giga);
  PlacementPlan plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::window);
  EXPECT_EQ(plan.training, Memory::pinned);
  EXPECT_EQ(plan.validation, Memory::device);
  EXPECT_EQ(plan.slots, 3);
  // Half of what the validation rows leave of 8 GB, in three parts of 24,000 bytes a row.
  EXPECT_NEAR(static_cast<double>(plan.rows_per_shard), 5.6e9 / 2 / 3 / 24'000, 2);
  EXPECT_THAT(plan.fallback,
              AllOf(HasSubstr("take 22.4 GiB"), HasSubstr("7.5 GiB of cuda:0 may be used"),
                    HasSubstr("gpu_memory_fraction 0.9 of 9.3 GiB, of which 953.7 MiB are taken")));
  facts.no_window = "the engine takes none";
  plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::pinned);
  EXPECT_EQ(plan.training, Memory::pinned);
  EXPECT_EQ(plan.rows_per_shard, 0);
  EXPECT_THAT(plan.fallback, HasSubstr("no window: the engine takes none"));
}

TEST(PlanPlacement, GoesDownWhereMemoryWasLessThanItLooked) {
  PlacementFacts facts = facts_of(7 * giga);
  facts.vram_has_failed = true;
  EXPECT_EQ(plan_placement({}, facts).placement, PlacementChoice::window);
  EXPECT_THAT(refusal_of(wanting(PlacementChoice::vram), facts), HasSubstr("could not be had"));
}

TEST(PlanPlacement, KeepsToTheShareThatItMayUse) {
  PlacementConfig config;
  config.gpu_memory_fraction = 0.5;
  EXPECT_EQ(plan_placement(config, facts_of(3 * giga)).placement, PlacementChoice::vram);
  EXPECT_EQ(plan_placement(config, facts_of(5 * giga)).placement, PlacementChoice::window);
  config.gpu_memory_fraction = 0.05;  // less than is taken already
  EXPECT_EQ(plan_placement(config, facts_of(3 * giga)).placement, PlacementChoice::pinned);
}

TEST(PlanPlacement, RefusesByTheNumbersWhatWasAskedForByName) {
  EXPECT_THAT(refusal_of(wanting(PlacementChoice::vram), facts_of(24 * giga)),
              AllOf(HasSubstr("placement vram: the training rows take 22.4 GiB"), HasSubstr("7.5 GiB")));
  PlacementFacts facts = facts_of(24 * giga);
  facts.no_window = "rows overlap";
  for (const PlacementChoice choice : {PlacementChoice::window, PlacementChoice::host})
    EXPECT_THAT(refusal_of(wanting(choice), facts), HasSubstr("rows overlap"));
  facts.no_window = "";
  facts.batch_rows = 900'000;
  EXPECT_THAT(refusal_of(wanting(PlacementChoice::window), facts), HasSubstr("2 shards of 900,000 samples"));
}

TEST(PlanPlacement, CutsAnEighthWhereMemoryIsNotTheBound) {
  PlacementFacts facts = facts_of(giga / 1000);
  PlacementPlan plan = plan_placement(wanting(PlacementChoice::window), facts);
  EXPECT_EQ(plan.rows_per_shard, 125'000);
  EXPECT_EQ(plan.slots, 3);
  facts.batch_rows = 300'000;
  EXPECT_EQ(plan_placement(wanting(PlacementChoice::window), facts).rows_per_shard, 300'000);
  facts.batch_rows = 2'000'000;
  EXPECT_EQ(plan_placement(wanting(PlacementChoice::window), facts).rows_per_shard, 1'000'000);
  EXPECT_EQ(plan_placement(wanting(PlacementChoice::host), facts_of(giga)).training, Memory::host);
}

TEST(PlanPlacement, DoesNotPreloadWhereThatIsTurnedOff) {
  PlacementConfig config;
  config.preload_to_gpu = false;
  EXPECT_EQ(plan_placement(config, facts_of(giga)).placement, PlacementChoice::window);
  EXPECT_EQ(plan_placement(config, facts_of(giga)).fallback, "");
  PlacementFacts facts = facts_of(giga);
  facts.no_window = "no engine";
  EXPECT_EQ(plan_placement(config, facts).placement, PlacementChoice::pinned);
  config.preload_to_gpu = true;
  EXPECT_EQ(plan_placement(config, facts).placement, PlacementChoice::vram);
}

TEST(PlanPlacement, FindsSettingsThatContradictEachOther) {
  for (const PlacementChoice choice :
       {PlacementChoice::pinned, PlacementChoice::window, PlacementChoice::host}) {
    PlacementConfig config = wanting(choice);
    EXPECT_EQ(problem_of(config), "");
    config.preload_to_gpu = false;
    EXPECT_EQ(problem_of(config), "");
    config.preload_to_gpu = true;
    EXPECT_THAT(problem_of(config), HasSubstr("preload_to_gpu is true, but placement"));
  }
  PlacementConfig config = wanting(PlacementChoice::vram);
  config.preload_to_gpu = false;
  EXPECT_THAT(problem_of(config), HasSubstr("preload_to_gpu is false, but placement vram"));
  EXPECT_THAT(refusal_of(config, facts_of(giga)), HasSubstr("leave one of them out"));
}

TEST(PlanPlacement, GoesOnInTheOrderThatATrainingBeganWith) {
  PlacementFacts facts = facts_of(giga);
  facts.rows_per_shard = 1000;
  PlacementPlan plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::vram) << "another GPU may have room for all";
  EXPECT_EQ(plan.rows_per_shard, 1000);
  EXPECT_EQ(plan.slots, 0);
  facts = facts_of(24 * giga);
  facts.rows_per_shard = 1000;
  EXPECT_EQ(plan_placement({}, facts).rows_per_shard, 1000);
  facts.rows_per_shard = 160'000;  // 3.8 GB: two, but not three of them
  facts.validation_bytes = 0;
  EXPECT_EQ(plan_placement({}, facts).slots, 2);
  facts.rows_per_shard = 500'000;  // not even two
  plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::pinned);
  EXPECT_EQ(plan.rows_per_shard, 500'000);
  facts.rows_per_shard = 0;
  EXPECT_EQ(plan_placement({}, facts).placement, PlacementChoice::pinned);
  EXPECT_THAT(refusal_of(wanting(PlacementChoice::window), facts), HasSubstr("all together"));
}

TEST(PlanPlacement, ChangesNothingButTheOrderOnACpu) {
  PlacementFacts facts = facts_of(giga);
  facts.device = Device::cpu();
  PlacementPlan plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::host);
  EXPECT_EQ(plan.training, Memory::host);
  EXPECT_EQ(plan.rows_per_shard, 0);
  plan = plan_placement(wanting(PlacementChoice::window), facts);
  EXPECT_EQ(plan.placement, PlacementChoice::window);
  EXPECT_EQ(plan.training, Memory::host);
  EXPECT_EQ(plan.rows_per_shard, 125'000);
  EXPECT_EQ(plan.slots, 0);
  for (const PlacementChoice choice : {PlacementChoice::vram, PlacementChoice::pinned})
    EXPECT_THAT(refusal_of(wanting(choice), facts), HasSubstr("needs an NVIDIA GPU"));
}

// As cubes: nothing is cut into shards, and nothing is copied beforehand. All of them lie in one array, of
// which rows to train on and to validate with have some each.
TEST(PlanPlacement, BringsLargeRowsBatchByBatch) {
  PlacementFacts facts = facts_of(24 * giga);
  facts.training_rows = 1'000;
  facts.validation_rows = 10;
  facts.validation_bytes = 0;
  facts.batch_rows = 16;
  facts.by_batches = true;
  facts.row_bytes = giga / 50;
  facts.rows_per_shard = 0;  // which those of a training that goes on need not be either
  const PlacementPlan plan = plan_placement({}, facts);
  EXPECT_EQ(plan.placement, PlacementChoice::window);
  EXPECT_EQ(plan.training, Memory::host);
  EXPECT_EQ(plan.validation, Memory::host);
  EXPECT_TRUE(plan.by_batches);
  EXPECT_EQ(plan.slots + plan.rows_per_shard, 0);
  EXPECT_EQ(
      text_of(plan, facts),
      "1,000 training samples (22.4 GiB) pass through VRAM from ordinary memory, a batch of 16 at a time, "
      "10 validation samples in the host's memory: 495.9 MiB of 9.3 GiB");
  facts.batch_rows = 500;
  EXPECT_EQ(plan_placement({}, facts).placement, PlacementChoice::pinned);
  EXPECT_THAT(refusal_of(wanting(PlacementChoice::window), facts),
              AllOf(HasSubstr("a batch of 500 samples takes 9.5 GiB"), HasSubstr("may be used")));
  facts = facts_of(giga);
  facts.by_batches = true;
  EXPECT_EQ(plan_placement({}, facts).placement, PlacementChoice::vram);
}

TEST(PlanPlacement, IsToldInOneLine) {
  PlacementFacts facts = facts_of(1'000'000);
  facts.training_rows = 3224;
  facts.validation_rows = 806;
  EXPECT_EQ(text_of(plan_placement({}, facts), facts),
            "3,224 training and 806 validation samples in VRAM: 1.0 MiB of 9.3 GiB");
  facts.validation_rows = facts.validation_bytes = 0;
  EXPECT_EQ(text_of(plan_placement({}, facts), facts),
            "3,224 training samples in VRAM: 976.6 KiB of 9.3 GiB");
  facts = facts_of(24 * giga);
  EXPECT_EQ(
      text_of(plan_placement({}, facts), facts),
      "1,000,000 training samples (22.4 GiB) pass through VRAM from pinned memory, 3 shards of 38,888 at a "
      "time, 100,000 validation samples in VRAM: 4.8 GiB of 9.3 GiB");
  EXPECT_EQ(
      text_of(plan_placement(wanting(PlacementChoice::pinned), facts), facts),
      "1,000,000 training samples (22.4 GiB) pinned in the host's memory, 100,000 validation samples in "
      "VRAM: 2.2 GiB of 9.3 GiB");
  facts.device = Device::cpu();
  EXPECT_EQ(
      text_of(plan_placement(wanting(PlacementChoice::window), facts), facts),
      "1,000,000 training samples (22.4 GiB) in the host's memory, in shards of 125,000, 100,000 validation "
      "samples in the host's memory");
}

}  // namespace
}  // namespace stoker
