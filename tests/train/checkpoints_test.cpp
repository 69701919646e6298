#include "train/checkpoint/checkpoints.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>

#include "base/files/files.h"
#include "base/no_descriptors.h"
#include "expect_error.h"
#include "fused/reshaped.h"
#include "listeners.h"
#include "scripted_engine.h"
#include "train/choose/device_of_training.h"
#include "train/fit/fit_network.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using test::RecordingListener;
using test::ScriptedEngine;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const Identity identity{{"hidden_layers", "[64, 32]"}, {"seed", "42"}};

class CheckpointsTest : public testing::Test {
 protected:
  Checkpoints opened(Identity of = identity) {
    return {folder_.path() / "checkpoints", std::move(of),
            [this](Severity severity, const std::string& message) { listener_.note(severity, message); }};
  }

  // Trains on to `step` and saves there.
  void save(Checkpoints& checkpoints, std::int64_t step) {
    Chunk chunk{progress_.next_step,
                std::vector<float>(static_cast<std::size_t>(step - progress_.next_step), 0.1F)};
    engine_.run(chunk);
    progress_.next_step = step;
    checkpoints.save(engine_, progress_);
  }

  fs::path folder_of(std::int64_t step) const {
    return folder_.path() / "checkpoints" / fmt::format("step-{:09}", step);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path() / "checkpoints"))
      result.push_back(entry.path().filename().string());
    return result;
  }

  TemporaryFolder folder_;
  RecordingListener listener_;
  ScriptedEngine engine_{{}};
  Progress progress_;
};

TEST_F(CheckpointsTest, BringTheEnginesWholeStateBack) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 10);
  const std::optional<Checkpoint> saved = opened().newest();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->engine, "scripted");
  EXPECT_EQ(saved->progress.next_step, 10);
  ScriptedEngine other({});
  other.restore(saved->state);
  const Chunk chunk{10, std::vector<float>(30, 0.1F)};
  engine_.run(chunk);
  other.run(chunk);
  for (const NamedArray& each : engine_.state()) {
    const Array array = find_array(other.state(), each.name);
    EXPECT_EQ(std::memcmp(array.data(), each.array.data(), array.bytes()), 0) << each.name;
  }
}

TEST_F(CheckpointsTest, HoldTheParametersApartFromTheRest) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 3);
  EXPECT_GT(fs::file_size(folder_of(3) / "model.safetensors"), 0U);
  const std::string rest = read_file(folder_of(3) / "optimizer.safetensors", 1 << 20);
  EXPECT_THAT(rest, AllOf(HasSubstr("best_loss"), testing::Not(HasSubstr("\"weight\""))));
}

TEST_F(CheckpointsTest, KeepTheTwoNewest) {
  Checkpoints checkpoints = opened();
  for (const std::int64_t step : {5, 10, 15, 20}) save(checkpoints, step);
  EXPECT_THAT(names(), UnorderedElementsAre("step-000000015", "step-000000020"));
}

TEST_F(CheckpointsTest, OneWithoutDoneDoesNotExist) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  save(checkpoints, 10);
  fs::remove(folder_of(10) / "DONE");
  EXPECT_EQ(opened().newest()->progress.next_step, 5);
  EXPECT_TRUE(listener_.warnings.empty());
}

TEST_F(CheckpointsTest, DamagedOnesAreSkippedWithAWarning) {
  const char* const files[] = {"model.safetensors", "optimizer.safetensors", "state.json", "DONE"};
  std::int64_t step = 0;
  Checkpoints checkpoints = opened();
  save(checkpoints, ++step);
  for (const char* name : files) {
    SCOPED_TRACE(name);
    save(checkpoints, ++step);
    const fs::path file = folder_of(step) / name;
    fs::resize_file(file, fs::file_size(file) / 2);
    listener_.warnings.clear();
    EXPECT_EQ(opened().newest()->progress.next_step, step - 1);
    EXPECT_THAT(listener_.warnings,
                ElementsAre(AllOf(HasSubstr(folder_of(step).string()), HasSubstr("damaged"))));
    fs::remove_all(folder_of(step));
    save(checkpoints, ++step);
  }
}

TEST_F(CheckpointsTest, AMissingFileIsDamage) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  fs::remove(folder_of(5) / "optimizer.safetensors");
  EXPECT_FALSE(opened().newest().has_value());
  EXPECT_EQ(listener_.warnings.size(), 1U);
}

// Else the training would begin anew, and remove the checkpoint when it saves its own.
TEST_F(CheckpointsTest, OneThatTheMachineCannotOpenIsNoDamage) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  Checkpoints again = opened();
  {
    const test::NoDescriptors none;
    EXPECT_THROW(again.newest(), std::exception);
  }
  EXPECT_EQ(again.newest()->progress.next_step, 5);
  EXPECT_TRUE(listener_.warnings.empty());
}

TEST_F(CheckpointsTest, ThoseOfAnotherTrainingAreRefusedByTheDifference) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  Checkpoints other = opened({{"hidden_layers", "[64, 32]"}, {"seed", "43"}});
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { other.newest(); }),
              AllOf(HasSubstr("another training"), HasSubstr("seed is 42 there and 43 here")));
}

TEST_F(CheckpointsTest, ThoseOfAnotherTrainingAreRefusedByAllThatDiffers) {
  Checkpoints checkpoints =
      opened({{"model", "neural_network"}, {"seed", "42"}, {"all_training_rows", "ab12"}});
  save(checkpoints, 5);
  Checkpoints other = opened({{"model", "residual_network"}, {"seed", "43"}, {"all_training_rows", "cd34"}});
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { other.newest(); }),
              AllOf(HasSubstr("model is neural_network there and residual_network here"),
                    HasSubstr("seed is 42 there and 43 here"),
                    HasSubstr("the training rows have other values than they had there"),
                    testing::Not(HasSubstr("cd34"))));
}

// Earlier versions did not keep the family of the model.
TEST_F(CheckpointsTest, ThoseThatDoNotNameTheirModelAreTaken) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  Identity named = identity;
  named.insert(named.begin(), {"model", "neural_network"});
  EXPECT_EQ(opened(named).newest()->progress.next_step, 5);
}

TEST_F(CheckpointsTest, ThoseOfAVersionThatKeptLessAreRefusedWithWhatToDo) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  Checkpoints newer = opened({{"hidden_layers", "[64, 32]"}, {"seed", "42"}, {"all_training_rows", "ab12"}});
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { newer.newest(); }),
              AllOf(HasSubstr("another version of Stoker"), HasSubstr("start a new training")));
}

TEST_F(CheckpointsTest, AFreshTrainingDoesNotMixWithAnOlderOne) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  opened().clear();
  EXPECT_FALSE(opened().newest().has_value());
}

TEST_F(CheckpointsTest, WhatAKilledProcessLeftIsRemoved) {
  fs::create_directories(folder_.path() / "checkpoints" / "step-000000004.partial-1-0");
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  EXPECT_THAT(names(), ElementsAre("step-000000005"));
}

TEST_F(CheckpointsTest, FoldersWithOtherNamesAreLeftAlone) {
  fs::create_directories(folder_.path() / "checkpoints" / "step-last");
  write_file(folder_.path() / "checkpoints" / "step-last" / "DONE", "");
  Checkpoints checkpoints = opened();
  for (const std::int64_t step : {5, 10, 15}) save(checkpoints, step);
  EXPECT_THAT(names(), UnorderedElementsAre("step-000000010", "step-000000015", "step-last"));
}

TEST_F(CheckpointsTest, ThereIsNoneInAFolderThatDoesNotExist) {
  EXPECT_FALSE(opened().newest().has_value());
  Checkpoints nowhere("", identity, no_notes());
  EXPECT_FALSE(nowhere.kept());
  EXPECT_FALSE(nowhere.newest().has_value());
}

// A limit on the size of a file makes write(2) fail half-way, as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(CheckpointsTest, AFailedWriteLeavesTheOlderOnesAndNothingElse) {
  Checkpoints checkpoints = opened();
  save(checkpoints, 5);
  save(checkpoints, 10);
  {
    const FileSizeLimit limit(200);
    EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { save(checkpoints, 15); }),
                HasSubstr("cannot write"));
  }
  EXPECT_THAT(names(), UnorderedElementsAre("step-000000005", "step-000000010"));
  EXPECT_EQ(opened().newest()->progress.next_step, 10);
}

EngineRequest some_request() {
  EngineRequest request;
  request.network = mlp_network({2, {8}, 1, Activation::relu, 0.1});
  const std::vector<float> features{1, 2, 3, 4};
  const std::vector<float> targets{1, 0};
  request.training.arrays = {{"features", Role::features, Array::from(std::span(features), {2, 2})},
                             {"targets", Role::targets, Array::from(std::span(targets), {2, 1})}};
  return request;
}

TEST(TrainingIdentity, ChangesWithWhateverTheStateDependsOn) {
  const Identity base = identity_of(some_request());
  EXPECT_EQ(base, identity_of(some_request()));
  const auto differs = [&](auto change) {
    EngineRequest request = some_request();
    change(request);
    EXPECT_NE(base, identity_of(request));
  };
  differs([](EngineRequest& r) { test::reshape(r, [&](MlpShape& shape) { shape.hidden_layers = {9}; }); });
  differs([](EngineRequest& r) {
    test::reshape(r, [&](MlpShape& shape) { shape.activation = Activation::tanh; });
  });
  differs([](EngineRequest& r) { test::reshape(r, [&](MlpShape& shape) { shape.dropout = 0.2; }); });
  differs([](EngineRequest& r) { r.optimizer.kind = Optimizer::sgd; });
  differs([](EngineRequest& r) { r.optimizer.weight_decay = 0.2; });
  differs([](EngineRequest& r) { r.batch_size = 1; });
  differs([](EngineRequest& r) { r.seed = 1; });
  differs([](EngineRequest& r) { r.validation = r.training; });
  differs([](EngineRequest& r) { r.training.arrays[0].array.as<float>()[3] = 5; });
}

TEST(TrainingIdentity, ChangesWithAnySingleValueOfManyRows) {
  constexpr std::int64_t rows = 50'000;
  const auto request_of_many_rows = [] {
    EngineRequest request = some_request();
    request.training.arrays.clear();
    for (const auto& [name, role] :
         {std::pair{"features", Role::features}, std::pair{"targets", Role::targets},
          std::pair{"weights", Role::weights}}) {
      const std::vector<float> ones(rows, 1);
      request.training.arrays.push_back({name, role, Array::from(std::span(ones), {rows, 1})});
    }
    request.validation = request.training;
    return request;
  };
  const Identity base = identity_of(request_of_many_rows());
  for (const std::size_t row : {1U, 17U, 12'345U, 49'999U}) {
    for (std::size_t part = 0; part < 3; ++part) {
      EngineRequest changed = request_of_many_rows();
      changed.training.arrays[part].array.as<float>()[row] = 2;
      EXPECT_NE(identity_of(changed), base) << "row " << row << " of array " << part;
    }
  }
}

// Recorded figures may say by now that another device is faster: a training stays where it began.
TEST_F(CheckpointsTest, SayWhereATrainingGoesOn) {
  const Table nothing;
  const ModelSpec spec;
  FitRequest request{.training = nothing, .spec = spec, .preparation = {}, .config = {}, .checkpoints = {}};
  request.checkpoints = folder_.path() / "checkpoints";
  request.resume = true;
  EXPECT_FALSE(device_to_go_on_with(request, Device::cuda(0)));  // there is none yet
  Checkpoints checkpoints = opened();
  save(checkpoints, 10);
  EXPECT_FALSE(device_to_go_on_with(request, Device::cuda(0)));  // of a version that did not say
  checkpoints.name_device(Device::cpu());
  save(checkpoints, 20);
  EXPECT_EQ(device_to_go_on_with(request, Device::cuda(0)), Device::cpu());
  checkpoints.name_device(Device::cuda(1));
  save(checkpoints, 30);
  EXPECT_EQ(device_to_go_on_with(request, Device::cuda(0)), Device::cuda(0));
  request.resume = false;
  EXPECT_FALSE(device_to_go_on_with(request, Device::cuda(0)));
}

}  // namespace
}  // namespace stoker
