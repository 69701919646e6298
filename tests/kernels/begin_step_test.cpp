#include "kernels/begin_step.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::BeginStep;
using kernels::StepCounters;

// A training set whose row r holds r*100 + column, a series with windows of it, and all that begin_step
// writes to.
struct Training {
  static constexpr std::int64_t rows = 37, columns = 3, batch = 8, steps = 5, moments = 50, length = 4;
  std::vector<float> features = std::vector<float>(rows * columns);
  std::vector<std::int64_t> classes = std::vector<std::int64_t>(rows);
  std::vector<float> series = std::vector<float>(moments * 2);
  std::vector<std::int64_t> starts = std::vector<std::int64_t>(rows);
  std::vector<float> rates = std::vector<float>(20);
  std::vector<float> batch_features = std::vector<float>(batch * columns, -1);
  std::vector<std::int64_t> batch_classes = std::vector<std::int64_t>(batch, -1);
  std::vector<float> batch_windows = std::vector<float>(batch * length * 2, -1);
  StepCounters counters;
  float learning_rate = -1, update_number = -1, stopped = 0;

  Training() {
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      features[static_cast<std::size_t>(i)] = static_cast<float>(i / columns * 100 + i % columns);
    }
    std::iota(classes.begin(), classes.end(), 5000);
    std::iota(series.begin(), series.end(), 0.0F);
    for (std::int64_t i = 0; i < rows; ++i) starts[static_cast<std::size_t>(i)] = i * 7 % (moments - length);
    std::iota(rates.begin(), rates.end(), 0.5F);
  }

  BeginStep work(std::int64_t batch_rows) {
    BeginStep work;
    work.gathers[0] = {features.data(), nullptr, 4 * columns, 4 * columns, batch_features.data()};
    work.gathers[1] = {classes.data(), nullptr, 8, 8, batch_classes.data()};
    work.gathers[2] = {series.data(), starts.data(), 8, 8 * length, batch_windows.data()};
    work.gather_count = 3;
    work.rows = rows;
    work.epoch_rows = rows;
    work.seed = 9;
    work.batch_size = batch;
    work.batch_rows = batch_rows;
    work.steps_per_epoch = steps;
    work.rates = rates.data();
    work.rate_count = static_cast<std::int64_t>(rates.size());
    work.stopped = &stopped;
    work.counters = &counters;
    work.learning_rate = &learning_rate;
    work.update_number = &update_number;
    return work;
  }
};

TEST(BeginStep, TakesTheRowsOfThePermutationInTheirOrder) {
  Training training;
  training.counters.step = 2 * Training::steps + 1;  // the second batch of epoch 2
  kernels::begin_step(training.work(Training::batch));
  const Permutation order(random_key(9, Purpose::shuffle, 2), Training::rows);
  for (std::size_t i = 0; i < Training::batch; ++i) {
    const auto row = static_cast<std::size_t>(order(Training::batch + i));
    EXPECT_EQ(training.batch_classes[i], 5000 + static_cast<std::int64_t>(row));
    for (std::size_t column = 0; column < Training::columns; ++column)
      EXPECT_EQ(training.batch_features[i * Training::columns + column],
                static_cast<float>(row * 100 + column));
    for (std::size_t value = 0; value < Training::length * 2; ++value)
      EXPECT_EQ(training.batch_windows[i * Training::length * 2 + value],
                static_cast<float>(training.starts[row] * 2) + static_cast<float>(value));
  }
}

TEST(BeginStep, SeesEveryRowOnceInAnEpoch) {
  for (const std::int64_t rows_per_shard : {0, 1, 5, 8, 36, 37, 100}) {
    Training training;
    std::set<std::int64_t> seen;
    for (std::int64_t step = 0; step < Training::steps; ++step) {
      const std::int64_t count = std::min(Training::batch, Training::rows - step * Training::batch);
      BeginStep work = training.work(count);
      work.order.rows_per_shard = rows_per_shard;
      kernels::begin_step(work);
      seen.insert(training.batch_classes.begin(), training.batch_classes.begin() + count);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(Training::rows)) << rows_per_shard;
  }
}

// Shards of 10 rows in a buffer of three, as they come up: the batches are those of all rows in their order.
TEST(BeginStep, FindsRowsInTheSlotsOfTheirShards) {
  constexpr std::int64_t size = 10, slots = 3, shards = 4;
  Training all;
  Training some;
  std::vector<float> features(slots * size * Training::columns, -2);
  std::vector<std::int64_t> classes(slots * size, -2);
  std::vector<std::int32_t> slot_of(shards, 0);
  std::int64_t loaded = 0;
  for (std::int64_t step = 0; step < 3 * Training::steps; ++step) {
    const std::int64_t within = step % Training::steps;
    const EpochOrder order({size, 0, 1}, 9, Training::rows, step / Training::steps);
    const std::int64_t last = std::min((within + 1) * Training::batch, Training::rows) - 1;
    for (; loaded <= step / Training::steps * shards + last / size; ++loaded) {
      const std::int64_t shard = order.shard_at(loaded % shards);
      slot_of[static_cast<std::size_t>(shard)] = static_cast<std::int32_t>(loaded % slots);
      for (std::int64_t row = 0; row < std::min(size, Training::rows - shard * size); ++row) {
        const auto from = static_cast<std::size_t>(shard * size + row);
        const auto to = static_cast<std::size_t>(loaded % slots * size + row);
        classes[to] = all.classes[from];
        for (std::size_t i = 0; i < Training::columns; ++i)
          features[to * Training::columns + i] = all.features[from * Training::columns + i];
      }
    }
    const std::int64_t rows = std::min(Training::batch, Training::rows - within * Training::batch);
    BeginStep expected = all.work(rows);
    BeginStep work = some.work(rows);
    expected.gather_count = work.gather_count = 2;
    expected.order = work.order = {size, 0, 1};
    work.gathers[0].source = features.data();
    work.gathers[1].source = classes.data();
    work.slots = {slot_of.data(), size};
    kernels::begin_step(expected);
    kernels::begin_step(work);
    EXPECT_EQ(some.batch_classes, all.batch_classes) << step;
    EXPECT_EQ(some.batch_features, all.batch_features) << step;
  }
}

TEST(RowOrder, KeepsTheRowsOfAShardTogetherAndShufflesBoth) {
  const RowOrder order{10, 0, 1};
  std::set<std::int64_t> first_shards;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    for (std::int64_t turn = 0; turn < 4; ++turn) {
      std::vector<std::int64_t> rows;
      for (std::int64_t i = 0; i < (turn == 3 ? 7 : 10); ++i)
        rows.push_back(row_at(order, 3, 37, epoch, turn * 10 + i));
      for (const std::int64_t row : rows) EXPECT_EQ(row / 10, rows.front() / 10);
      EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
      if (turn == 0) first_shards.insert(rows.front() / 10);
      EXPECT_EQ(rows.front() / 10 == 3, turn == 3);
    }
  }
  EXPECT_EQ(first_shards.size(), 3U);
}

TEST(RowOrder, SharesAnEpochAmongProcesses) {
  std::set<std::int64_t> seen;
  for (std::int64_t rank = 0; rank < 3; ++rank)
    for (std::int64_t position = 0; position < 37 / 3; ++position)
      seen.insert(row_at({5, rank, 3}, 3, 37, 2, position));
  EXPECT_EQ(seen.size(), 36U);
}

TEST(GatherRows, CopiesRowsAndWindowsInTheirOrder) {
  Training training;
  const BeginStep work = training.work(Training::batch);
  kernels::gather_rows(work.gathers[1], 30, 7);
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_EQ(training.batch_classes[i], 5030 + static_cast<std::int64_t>(i));
  kernels::gather_rows(work.gathers[2], 36, 1);
  for (std::size_t i = 0; i < Training::length * 2; ++i)
    EXPECT_EQ(training.batch_windows[i], static_cast<float>(training.starts[36] * 2) + static_cast<float>(i));
}

// Three words of each row, five apart, and what lies between stays; on a GPU too where there is one.
TEST(GatherRows, LeavesRoomBetweenRows) {
  std::vector<float> source(18);
  std::iota(source.begin(), source.end(), 0.0F);
  std::vector<float> batch(10, -1.0F);
  kernels::Gather gather{source.data(), nullptr, 12, 12, batch.data(), 20};
  kernels::gather_rows(gather, 2, 2);
  const std::vector<float> expected{6, 7, 8, -1, -1, 9, 10, 11, -1, -1};
  EXPECT_EQ(batch, expected);
  const auto gpu = test::first_gpu();
  if (!gpu) return;
  batch.assign(10, -1.0F);
  test::DeviceCopy copy(*gpu);
  const float* there = nullptr;
  float* batch_there = nullptr;
  copy.send(there, source, Memory::device);
  copy.share(batch_there, batch);
  gather.source = there;
  gather.batch = batch_there;
  kernels::gather_rows(gather, 2, 2, {*gpu, nullptr});
  copy.fetch();
  EXPECT_EQ(batch, expected);
}

// From a single byte to rows that several blocks of a GPU share, of whole words and of some that are none.
TEST(GatherRows, CopiesRowsOfAnyWidth) {
  const auto gpu = test::first_gpu();
  constexpr std::int64_t rows = 11, first = 2, count = 9;
  for (const std::int64_t bytes : {1, 3, 8, 1023, 1028, 16384, 16387, 50'004, 163'856, 17'000'001}) {
    std::vector<std::uint8_t> source(static_cast<std::size_t>(rows * bytes));
    for (std::size_t i = 0; i < source.size(); ++i)
      source[i] = static_cast<std::uint8_t>(i * 2654435761U >> 24);
    const std::vector<std::uint8_t> expected(source.begin() + first * bytes, source.end());
    std::vector<std::uint8_t> batch(static_cast<std::size_t>(count * bytes), 7);
    kernels::Gather gather{source.data(), nullptr, bytes, bytes, batch.data()};
    kernels::gather_rows(gather, first, count);
    EXPECT_TRUE(batch == expected) << bytes;
    if (!gpu) continue;
    std::ranges::fill(batch, std::uint8_t{7});
    test::DeviceCopy copy(*gpu);
    const std::uint8_t* there = nullptr;
    std::uint8_t* batch_there = nullptr;
    copy.send(there, source, Memory::device);
    copy.share(batch_there, batch);
    gather.source = there;
    gather.batch = batch_there;
    kernels::gather_rows(gather, first, count, {*gpu, nullptr});
    copy.fetch();
    EXPECT_TRUE(batch == expected) << bytes;
  }
}

TEST(BeginStep, MovesOnAndPicksTheRateOfItsStep) {
  Training training;
  training.counters.step = 104;
  training.counters.rate_origin = 100;
  kernels::begin_step(training.work(Training::batch));
  EXPECT_EQ(training.learning_rate, 4.5F);
  EXPECT_EQ(training.update_number, 105);
  EXPECT_EQ(training.counters.current_step, 104);
  EXPECT_EQ(training.counters.step, 105);
}

TEST(BeginStep, StaysWhereItIsOnceStopped) {
  Training training;
  training.counters.step = 10;
  training.stopped = 1;
  kernels::begin_step(training.work(Training::batch));
  EXPECT_EQ(training.counters.step, 10);
}

// What a kernel reads and writes, on a GPU.
class TrainingThere {
 public:
  TrainingThere(Training& here, Device device, Memory memory) : copy_(device) {
    work = here.work(Training::batch);
    send(work.gathers[0], here.features, here.batch_features, memory);
    send(work.gathers[1], here.classes, here.batch_classes, memory);
    send(work.gathers[2], here.series, here.batch_windows, memory);
    copy_.send(work.gathers[2].starts, here.starts, memory);
    copy_.send(work.rates, here.rates, Memory::device);
    copy_.share_one(work.counters, here.counters);
    copy_.share_one(work.learning_rate, here.learning_rate);
    copy_.share_one(work.update_number, here.update_number);
    copy_.send(work.stopped, stopped_, Memory::device);
  }
  void fetch() { copy_.fetch(); }

  BeginStep work;

  template <class T>
  void send(kernels::Gather& gather, std::vector<T>& source, std::vector<T>& batch, Memory memory) {
    const T* there = nullptr;
    copy_.send(there, source, memory);
    gather.source = there;
    T* batch_there = nullptr;
    copy_.share(batch_there, batch);
    gather.batch = batch_there;
  }

 private:
  test::DeviceCopy copy_;
  std::vector<float> stopped_{0};
};

// A cube with its mask, whose bytes are no whole number of words, and a number beside them.
TEST(BeginStep, TakesWideRowsAndNarrowOnesInOneStepOnTheGpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  constexpr std::int64_t wide = 100'000, odd = 25'001;
  struct Rows {
    Training training;
    std::vector<float> cubes = std::vector<float>(Training::rows * wide);
    std::vector<std::uint8_t> masks = std::vector<std::uint8_t>(Training::rows * odd);
    std::vector<float> batch_cubes = std::vector<float>(Training::batch * wide, -1);
    std::vector<std::uint8_t> batch_masks = std::vector<std::uint8_t>(Training::batch * odd, 7);

    Rows() {
      std::iota(cubes.begin(), cubes.end(), 0.0F);
      for (std::size_t i = 0; i < masks.size(); ++i) masks[i] = static_cast<std::uint8_t>(i % 251);
      training.counters.step = 2;
    }
    void add_to(BeginStep& work) {
      work.gathers[0] = {cubes.data(), nullptr, 4 * wide, 4 * wide, batch_cubes.data()};
      work.gathers[2] = {masks.data(), nullptr, odd, odd, batch_masks.data()};
    }
  };
  Rows expected;
  Rows actual;
  BeginStep work = expected.training.work(Training::batch);
  expected.add_to(work);
  kernels::begin_step(work);
  TrainingThere there(actual.training, *gpu, Memory::device);
  actual.add_to(there.work);
  there.send(there.work.gathers[0], actual.cubes, actual.batch_cubes, Memory::device);
  there.send(there.work.gathers[2], actual.masks, actual.batch_masks, Memory::device);
  kernels::begin_step(there.work, {*gpu, nullptr});
  there.fetch();
  EXPECT_TRUE(actual.batch_cubes == expected.batch_cubes);
  EXPECT_TRUE(actual.batch_masks == expected.batch_masks);
  EXPECT_EQ(actual.training.batch_classes, expected.training.batch_classes);
  EXPECT_EQ(actual.training.counters.step, 3);
  EXPECT_EQ(actual.training.counters.ticket, 0U);
}

TEST(BeginStep, DoesOnTheGpuWhatItDoesOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const RowOrder& order : {RowOrder{}, RowOrder{5, 0, 1}, RowOrder{5, 1, 2}}) {
    for (const Memory memory : {Memory::device, Memory::pinned}) {
      Training expected;
      Training actual;
      TrainingThere there(actual, *gpu, memory);
      // Whatever is in a slot: here all slots hold the first rows.
      std::vector<std::int32_t> slots(Training::rows, 0);
      test::DeviceCopy table(*gpu);
      const std::int32_t* slots_there = nullptr;
      table.send(slots_there, slots, Memory::device);
      for (int step = 0; step < 12; ++step) {
        BeginStep work = expected.work(step % Training::steps == 4 ? 5 : Training::batch);
        work.order = there.work.order = order;
        work.epoch_rows = there.work.epoch_rows = Training::rows / order.ranks;
        there.work.batch_rows = work.batch_rows;
        if (order.is_sharded() && step % 2 == 1) {
          work.slots = {slots.data(), order.rows_per_shard};
          there.work.slots = {slots_there, order.rows_per_shard};
        } else {
          there.work.slots = {};
        }
        kernels::begin_step(there.work, {*gpu, nullptr});
        kernels::begin_step(work);
        there.fetch();
        EXPECT_EQ(actual.batch_features, expected.batch_features);
        EXPECT_EQ(actual.batch_classes, expected.batch_classes);
        EXPECT_EQ(actual.batch_windows, expected.batch_windows);
        EXPECT_EQ(actual.learning_rate, expected.learning_rate);
        EXPECT_EQ(actual.update_number, expected.update_number);
        EXPECT_EQ(actual.counters.step, expected.counters.step);
        EXPECT_EQ(actual.counters.current_step, expected.counters.current_step);
        EXPECT_EQ(actual.counters.ticket, 0U);
      }
    }
  }
}

TEST(GatherRows, DoesOnTheGpuWhatItDoesOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  Training expected;
  Training actual;
  TrainingThere there(actual, *gpu, Memory::pinned);
  for (int i = 0; i < there.work.gather_count; ++i) {
    kernels::gather_rows(there.work.gathers[i], 11, Training::batch, {*gpu, nullptr});
    kernels::gather_rows(expected.work(0).gathers[i], 11, Training::batch);
  }
  there.fetch();
  EXPECT_EQ(actual.batch_features, expected.batch_features);
  EXPECT_EQ(actual.batch_classes, expected.batch_classes);
  EXPECT_EQ(actual.batch_windows, expected.batch_windows);
}

// Rows of several slices and of none, that begin at odd places and stand apart in the batch.
TEST(GatherRows, TakesWhateverLiesAnywhereOnTheGpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  constexpr std::int64_t rows = 9, first = 2, count = 5;
  const std::vector<std::int64_t> places{40, 3, 0, 17, 5, 8, 1, 22, 11};
  struct Case {
    std::int64_t bytes, step, stride, from, to;  // `from` and `to`: where source and batch begin
    bool has_places;
  };
  for (const Case& each :
       {Case{40'000, 40'000, 40'016, 0, 0, false}, Case{40'000, 40'003, 40'000, 1, 2, false},
        Case{40'000, 36, 40'004, 4, 8, true}, Case{17'001, 33, 17'100, 3, 0, true},
        Case{8, 7, 12, 0, 4, true}, Case{5, 5, 9, 2, 1, false}}) {
    std::vector<std::uint8_t> source(
        static_cast<std::size_t>(each.from + std::max(rows, std::int64_t{41}) * each.step + each.bytes));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 37 % 251);
    std::vector<std::uint8_t> expected(static_cast<std::size_t>(each.to + count * each.stride + each.bytes),
                                       9);
    std::vector<std::uint8_t> actual = expected;
    const std::int64_t* starts = each.has_places ? places.data() : nullptr;
    kernels::gather_rows(
        {source.data() + each.from, starts, each.step, each.bytes, expected.data() + each.to, each.stride},
        first, count);
    test::DeviceCopy copy(*gpu);
    const std::uint8_t* source_there = nullptr;
    std::uint8_t* batch_there = nullptr;
    const std::int64_t* places_there = nullptr;
    copy.send(source_there, source, Memory::device);
    copy.share(batch_there, actual);
    if (each.has_places) copy.send(places_there, places, Memory::device);
    kernels::gather_rows(
        {source_there + each.from, places_there, each.step, each.bytes, batch_there + each.to, each.stride},
        first, count, {*gpu, nullptr});
    copy.fetch();
    EXPECT_TRUE(actual == expected) << each.bytes << " bytes, " << each.step << " apart";
  }
}

TEST(BeginStep, TakesABatchInPartsAndMovesOnWithTheLast) {
  Training whole;
  whole.counters.step = 3;
  kernels::begin_step(whole.work(Training::batch));
  Training parts;
  parts.counters.step = 3;
  std::vector<std::int64_t> classes;
  for (std::int64_t first = 0; first < Training::batch; first += 3) {
    const std::int64_t count = std::min<std::int64_t>(3, Training::batch - first);
    BeginStep part = parts.work(count);
    part.first_row = first;
    part.moves_on = first + count == Training::batch;
    kernels::begin_step(part);
    EXPECT_EQ(parts.counters.current_step, 3);
    EXPECT_EQ(parts.counters.step, part.moves_on ? 4 : 3);
    classes.insert(classes.end(), parts.batch_classes.begin(), parts.batch_classes.begin() + count);
  }
  EXPECT_EQ(classes, whole.batch_classes);
  EXPECT_EQ(parts.learning_rate, whole.learning_rate);
  EXPECT_EQ(parts.update_number, whole.update_number);
}

TEST(BeginStep, CountsTheRowsOfABatchThatIsPadded) {
  Training training;
  for (std::int64_t step = 0; step < 2 * Training::steps; ++step) {
    kernels::begin_step(training.work(Training::batch));
    EXPECT_EQ(training.counters.current_rows, step % Training::steps == Training::steps - 1 ? 5 : 8) << step;
  }
  // Padding is the epoch's last row.
  for (std::size_t row = 5; row < 8; ++row)
    EXPECT_EQ(training.batch_classes[row], training.batch_classes[4]) << row;
}

}  // namespace
}  // namespace stoker
