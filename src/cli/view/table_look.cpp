#include "cli/view/table_look.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/process/stop.h"
#include "cli/process/interrupt.h"
#include "data/format/idx.h"
#include "data/prepare/preparation.h"
#include "data/source/standard_input.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"
#include "store/open_source.h"

namespace stoker::cli {
namespace {

constexpr std::uintmax_t quickly_read_bytes = std::uintmax_t{64} << 20;
constexpr std::uintmax_t quickly_unpacked_bytes = std::uintmax_t{16} << 20;
constexpr std::int64_t quickly_made_rows = 1'000'000;

std::uintmax_t most_bytes_of(const SourceConfig& source) {
  const std::string ending =
      std::filesystem::path(source.source == SourceKind::url ? source.url : source.path).extension().string();
  const std::array<std::string_view, 5> packed{".gz", ".zst", ".bz2", ".zip", ".parquet"};
  const bool is_packed = std::ranges::find(packed, ending) != packed.end();
  return is_packed ? quickly_unpacked_bytes : quickly_read_bytes;
}

bool is_far_away(const SourceConfig& source) {
  return source.source == SourceKind::url || source.source == SourceKind::postgres;
}

// Opening reads a file once, to know its content again.
bool is_quickly_opened(const SourceConfig& source) {
  if (source.source == SourceKind::sample) return source.sample_rows.value_or(0) <= quickly_made_rows;
  if (is_idx_name(source.path)) return true;  // a few bytes tell it all
  if (is_far_away(source) || source.path == standard_input_path) return true;
  std::error_code error;
  return std::filesystem::file_size(source.path, error) <= most_bytes_of(source) && !error;
}

// Whether the file or the datasets exist. If not, the run reports it.
bool is_data_there(const SourceConfig& source) {
  std::error_code error;
  if (source.source == SourceKind::datasets) {
    DatasetStore store;
    return std::ranges::none_of(source.dataset_ids,
                                [&](const std::string& id) { return !store.is_known(id); });
  }
  const bool names_file = !source.path.empty() && source.path != standard_input_path;
  return !names_file || std::filesystem::exists(source.path, error);
}

LookedAtTable faulty_table() {
  LookedAtTable faulty;
  faulty.is_faulty = true;
  return faulty;
}

PreparationConfig preparation_from(const config::Value& settings, const std::string& target) {
  PreparationConfig preparation;
  config::Value own;
  for (const config::Field& field : fields(preparation))
    if (const config::Value* given = settings.find(field.name)) own.set(field.name, *given);
  own.set("target_column", target);
  config::Diagnostics diagnostics("");
  preparation = config::read<PreparationConfig>(own, "", diagnostics);
  diagnostics.refuse_if_any();
  return preparation;
}

// The run reports any other problem with the target.
std::string missing_targets_in(const Table& table, const std::string& target) {
  return table.has_column(target) && !table.cubes ? text_of_missing_targets(table, target) : "";
}

// The tables that go with a series are left for the run to read, and with them their columns.
WindowsConfig without_slower(WindowsConfig config) {
  for (const std::string& slower : config.slower.slower_names)
    std::erase_if(config.feature_columns,
                  [&](const std::string& name) { return !name_in_slower(slower, name).empty(); });
  config.slower = {};
  return config;
}

}  // namespace

std::optional<LookedAtTable> look_at_table(const SourceConfig& source, const std::string& target,
                                           const config::Value& settings, Look look,
                                           const std::optional<WindowsConfig>& windows) {
  if (!is_data_there(source)) return faulty_table();
  if (!is_quickly_opened(source)) return std::nullopt;
  StopSignal stop;
  const InterruptGuard guard(stop);
  bool is_open = false;
  try {
    const Source opened = open_source(source, std::filesystem::current_path(), &stop);
    is_open = true;
    opened.leave_rows();
    const std::optional<RowCount> count = windows ? std::nullopt : opened.row_count();
    if (!count && opened.bytes() > most_bytes_of(source)) return std::nullopt;
    const std::optional<Table> start =
        count || look == Look::at_first_rows ? opened.first_rows() : std::nullopt;
    Table table = start ? *start : opened.read();
    if (const std::string missing = windows ? "" : missing_targets_in(table, target); !missing.empty()) {
      LookedAtTable incomplete;
      incomplete.missing_targets = start ? missing_targets_in(opened.read(), target) : missing;
      return incomplete;
    }
    InputForm form(Scaling::none);
    if (windows) {
      table = frame_series(table, without_slower(*windows), FramedRows::to_learn, no_notes());
      form.reads_windows = has_windows(table);
    }
    const Preparation preparation =
        Preparation::fit(table, preparation_from(settings, target), form, no_notes());
    TableShape shape{.rows = count ? count->rows : table.rows(),
                     .has_classes = preparation.task() != Task::regression,
                     .moments = form.reads_windows ? windows->length : 0};
    for (const PreparedColumn& column : preparation.columns())
      (column.kind == PreparedColumn::Kind::number ? shape.numbers : shape.others) += column.width();
    return LookedAtTable{shape, count ? count->first_test_row : std::nullopt};
  } catch (const Error& error) {
    // Nobody wants to wait for the same address a second time.
    if (error.code() == ExitCode::interrupted || (is_far_away(source) && !is_open)) throw;
    return faulty_table();
  }
}

}  // namespace stoker::cli
