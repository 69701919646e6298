// A mixture of experts that changes its structure while it trains.
#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/edits_in_place.h"
#include "fused/cpu/experts/expert_engine.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "model/experts/expert_graph.h"
#include "model/experts/expert_lives.h"
#include "model/experts/experts_on_host.h"
#include "torch/expert_case.h"
#include "train/listeners.h"
#include "train/loop/engines.h"
#include "train/loop/phases.h"

namespace stoker {
namespace {

using test::ExpertCase;

void expect_same_experts(const NamedArrays& found, const NamedArrays& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(found[i].array.as<float>(), expected[i].array.as<float>()))
        << expected[i].name;
}

class LivingExperts : public testing::Test {
 protected:
  LivingExperts() {
    const ExpertCase small{.name = "Lively", .experts = 3, .room = 8};
    request_ = test::expert_request(small);
    ExpertSettings settings = test::expert_settings_of(small);
    settings.life.expert_creation_uncertainty = 0.1;
    settings.life.growth_interval = 9;
    settings.life.sleep_shortest = 11;
    settings.life.sleep_longest = 30;
    settings.life.newborn_steps = 40;
    settings.life.merge_similarity = 0.7;
    settings.life.prune_idle_steps = 60;
    request_.network.settings = config::write(settings);
    request_.initial_parameters = initial_parameters(request_.network, 8);
    folder_ = std::filesystem::temp_directory_path() / ("stoker-experts-" + std::to_string(::getpid()));
  }
  ~LivingExperts() override { std::filesystem::remove_all(folder_); }

  TrainingOutcome train(TrainingListener& listener, std::int64_t pause = 0, bool resumes = false,
                        OnDivergence on_divergence = OnDivergence::fail) {
    Checkpoints checkpoints(folder_, identity_of(request_), no_notes());
    TrainingPlan plan;
    plan.config.epochs = epochs;
    plan.config.learning_rate = 0.01;
    plan.rows = request_.rows_per_epoch();
    plan.steps_per_epoch = request_.steps_per_epoch();
    plan.checkpoint_seconds = 1e9;
    plan.pause_after_epochs = pause;
    plan.keeps_best = false;
    plan.structure = structure_;
    return train_in_phases(request_, make_, plan, resumes ? checkpoints.newest() : std::nullopt, checkpoints,
                           listener, {}, on_divergence);
  }

  void change_settings(const std::function<void(ExpertSettings&)>& change) {
    auto settings = settings_as<ExpertSettings>(request_.network.settings);
    change(settings);
    request_.network.settings = config::write(settings);
    request_.initial_parameters = initial_parameters(request_.network, 8);
  }

  void expect_to_go_on_exactly() {
    NobodyListens nobody;
    const TrainingOutcome whole = train(nobody);
    std::filesystem::remove_all(folder_);
    for (const std::int64_t pause : {7, 23, 24, 51}) train(nobody, pause, pause > 7);
    const TrainingOutcome resumed = train(nobody, 0, true);
    EXPECT_EQ(resumed.progress.structure.text(), whole.progress.structure.text());
    expect_same_experts(resumed.parameters, whole.parameters);
  }

  void expect_to_be_refused_on_resume(const char* setting) {
    NobodyListens nobody;
    try {
      train(nobody, 0, true);
      FAIL() << "it went on";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(setting));
    }
  }

  static constexpr std::int64_t epochs = 60;
  EngineRequest request_;
  std::filesystem::path folder_;
  std::string structure_;
  MakeEngine make_ = [](const EngineRequest& request) { return fused_cpu::maker().make(request); };
};

TEST_F(LivingExperts, AreBornAndTold) {
  test::RecordingListener listener;
  const TrainingOutcome outcome = train(listener);
  const nlohmann::json memory = outcome.progress.structure.json();
  EXPECT_GT(memory.at("sleeps").get<int>(), 5);
  EXPECT_GT(memory.at("next_number").get<int>(), 3);
  ASSERT_FALSE(listener.infos.empty());
  EXPECT_THAT(listener.infos.front(), testing::HasSubstr("was born as a copy of expert"));
  const KnowledgeGraph graph = graph_from_json(memory.at("graph"));
  const auto alive = find_array(outcome.parameters, alive_name).as<float>();
  for (std::int64_t place = 0; place < 8; ++place)
    EXPECT_EQ(alive[static_cast<std::size_t>(place)] == 1, graph.at_place(place) != nullptr);
}

// Whatever happened between: births, sleeps, and how the steps fell into chunks.
TEST_F(LivingExperts, GoOnExactlyWhereTheyWere) {
  expect_to_go_on_exactly();
}

TEST_F(LivingExperts, GoOnExactlyWhereSomeAreDrawn) {
  change_settings([](ExpertSettings& settings) { settings.router_exploration = 0.5; });
  expect_to_go_on_exactly();
}

// An engine that is edited where its state lies.
class EditedInPlace : public fused_cpu::ExpertEngine, public EditsInPlace {
 public:
  explicit EditedInPlace(const EngineRequest& request)
      : ExpertEngine(request), shape_(expert_shape(request.network).value()) {}

  std::unique_ptr<StructureHandle> structure() override {
    ++edits;
    return std::make_unique<Handle>(*this);
  }
  inline static int edits = 0;

 private:
  struct Taken {
    NamedArrays state;
  };
  struct Handle : Taken, ExpertsOnHost {
    explicit Handle(EditedInPlace& engine)
        : Taken{engine.state()}, ExpertsOnHost(engine.shape_, state), engine_(engine) {}
    ~Handle() override { engine_.restore(state); }
    EditedInPlace& engine_;
  };
  ExpertShape shape_;
};

TEST_F(LivingExperts, AreEditedWhereTheEngineHasThem) {
  NobodyListens nobody;
  const TrainingOutcome plain = train(nobody);
  std::filesystem::remove_all(folder_);
  EditedInPlace::edits = 0;
  make_ = [](const EngineRequest& request) -> std::unique_ptr<Engine> {
    return std::make_unique<EditedInPlace>(request);
  };
  const TrainingOutcome edited = train(nobody);
  EXPECT_GT(EditedInPlace::edits, 10);
  EXPECT_EQ(edited.progress.structure.text(), plain.progress.structure.text());
  expect_same_experts(edited.parameters, plain.parameters);
}

// Learns for 20 epochs, unlearns for 15 more, and has no finite loss after that.
class UnlearnsAndDiverges : public fused_cpu::ExpertEngine {
 public:
  explicit UnlearnsAndDiverges(const EngineRequest& request)
      : ExpertEngine(request), steps_per_epoch_(request.steps_per_epoch()) {}

  ChunkResult run(const Chunk& chunk) override {
    Chunk turned = chunk;
    std::int64_t step = chunk.first_step;
    for (float& rate : turned.learning_rates)
      if (step++ >= 20 * steps_per_epoch_) rate = -rate;
    ChunkResult result = ExpertEngine::run(turned);
    for (EpochRecord& each : result.finished_epochs)
      if (each.epoch >= 35) each.train_loss = NAN;
    return result;
  }

 private:
  std::int64_t steps_per_epoch_;
};

class DivergingExperts : public LivingExperts {
 protected:
  DivergingExperts() {
    make_ = [](const EngineRequest& request) -> std::unique_ptr<Engine> {
      return std::make_unique<UnlearnsAndDiverges>(request);
    };
  }

  // As a stage that begins with what the family knows at first.
  TrainingOutcome train_stage(std::int64_t pause = 0, bool resumes = false) {
    structure_ = lives_of_experts().begin(request_.network).dump();
    NobodyListens nobody;
    return train(nobody, pause, resumes, OnDivergence::end_with_best);
  }
};

std::int64_t last_change_in(const TrainingOutcome& outcome) {
  return outcome.progress.structure.json().at("events").back().at("step").get<std::int64_t>();
}

std::int64_t first_step_after_best(const TrainingOutcome& outcome, std::int64_t steps_per_epoch) {
  std::int64_t best = 0;
  for (const EpochReport& each : outcome.progress.epochs)
    if (each.record.is_best) best = each.record.epoch + 1;
  return best * steps_per_epoch;
}

TEST_F(DivergingExperts, EndAStageWithTheExpertsThatTheBestWeightsHad) {
  const TrainingOutcome stage = train_stage();
  EXPECT_THAT(stage.divergence, testing::HasSubstr("diverged in epoch 36 of 60"));
  const std::int64_t best = first_step_after_best(stage, request_.steps_per_epoch());
  EXPECT_LE(last_change_in(stage), best);
  const KnowledgeGraph graph = graph_from_json(stage.progress.structure.json().at("graph"));
  const auto alive = find_array(stage.parameters, alive_name).as<float>();
  for (std::int64_t place = 0; place < 8; ++place)
    EXPECT_EQ(alive[static_cast<std::size_t>(place)] == 1, graph.at_place(place) != nullptr) << place;
  // A later stage has steps and rows of its own, and looks at both.
  nlohmann::json memory = stage.progress.structure.json();
  NamedArrays state = stage.parameters;
  const StructureMoment moment{request_.network, 1'000'000, 1, request_.training};
  for (NamedArray& each : state) each.name.insert(0, "parameters.");
  EXPECT_NO_THROW(lives_of_experts().edit(moment, state, memory));
}

TEST_F(DivergingExperts, EndAStageInTheSameWayAfterItWasInterrupted) {
  const TrainingOutcome whole = train_stage();
  std::filesystem::remove_all(folder_);
  train_stage(30);
  const TrainingOutcome resumed = train_stage(0, true);
  EXPECT_EQ(resumed.progress.structure.text(), whole.progress.structure.text());
  expect_same_experts(resumed.parameters, whole.parameters);
}

TEST_F(DivergingExperts, KeepAllThatHappenedInATrainingWithoutStages) {
  NobodyListens nobody;
  const TrainingOutcome outcome = train(nobody, 0, false, OnDivergence::end_with_best);
  EXPECT_GT(last_change_in(outcome), first_step_after_best(outcome, request_.steps_per_epoch()));
}

TEST_F(LivingExperts, OfAnotherRoomAreRefusedOnResume) {
  NobodyListens nobody;
  train(nobody, 3);
  change_settings([](ExpertSettings& settings) { settings.max_experts = 9; });
  expect_to_be_refused_on_resume("max_experts is 8 there and 9 here");
}

TEST_F(LivingExperts, OfWhichMoreAreDrawnAreRefusedOnResume) {
  NobodyListens nobody;
  train(nobody, 3);
  change_settings([](ExpertSettings& settings) { settings.router_exploration = 0.5; });
  expect_to_be_refused_on_resume("router_exploration is 0 there and 0.5 here");
}

}  // namespace
}  // namespace stoker
