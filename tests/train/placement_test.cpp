#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "device/row_memory.h"
#include "expect_error.h"
#include "listeners.h"
#include "tables.h"
#include "train/fit/fit.h"
#include "train/rows/deal_rows.h"
#include "train/rows/place_data.h"

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
  EXPECT_EQ(window.engine, "fused");
  EXPECT_THAT(listener.infos, Contains(HasSubstr("in shards of 100")));
  EXPECT_THAT(listener.warnings, IsEmpty());
  const FitResult plain = fit_quietly(request(PlacementChoice::automatic));
  EXPECT_FALSE(have_the_bits_of(window.model.parameters, plain.model.parameters));
  EXPECT_NEAR(*window.epochs.back().record.validation_loss, *plain.epochs.back().record.validation_loss,
              0.05);
}

TEST_F(PlacementOfTraining, HasTheSameOrderOfShardsInEveryEngine) {
  FitRequest made = request(PlacementChoice::window);
  made.spec.training.epochs = 3;
  const FitResult fused = fit_quietly(made);
  made.config.engine = EngineChoice::eager;
  const FitResult eager = fit_quietly(made);
  EXPECT_EQ(fused.engine, "fused");
  EXPECT_EQ(eager.engine, "eager");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(fused.epochs[i].record.train_loss, eager.epochs[i].record.train_loss, 1e-5);
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
  EXPECT_EQ(result.engine, "fused");
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

// The memory of the host as small as a test makes it.
class LimitOfMemory {
 public:
  explicit LimitOfMemory(const char* bytes) {
    setenv("STOKER_MEMORY_LIMIT", bytes, 1);
    memory_for_all_rows();  // which looks anew
  }
  LimitOfMemory(const LimitOfMemory&) = delete;
  LimitOfMemory& operator=(const LimitOfMemory&) = delete;
  ~LimitOfMemory() {
    unsetenv("STOKER_MEMORY_LIMIT");
    memory_for_all_rows();
  }
};

// 32,000 rows of 44 bytes, of which an eighth fits into half of the limit.
class RowsLargerThanMemory : public PlacementOfTraining, public testing::WithParamInterface<EngineChoice> {
 protected:
  RowsLargerThanMemory() {
    table_ = sample(SampleName::friedman, 40'000);
    spec_.training.epochs = 2;
    spec_.training.batch_size = 256;
  }
  static constexpr const char* limit = "400000";
};

TEST_P(RowsLargerThanMemory, AreTrainedOnInAWindowWithTheSameResult) {
  FitRequest made = request(PlacementChoice::window);
  made.config.engine = GetParam();
  const FitResult in_memory = fit_quietly(made);
  EXPECT_EQ(in_memory.waiting_share, 0);
  made.config.placement.placement = PlacementChoice::automatic;
  const LimitOfMemory small(limit);
  RecordingListener listener;
  const FitResult from_file = fit(made, listener, StopSignal{});
  EXPECT_EQ(from_file.placement, "window");
  EXPECT_GT(from_file.waiting_share, 0);
  EXPECT_THAT(listener.infos, Contains(HasSubstr("32,000 training samples (1.3 MiB) in a mapped file, larger "
                                                 "than memory, in shards of 4,000")));
  EXPECT_TRUE(have_the_bits_of(from_file.model.parameters, in_memory.model.parameters));
}

INSTANTIATE_TEST_SUITE_P(Engines, RowsLargerThanMemory,
                         testing::Values(EngineChoice::fused, EngineChoice::eager),
                         [](const auto& each) { return std::string(config::name_of(each.param)); });

TEST_F(PlacementOfTraining, CutsShardsThatFitIntoMemory) {
  table_ = sample(SampleName::friedman, 40'000);
  spec_.training.epochs = 1;
  const LimitOfMemory small("200000");
  RecordingListener listener;
  fit(request(PlacementChoice::automatic), listener, StopSignal{});
  EXPECT_THAT(listener.infos, Contains(HasSubstr("in shards of 2,272")));
}

TEST_F(PlacementOfTraining, SaysThatItTakesLongWhereRowsFromAFileHaveNoWindow) {
  table_ = sample(SampleName::friedman, 40'000);
  spec_.training.validation_ratio = 0;
  spec_.training.epochs = 1;
  FitRequest ensemble = request(PlacementChoice::automatic);
  ensemble.config.ensemble.folds = 2;
  const LimitOfMemory small("200000");
  RecordingListener listener;
  const FitResult result = fit(ensemble, listener, StopSignal{});
  EXPECT_EQ(result.placement, "host");
  EXPECT_THAT(listener.warnings, Contains(HasSubstr("read from all over the file, which takes long")));
}

TEST(DealRows, HasOneOrderInMemoryAndInFiles) {
  constexpr std::int64_t rows = 50'000;
  Array numbers(DType::int64, {rows});
  std::iota(numbers.as<std::int64_t>().begin(), numbers.as<std::int64_t>().end(), 0);
  Dataset dataset;
  dataset.arrays = {{"numbers", Role::features, numbers}};
  const Dataset dealt = deal_rows(dataset, 7, 6000, Memory::host);
  const auto order = dealt.features().as<std::int64_t>();
  for (std::size_t i = 1; i < order.size(); ++i)
    EXPECT_TRUE(i % 6000 == 0 || order[i - 1] < order[i]) << "a shard keeps the order of the rows";
  const LimitOfMemory small("100000");
  const Dataset in_file = deal_rows(dataset, 7, 6000, Memory::host);
  EXPECT_FALSE(dealt.features().lies_in_file());
  EXPECT_TRUE(in_file.features().lies_in_file());
  EXPECT_EQ(std::memcmp(order.data(), in_file.features().data(), rows * sizeof(std::int64_t)), 0);
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
