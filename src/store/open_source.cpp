#include "store/open_source.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/source/joined_datasets.h"
#include "data/source/standard_input.h"
#include "data/url/url_secrets.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

Source open_recorded(const DatasetRecord& dataset, const StopSignal* stop) {
  try {
    return Source::open(dataset.source, fs::path("/"), stop);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("dataset {}: {}", dataset.id, error.what()), error.cause());
  }
}

// All but where the content lies and how fast it comes.
std::string reading_settings(const SourceConfig& source) {
  nlohmann::json settings = config::to_json(config::write(source));
  for (const char* name : {"path", "url", "uri", "partitions"}) settings.erase(name);
  return settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Each of its rows would be there twice, and one of them might be tested on that another was trained on.
void refuse_twice(const std::vector<std::string>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids[i]) !=
        ids.begin() + static_cast<std::ptrdiff_t>(i))
      refuse("dataset_ids names '{}' twice", printable(ids[i]));
}

// A record is text, in which a path of other bytes would be another path.
void refuse_unless_text(const SourceConfig& source) {
  try {
    [[maybe_unused]] const std::string text = config::to_json(config::write(source)).dump();
  } catch (const nlohmann::json::type_error&) {
    refuse(
        "{} is not UTF-8 text, so that a record cannot hold it; rename the file or the folder that it lies "
        "in",
        source.path.empty() ? "a setting of the source" : "the path '" + printable(source.path) + "'");
  }
}

Table rows_that_can_be_read(const Source& source) {
  try {
    return source.read();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (error.code() != ExitCode::wrong_request || error.cause() == Cause::machine) throw;
    const std::optional<WholeRows> whole = source.read_whole_rows();
    if (!whole) throw;
    return whole->table;
  }
}

}  // namespace

Source open_source(const SourceConfig& config, const fs::path& base, const StopSignal* stop,
                   const FindKnownRows& find) {
  if (config.source != SourceKind::datasets) return Source::open(config, base, stop, find);
  for (const SettingProblem& problem : problems_with(config))
    refuse("source datasets: {}: {}", problem.setting, problem.problem);
  refuse_twice(config.dataset_ids);
  DatasetStore store;
  std::vector<OpenedDataset> datasets;
  for (const std::string& id : config.dataset_ids) {
    const DatasetRecord record = store.find_known(id);
    Source source = open_recorded(record, stop);
    const std::string recorded = record.fingerprint.empty() ? source.fingerprint() : record.fingerprint;
    datasets.push_back({id, std::move(source), recorded, reading_settings(record.source)});
  }
  return Source::of(config, joined_datasets(std::move(datasets)));
}

DatasetRecord record_of(const std::string& id, const SourceConfig& given, const fs::path& base,
                        RowsToRecord rows) {
  if (given.source == SourceKind::datasets)
    refuse("a dataset is put on record by what it is read from, not by other datasets");
  DatasetRecord record;
  record.id = id;
  record.source = given;
  if (given.path == standard_input_path)
    refuse("standard input is gone once it is read; put it into a file first");
  if (!given.path.empty())
    record.source.path = fs::weakly_canonical(fs::absolute(base / given.path)).string();
  if (!given.mask_path.empty())
    record.source.mask_path = fs::weakly_canonical(fs::absolute(base / given.mask_path)).string();
  if (!given.url.empty()) record.source.url = kept_url(given.url, id);
  refuse_unless_text(record.source);
  const Source source = Source::open(given, base);
  record.name = source_name(record.source);
  record.fingerprint = source.fingerprint();
  const Table table = rows == RowsToRecord::all ? source.read() : rows_that_can_be_read(source);
  record.rows = table.rows();
  for (const Preview::Column& column : preview(table).columns)
    record.columns.emplace_back(column.name, column.type);
  if (table.cubes) record.cubes = {table.cubes->height(), table.cubes->width(), table.cubes->channels()};
  record.added = time_stamp_utc();
  return record;
}

namespace {

bool is_about_the_rows(const Error& error) {
  // A machine that is short of something says nothing about the rows.
  return error.code() == ExitCode::wrong_request && error.cause() != Cause::machine;
}

// The rows that can be read all the same, where they are rows of a file; `unread` says what is left out.
std::optional<Table> read_what_can_be(const Source& source, UnreadRows& unread) {
  try {
    std::optional<WholeRows> rows = source.read_whole_rows();
    if (!rows || rows->left_out.is_none()) return std::nullopt;
    unread = std::move(rows->left_out);
    return std::move(rows->table);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (!is_about_the_rows(error)) throw;
    return std::nullopt;
  }
}

}  // namespace

bool has_whole_rows(const SourceConfig& config, const fs::path& base) {
  try {
    UnreadRows unread;
    return read_what_can_be(Source::open(config, base), unread).has_value();
  } catch (const Error&) {
    return false;  // the error that led here is the one to tell
  }
}

CheckedDataset check_dataset(const DatasetRecord& record, const ValueRanges& ranges) {
  CheckedDataset checked;
  checked.record = record;
  std::optional<Source> source;
  try {
    source = open_recorded(record, nullptr);
    checked.has_changed = source->fingerprint() != record.fingerprint;
    checked.table = source->read();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (!is_about_the_rows(error)) throw;
    checked.unreadable = error.what();
  }
  if (!checked.table && source) checked.table = read_what_can_be(*source, checked.unread);
  if (checked.table) checked.faults = find_faults(*checked.table, ranges);
  if (checked.table && checked.table->cubes) checked.cubes = find_cube_faults(*checked.table);
  return checked;
}

}  // namespace stoker
