#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit.h"
#include "train/place_data.h"

// Where the rows of a training lie, as its settings ask for it.
namespace stoker {
namespace {

using test::RecordingListener;
using test::request_for;
using test::sample;
using test::small_network;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class InterruptsWhilePlaced : public RecordingListener {
 public:
  explicit InterruptsWhilePlaced(StopSignal& stop) : stop_(stop) {}
  void advanced(std::int64_t step, std::int64_t total, double rate) override {
    RecordingListener::advanced(step, total, rate);
    stop_.interrupt();
  }

 private:
  StopSignal& stop_;
};

FitResult fit_quietly(const FitRequest& request) {
  RecordingListener listener;
  return fit(request, listener, StopSignal{});
}

std::string refusal_of_placement(const FitRequest& request) {
  RecordingListener listener;
  return test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, StopSignal{}); });
}

bool have_the_bits_of(const NamedArrays& one, const NamedArrays& other) {
  for (const NamedArray& each : one) {
    const Array& array = find_array(other, each.name);
    if (std::memcmp(array.data(), each.array.data(), array.bytes()) != 0) return false;
  }
  return true;
}

class PlacementOfTraining : public testing::Test {
 protected:
  PlacementOfTraining() {
    spec_.training.epochs = 30;
    spec_.training.validation_ratio = 0.2;
  }
  FitRequest request(PlacementChoice placement) const {
    FitRequest made = request_for(table_, spec_);
    made.config.placement.placement = placement;
    return made;
  }

  Table table_ = sample(SampleName::friedman, 1000);
  ModelSpec spec_ = small_network();
};

TEST_F(PlacementOfTraining, IsNotMentionedOnACpuUnlessItWasAskedFor) {
  RecordingListener listener;
  const FitResult result = fit(request(PlacementChoice::automatic), listener, StopSignal{});
  EXPECT_EQ(result.placement, "host");
  EXPECT_EQ(result.engine, "fused");
  EXPECT_THAT(listener.infos, Not(Contains(HasSubstr("training samples"))));
  RecordingListener of_host;
  fit(request(PlacementChoice::host), of_host, StopSignal{});
  EXPECT_THAT(of_host.infos, Contains(HasSubstr("800 training samples (34.4 KiB) in the host's memory")));
}

TEST_F(PlacementOfTraining, ShufflesByShardsInAWindowAndLearnsAllTheSame) {
  RecordingListener listener;
  const FitResult window = fit(request(PlacementChoice::window), listener, StopSignal{});
  EXPECT_EQ(window.placement, "window");
  EXPECT_EQ(window.engine, "eager") << "the fused engine takes no shards";
  EXPECT_THAT(listener.infos, Contains(HasSubstr("in shards of 100")));
  EXPECT_THAT(listener.warnings, IsEmpty());
  FitRequest together = request(PlacementChoice::automatic);
  together.config.engine = EngineChoice::eager;
  const FitResult plain = fit_quietly(together);
  EXPECT_FALSE(have_the_bits_of(window.model.parameters, plain.model.parameters));
  EXPECT_NEAR(*window.epochs.back().record.validation_loss, *plain.epochs.back().record.validation_loss,
              0.05);
}

TEST_F(PlacementOfTraining, GoesOnInTheOrderOfTheShards) {
  FitRequest made = request(PlacementChoice::window);
  const FitResult whole = fit_quietly(made);
  TemporaryFolder folder;
  made.checkpoints = folder.path();
  StopSignal stop;
  InterruptsWhilePlaced interrupting(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(made, interrupting, stop); });
  made.resume = true;
  // Whatever is asked for now: the checkpoint says how rows are shuffled.
  made.config.placement.placement = PlacementChoice::automatic;
  const FitResult resumed = fit_quietly(made);
  EXPECT_TRUE(have_the_bits_of(resumed.model.parameters, whole.model.parameters));
}

TEST_F(PlacementOfTraining, RefusesAWindowOfATrainingThatBeganWithoutOne) {
  FitRequest made = request(PlacementChoice::automatic);
  made.config.engine = EngineChoice::eager;
  TemporaryFolder folder;
  made.checkpoints = folder.path();
  StopSignal stop;
  InterruptsWhilePlaced interrupting(stop);
  test::error_of(ExitCode::interrupted, [&] { fit(made, interrupting, stop); });
  made.resume = true;
  made.config.placement.placement = PlacementChoice::window;
  EXPECT_THAT(refusal_of_placement(made), HasSubstr("shuffled its rows all together"));
}

TEST_F(PlacementOfTraining, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal_of_placement(request(PlacementChoice::vram)), HasSubstr("needs an NVIDIA GPU"));
  FitRequest fused = request(PlacementChoice::window);
  fused.config.engine = EngineChoice::fused;
  EXPECT_THAT(refusal_of_placement(fused),
              HasSubstr("placement window: engine fused: it does not support shards"));
  FitRequest contradiction = request(PlacementChoice::window);
  contradiction.config.placement.preload_to_gpu = true;
  EXPECT_THAT(refusal_of_placement(contradiction), HasSubstr("preload_to_gpu is true"));
}

TEST_F(PlacementOfTraining, GoesForTheMembersOfAnEnsembleThatAskForIt) {
  FitRequest ensemble = request(PlacementChoice::window);
  ensemble.spec.training.validation_ratio = 0;
  ensemble.spec.training.epochs = 5;
  ensemble.config.ensemble.folds = 2;
  RecordingListener listener;
  const FitResult result = fit(ensemble, listener, StopSignal{});
  EXPECT_THAT(listener.infos, Contains(HasSubstr("each member: 500 training samples")));
  EXPECT_EQ(result.placement, "window");
  EXPECT_EQ(result.engine, "eager");
  EXPECT_EQ(result.model.members.size(), 2U);
}

// Of a file that is sorted, a shard would else hold but one part of the range.
TEST(PlaceData, MixesRowsThatAreShuffledByShards) {
  constexpr std::int64_t rows = 800;
  const auto placed = [](std::uint64_t seed) {
    EngineRequest request;
    Array numbers(DType::float32, {rows, 1});
    std::iota(numbers.as<float>().begin(), numbers.as<float>().end(), 0.0F);
    Array twice(DType::int64, {rows});
    for (std::int64_t i = 0; i < rows; ++i) twice.as<std::int64_t>()[static_cast<std::size_t>(i)] = 2 * i;
    request.training.arrays = {{"features", Role::features, numbers}, {"targets", Role::targets, twice}};
    request.seed = seed;
    PlacementConfig config;
    config.placement = PlacementChoice::window;
    EXPECT_EQ(place_data(request, {config, [](const EngineRequest&) { return ""; }}, no_notes()),
              PlacementChoice::window);
    EXPECT_EQ(request.order.rows_per_shard, 100);
    const auto values = request.training.features().as<float>();
    const auto targets = request.training.targets().as<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(static_cast<float>(targets[i]), 2 * values[i]);
    return std::vector<float>(values.begin(), values.end());
  };
  std::vector<float> order = placed(1);
  EXPECT_EQ(order, placed(1));
  EXPECT_NE(order, placed(2));
  const auto [least, most] = std::minmax_element(order.begin(), order.begin() + 100);
  EXPECT_LT(*least, 100) << "of the first eighth";
  EXPECT_GE(*most, 700) << "of the last";
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<float>(i));
}

// The memory of a GPU as small as the data makes it.
class LimitOfVram {
 public:
  explicit LimitOfVram(const char* bytes) { setenv("STOKER_VRAM_LIMIT", bytes, 1); }
  LimitOfVram(const LimitOfVram&) = delete;
  LimitOfVram& operator=(const LimitOfVram&) = delete;
  ~LimitOfVram() { unsetenv("STOKER_VRAM_LIMIT"); }
};

TEST_F(PlacementOfTraining, PassesThroughAGpuThatIsTooSmall) {
  if (!test::has_gpu()) GTEST_SKIP() << "there is no GPU here";
  // 800 rows of 44 bytes, and 200 that stay there.
  FitRequest made = request(PlacementChoice::automatic);
  made.config.device = "cuda";
  const LimitOfVram limit("30000");
  RecordingListener listener;
  const FitResult result = fit(made, listener, StopSignal{});
  EXPECT_EQ(result.placement, "window");
  EXPECT_EQ(result.engine, "graph");
  EXPECT_THAT(listener.warnings, Contains(HasSubstr("pass through VRAM from pinned memory, 3 shards of")));
  made.config.placement.placement = PlacementChoice::host;
  const FitResult from_ordinary = fit_quietly(made);
  EXPECT_EQ(from_ordinary.placement, "host");
  EXPECT_NEAR(*from_ordinary.epochs.back().record.validation_loss,
              *result.epochs.back().record.validation_loss, 1e-3);
  made.config.placement.placement = PlacementChoice::vram;
  EXPECT_THAT(refusal_of_placement(made), HasSubstr("placement vram: the training rows take 34.4 KiB"));
}

TEST_F(PlacementOfTraining, RefusesALimitThatIsNoNumber) {
  if (!test::has_gpu()) GTEST_SKIP() << "there is no GPU here";
  FitRequest made = request(PlacementChoice::automatic);
  made.config.device = "cuda";
  const LimitOfVram limit("lots");
  EXPECT_THAT(refusal_of_placement(made), HasSubstr("STOKER_VRAM_LIMIT is 'lots'"));
}

}  // namespace
}  // namespace stoker
