#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/memory/kept_columns.h"
#include "data/source/source.h"
#include "data/split/split.h"
#include "data/windows/windows.h"
#include "families/window_line.h"
#include "predict/measure/evaluate.h"
#include "train/fit/fit.h"
#include "train/listeners.h"
#include "train/tables.h"

// A window is the place where it begins: a long series of long windows takes the memory of the series.
namespace stoker {
namespace {

constexpr std::int64_t columns = 7;

// As numpy writes it.
std::filesystem::path write_series(const std::filesystem::path& folder, std::int64_t moments) {
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", moments, columns);
  header.resize(117, ' ');
  header += '\n';
  const std::filesystem::path path = folder / fmt::format("series-{}.npy", moments);
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << std::string("\x76\x00", 2) << header;
  const RandomKey key = random_key(3, Purpose::sample, 0);
  for (std::int64_t i = 0; i < moments * columns; ++i) {
    const double value =
        std::sin(static_cast<double>(i) * 0.01) + uniform(key, static_cast<std::uint32_t>(i));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return path;
}

// In bytes, of this process.
std::int64_t status_of_memory(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(what + ":")) return std::stoll(line.substr(what.size() + 1)) * 1024;
  return 0;
}

// The way of a pipeline: each card's output is kept, and large ones stay in their files.
Table kept(const Table& table, const std::filesystem::path& path, std::int64_t large) {
  write_arrow(table, path);
  return open_arrow(path, static_cast<std::uint64_t>(large));
}

void train_on(const std::filesystem::path& loaded, const std::filesystem::path& folder, std::int64_t large) {
  Table series = open_arrow(loaded, static_cast<std::uint64_t>(large));
  WindowsConfig config;
  config.length = 512;
  config.horizon = 1;
  config.stride = 4;
  config.target_column = series.column_names().front();
  Table table =
      kept(frame_series(series, config, FramedRows::to_learn, no_notes()), folder / "windows.arrow", large);
  series = {};
  const SplitRows rows = split_rows(table, {});
  const Table training = kept(take_rows(table, rows.first), folder / "training.arrow", large);
  const Table test = kept(take_rows(table, rows.second), folder / "test.arrow", large);
  table = {};
  give_back_unused_memory();
  FitRequest request{training, test::spec_of("window_line"), {}, {}, {}, false};
  request.preparation.target_column = config.target_column;
  request.config.device = "cpu";
  request.spec.training.epochs = 1;
  request.spec.training.batch_size = 256;
  request.spec.training.validation_ratio = 0.1;
  test::RecordingListener listener;
  const Model model = fit(request, listener, {}).model;
  evaluate(model, test);
}

std::filesystem::path load(const std::filesystem::path& folder, std::int64_t moments) {
  const std::filesystem::path file = write_series(folder, moments);
  const std::filesystem::path loaded = folder / fmt::format("load-{}.arrow", moments);
  write_arrow(Source::open(Source::config_for(file.string()), ".").read(), loaded);
  return loaded;
}

// What a file takes to be read is measured elsewhere.
TEST(WindowMemory, IsThatOfTheSeries) {
  test::add_window_line();
  const TemporaryFolder folder;
  const std::int64_t moments = 500'000;
  const std::int64_t bytes = moments * columns * static_cast<std::int64_t>(sizeof(double));
  train_on(load(folder.path(), 2'000), folder.path(), 1);  // all that a training takes without data
  const std::filesystem::path loaded = load(folder.path(), moments);
  give_back_unused_memory();
  std::ofstream("/proc/self/clear_refs") << "5";  // the highest so far is what it is now
  const std::int64_t before = status_of_memory("VmRSS");
  train_on(loaded, folder.path(), 1);
  const std::int64_t more = status_of_memory("VmHWM") - before;
  // Windows that were copied out would take 64 times as much as the series.
  EXPECT_LT(static_cast<double>(more), 4 * static_cast<double>(bytes))
      << "a series of " << bytes << " bytes took " << more;
}

}  // namespace
}  // namespace stoker
