// Models side by side, on scripted engines: the same as each alone, whoever ends first.
#include "train/group/many.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "train/scripted_engine.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;

std::atomic<std::size_t> most_models{1000};
std::atomic<std::int64_t> fails_at_step{0};  // once; 0: never
constexpr std::uint64_t seed_without_restore = 11;

ScriptedEngine scripted(const EngineRequest& request) {
  ScriptedEngine::Script script;
  script.steps_per_epoch = 4;
  // The request's seed tells the engines apart: 1 stops early, 2 diverges, 8 diverges in epoch 6, 100 takes a
  // millisecond a step.
  for (int epoch = 0; epoch < 1000; ++epoch)
    script.validation_losses.push_back(request.seed == 1 ? 1.0 + epoch : 1.0 / (1 + epoch));
  script.patience = request.seed == 1 ? 3 : 0;
  if (request.seed == 100)
    script.before_chunk = [](const Chunk& chunk) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1) * chunk.learning_rates.size());
    };
  if (request.seed == 2) script.train_losses = std::vector<double>(100, std::nan(""));
  if (request.seed == 8) {
    script.train_losses = std::vector<double>(100, 0.5);
    script.train_losses[5] = std::nan("");
    script.validation_losses[2] = 0;  // the best
  }
  return ScriptedEngine(script);
}

class ScriptedGroup : public EngineGroup {
 public:
  explicit ScriptedGroup(std::span<const EngineRequest> requests) {
    for (const EngineRequest& request : requests) {
      engines_.push_back(scripted(request));
      seeds_.push_back(request.seed);
    }
  }
  std::size_t size() const override { return engines_.size(); }
  std::vector<ChunkResult> run(std::span<const Chunk> chunks) override {
    std::vector<ChunkResult> results(chunks.size());
    for (const Chunk& chunk : chunks) {
      if (fails_at_step == 0 || chunk.first_step < fails_at_step) continue;
      fails_at_step = 0;
      throw OutOfMemory("somebody else took the rest");
    }
    for (std::size_t i = 0; i < chunks.size(); ++i)
      if (!chunks[i].learning_rates.empty()) results[i] = engines_[i].run(chunks[i]);
    return results;
  }
  NamedArrays state(std::size_t model) const override { return engines_[model].state(); }
  void restore(std::size_t model, const NamedArrays& state) override {
    if (seeds_[model] == seed_without_restore) refuse("the state does not fit");
    engines_[model].restore(state);
  }
  NamedArrays parameters(std::size_t model) const override { return engines_[model].parameters(); }
  NamedArrays best_parameters(std::size_t model) const override { return engines_[model].best_parameters(); }

 private:
  std::vector<ScriptedEngine> engines_;
  std::vector<std::uint64_t> seeds_;
};

std::unique_ptr<EngineGroup> make_group(std::span<const EngineRequest> requests) {
  if (requests.size() > most_models) throw OutOfMemory("too many");
  return std::make_unique<ScriptedGroup>(requests);
}

constexpr EngineMaker maker{"scripted", nullptr, nullptr, make_group};

// What became of each when all have ended.
std::vector<MemberResult> trained(const std::vector<Member>& members) {
  std::vector<std::optional<MemberResult>> ended(members.size());
  const StopSignal stop;
  train_group(members, maker, stop, [&](std::size_t i, MemberResult result) {
    EXPECT_FALSE(ended.at(i)) << i << " was told of twice";
    ended.at(i) = std::move(result);
  });
  std::vector<MemberResult> results;
  for (std::optional<MemberResult>& result : ended) results.push_back(std::move(result.value()));
  return results;
}

Member member(std::uint64_t seed, std::int64_t epochs) {
  Member result;
  result.request.seed = seed;
  result.plan.config.epochs = epochs;
  result.plan.config.learning_rate = 0.01 * static_cast<double>(seed);
  result.plan.steps_per_epoch = 4;
  result.plan.rows = 4;
  return result;
}

float weight_alone(const Member& member) {
  ScriptedEngine engine = scripted(member.request);
  Progress progress;
  engine.run(next_chunk(member.plan, progress, 1'000'000));
  return find_array(engine.best_parameters(), "weight").as<float>()[0];
}

float weight_of(const MemberResult& result) {
  return find_array(result.parameters, "weight").as<float>()[0];
}

TEST(Many, AGroupTrainsEachAsIfAloneAndThoseThatEndEarlyRest) {
  const std::vector<Member> members{member(3, 40), member(1, 40), member(4, 5), member(2, 40)};
  const std::vector<MemberResult> results = trained(members);
  EXPECT_EQ(results[0].progress.epochs.size(), 40U);
  EXPECT_TRUE(results[1].progress.stopped_early);
  EXPECT_EQ(results[2].progress.epochs.size(), 5U);
  EXPECT_EQ(results[3].end, MemberEnd::diverged);
  EXPECT_THAT(results[3].reason, HasSubstr("diverged"));
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(results[i].end, MemberEnd::finished);
    EXPECT_EQ(weight_of(results[i]), weight_alone(members[i]));
  }
}

TEST(Many, AGroupThatDoesNotFitIsHalved) {
  const std::vector<Member> members{member(3, 4), member(4, 4), member(5, 4), member(6, 4), member(7, 4)};
  most_models = 2;
  const std::vector<MemberResult> results = trained(members);
  most_models = 1000;
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(weight_of(results[i]), weight_alone(members[i]));
}

TEST(Many, AMemberOfAGroupThatDivergesLateEndsWithItsBestWeights) {
  Member late = member(8, 40);
  Member until_best = member(8, 3);
  const std::vector<MemberResult> results = trained({member(3, 40), late});
  EXPECT_EQ(results[0].progress.epochs.size(), 40U);
  EXPECT_EQ(results[1].end, MemberEnd::finished);
  EXPECT_TRUE(results[1].progress.stopped_early);
  EXPECT_EQ(results[1].progress.epochs.size(), 5U);
  EXPECT_EQ(results[1].progress.next_step, 5 * late.plan.steps_per_epoch);
  EXPECT_THAT(results[1].reason, HasSubstr("diverged in epoch 6 of 40"));
  EXPECT_THAT(results[1].reason, HasSubstr("uses the weights of epoch 3"));
  EXPECT_EQ(weight_of(results[1]), weight_alone(until_best));
  late.plan.keeps_best = false;  // then the last weights count, and they are not finite
  EXPECT_EQ(trained({member(3, 40), late})[1].end, MemberEnd::diverged);
}

// Nobody can say that it is the model's fault and not that of others on the device.
TEST(Many, AMachineWithoutRoomForOneIsNoFailureOfAMember) {
  most_models = 0;
  EXPECT_THROW(trained({member(3, 4), member(4, 4)}), OutOfMemory);
  most_models = 1000;
}

TEST(Many, MemoryThatRunsOutInTheMiddleCostsNobodyWhoHasEnded) {
  const std::vector<Member> members{member(3, 5), member(4, 500), member(5, 500)};
  fails_at_step = 100;
  const std::vector<MemberResult> results = trained(members);
  EXPECT_EQ(fails_at_step, 0);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(weight_of(results[i]), weight_alone(members[i]));
}

TEST(Many, EachMemberOfAGroupHeedsItsOwnTimeLimit) {
  Member limited = member(100, 900);
  limited.plan.time_limit = 0.05;
  const std::vector<MemberResult> results = trained({member(3, 900), limited});
  EXPECT_EQ(results[0].end, MemberEnd::finished);
  EXPECT_EQ(results[0].progress.epochs.size(), 900U);
  EXPECT_EQ(results[1].end, MemberEnd::time_limit);
  EXPECT_GT(results[1].progress.next_step, 0);
  EXPECT_LT(results[1].progress.epochs.size(), 900U);
}

TEST(Many, AnInterruptedGroupHasToldOfThoseThatHadEnded) {
  const std::vector<Member> members{member(3, 5), member(4, 900)};
  StopSignal stop;
  std::vector<std::size_t> told;
  const auto ended = [&](std::size_t i, const MemberResult& result) {
    told.push_back(i);
    EXPECT_EQ(result.end, MemberEnd::finished);
    stop.interrupt();
  };
  try {
    train_group(members, maker, stop, ended);
    FAIL() << "was not interrupted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted);
  }
  EXPECT_THAT(told, testing::ElementsAre(0));
}

TEST(Many, ADiskThatCannotBeWrittenEndsTheTrainingAndIsNoFailureOfAMember) {
  const TemporaryFolder folder;
  write_file(folder.path() / "checkpoints", "where a folder should be");
  Member paused = member(3, 12);
  paused.plan.pause_after_epochs = 5;
  paused.checkpoints = folder.path() / "checkpoints" / "one";
  try {
    trained({member(4, 5), paused});
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), Cause::machine);
    EXPECT_THAT(error.what(), HasSubstr("checkpoints"));
  }
}

TEST(Many, APausedMemberGoesOnFromItsCheckpoint) {
  const TemporaryFolder folder;
  Member whole = member(5, 12);
  whole.checkpoints = folder.path() / "one";
  whole.identity = {{"seed", "5"}};
  Member paused = whole;
  paused.plan.pause_after_epochs = 5;
  EXPECT_EQ(trained({paused})[0].progress.epochs.size(), 5U);
  const std::vector<MemberResult> rest = trained({whole});
  EXPECT_EQ(rest[0].progress.epochs.size(), 12U);
  EXPECT_EQ(weight_of(rest[0]), weight_alone(whole));
}

TEST(Many, ACheckpointThatDoesNotFitFailsItsMemberAlone) {
  const TemporaryFolder folder;
  std::vector<Member> members{member(5, 12), member(seed_without_restore, 12), member(6, 12)};
  for (Member& each : members) {
    each.checkpoints = folder.path() / std::to_string(each.request.seed);
    each.identity = {{"seed", std::to_string(each.request.seed)}};
    each.plan.pause_after_epochs = 5;
  }
  trained(members);
  for (Member& each : members) each.plan.pause_after_epochs = 0;
  const std::vector<MemberResult> results = trained(members);
  EXPECT_EQ(results[1].end, MemberEnd::failed);
  EXPECT_THAT(results[1].reason, HasSubstr("does not fit"));
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(results[i].end, MemberEnd::finished);
    EXPECT_EQ(weight_of(results[i]), weight_alone(members[i]));
  }
}

TEST(Many, WithoutKeptBestTheLastWeightsCount) {
  Member last = member(1, 3);  // its validation loss only rises
  last.plan.keeps_best = false;
  const MemberResult result = trained({last})[0];
  ScriptedEngine engine = scripted(last.request);
  engine.run(next_chunk(last.plan, {}, 1'000'000));
  EXPECT_EQ(weight_of(result), find_array(engine.parameters(), "weight").as<float>()[0]);
  EXPECT_NE(weight_of(result), find_array(engine.best_parameters(), "weight").as<float>()[0]);
}

}  // namespace
}  // namespace stoker::test
