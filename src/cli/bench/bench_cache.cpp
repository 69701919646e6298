#include <cstring>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/random.h"
#include "base/text/text.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "cli/view/terminal.h"
#include "data/memory/kept_columns.h"
#include "data/prepare/preparation.h"
#include "data/source/database_rows.h"
#include "device/device.h"
#include "pipeline/cache/cache.h"
#include "pipeline/cards/cards.h"

namespace stoker::cli {
namespace {

// Columns of real numbers as a database gives them; the last one is the target.
Table rows_to_keep(std::int64_t count, std::int64_t columns) {
  std::vector<database::ColumnForm> forms;
  for (std::int64_t c = 0; c < columns; ++c)
    forms.push_back({c + 1 < columns ? fmt::format("x{}", c) : "y", database::ValueType::float32});
  database::RowWriter writer(forms);
  const RandomKey key = random_key(42, Purpose::sample, 2);
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto value = static_cast<float>(uniform(key, static_cast<std::uint32_t>(row * columns + c)));
      std::memcpy(writer.place(static_cast<std::size_t>(c)), &value, sizeof value);
    }
    writer.end_row();
  }
  const auto rows = std::make_shared<const database::Rows>(database::Rows{std::move(forms), writer.finish()});
  return table_of_rows(rows, ArrayChoice::columns, "rows of the benchmark");
}

// From here on, where the system allows it.
void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace

ExitCode bench_cache(const CacheBenchOptions& options) {
  const TemporaryFolder folder;
  const Cache cache(folder.path() / "cache");
  const CardType card = cards::data_load();
  const std::string identity(64, 'a');
  PreparationConfig config;
  config.target_column = "y";
  const Preparation preparation = Preparation::fit(rows_to_keep(10'000, options.columns), config,
                                                   InputForm(Scaling::standard), no_notes());
  cache.keep(identity, card, {{"dataset", rows_to_keep(options.rows, options.columns)}}, {});
  give_back_unused_memory();
  const auto prepared = [&] {
    const std::optional<KeptOutputs> kept = cache.load(identity, card);
    return preparation.apply(std::get<Table>(kept.value().values.at("dataset")), DType::float32, true);
  };
  forget_peak_memory();
  const std::uint64_t before = peak_memory_bytes();
  const std::uint64_t tensor = prepared().bytes();
  const std::uint64_t peak = peak_memory_bytes() - before;
  const Measured measured = measure(
      [&](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i) prepared();
      },
      options.seconds);
  const Measured checked = measure(
      [&](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i) cache.state_of(identity, card);
      },
      options.seconds);
  const double rate = static_cast<double>(tensor) / measured.seconds_per_unit / 1e9;
  const double times_tensor = static_cast<double>(peak) / static_cast<double>(tensor);
  if (options.json) {
    print_data(nlohmann::json{{"workload", "cache"},
                              {"rows", options.rows},
                              {"columns", options.columns},
                              {"tensor_bytes", tensor},
                              {"seconds", measured.seconds_per_unit},
                              {"spread", measured.spread},
                              {"processor_seconds", measured.processor_seconds_per_unit},
                              {"gb_per_s", rate},
                              {"peak_bytes", peak},
                              {"peak_times_tensor", times_tensor},
                              {"check_seconds", checked.seconds_per_unit}}
                   .dump() +
               "\n");
    return ExitCode::done;
  }
  print(aligned({{"table", fmt::format("{} of {}", counted(static_cast<std::uint64_t>(options.rows), "row"),
                                       counted(static_cast<std::uint64_t>(options.columns), "column"))},
                 {"tensor", human_bytes(tensor)},
                 {"from the mapped file to the tensor",
                  fmt::format("{} ({:.0f} % between windows)", human_seconds(measured.seconds_per_unit),
                              100 * measured.spread)},
                 {"of the processor", human_seconds(measured.processor_seconds_per_unit)},
                 {"rate", fmt::format("{:.2f} GB/s of tensor", rate)},
                 {"peak memory", fmt::format("{}, {:.2f} times the tensor", human_bytes(peak), times_tensor)},
                 {"checking the file before that", human_seconds(checked.seconds_per_unit)}}));
  return ExitCode::done;
}

}  // namespace stoker::cli
