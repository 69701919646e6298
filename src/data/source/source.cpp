#include "data/source/source.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>

#include "base/error.h"
#include "base/process/crash_message.h"
#include "base/text/text.h"
#include "data/confined/confined_reader.h"
#include "data/dates/date_form.h"
#include "data/source/declared_types.h"
#include "data/source/file_format.h"
#include "data/source/source_reader.h"
#include "data/source/source_table.h"
#include "data/table/unsigned_columns.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Settings that not every kind of source has, with whether they are given.
std::vector<std::pair<std::string, bool>> settings_of_some(const SourceConfig& config) {
  return {{"uri", !config.uri.empty()},
          {"table", !config.table.empty()},
          {"query", !config.query.empty()},
          {"columns", !config.columns.empty()},
          {"where", !config.where.empty()},
          {"partitions", config.partitions.has_value()},
          {"partition_column", !config.partition_column.empty()},
          {"datasets", !config.datasets.empty()},
          {"arrays", config.arrays != ArrayChoice::columns},
          {"refresh", config.refresh != "always"},
          {"refresh_query", !config.refresh_query.empty()},
          {"dataset_ids", !config.dataset_ids.empty()},
          {"cube_key", !config.cube_key.empty()},
          {"mask_path", !config.mask_path.empty()},
          {"mask_key", !config.mask_key.empty()},
          {"wavelengths", !config.wavelengths.empty()},
          {"follow_external", config.follow_external},
          {"processing", config.processing != CubeProcessing::reflectance}};
}

void check_refresh(const SourceConfig& config, SourceProblems& problems) {
  if (!refresh_age(config.refresh))
    problems.push_back({"refresh", fmt::format("'{}' is not always, never or an age such as 90s, 15min, 2h, "
                                               "1d",
                                               config.refresh)});
  if (config.refresh != "always" && !config.refresh_query.empty())
    problems.push_back({"refresh_query", "given together with refresh; remove one of them"});
}

std::int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// Rows that are known from before, and fetched again if somebody reads them after all.
class KnownRowsReader : public SourceReader {
 public:
  KnownRowsReader(KnownRows rows, std::function<OpenedSource()> open)
      : rows_(std::move(rows)), open_(std::move(open)) {}

  std::string fingerprint() const override { return rows_.fingerprint; }
  const std::string& description() const override { return rows_.name; }
  bool infers_types() const override { return opened().infers_types(); }
  std::string renamed(const std::string& message) const override { return opened().renamed(message); }
  bool may_lose_digits() const override { return opened().may_lose_digits(); }
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override {
    if (opened().fingerprint() != rows_.fingerprint)
      throw Error(ExitCode::wrong_request,
                  fmt::format("{}: the rows have changed since they were kept, and must be read again; set "
                              "refresh to always for one run",
                              rows_.name),
                  Cause::machine);
    return opened().read(text_columns, notes);
  }

 private:
  const SourceReader& opened() const {
    const std::lock_guard lock(mutex_);
    if (opened_ == nullptr) opened_ = open_();
    return *opened_;
  }

  KnownRows rows_;
  std::function<OpenedSource()> open_;
  mutable std::mutex mutex_;
  mutable OpenedSource opened_;
};

void warn_of_lost_digits(const Table& table, const Notes& notes) {
  for (const std::string& name : columns_with_lost_digits(*table.columns)) {
    notes(
        Severity::warning,
        fmt::format("column '{}' holds whole numbers of more than 19 digits, of which about 16 are kept; if "
                    "they are identifiers, name it in text_columns of data_load (--text-columns)",
                    name));
  }
}

std::string crash_of_reading(const std::string& shown) {
  return fmt::format("{} is damaged: its reader crashed", shown);
}

bool is_postgres_address(const std::string& text) {
  const std::string start = lower_case(text.substr(0, 13));
  return start.starts_with("postgres://") || start.starts_with("postgresql://");
}

// An address as it stands, or ${NAME} of a variable that holds one. A plain name is one too, unless a file
// has it.
std::string database_address(const std::string& location) {
  if (is_postgres_address(location)) return location;
  const bool is_marked = location.starts_with("${") && location.ends_with("}");
  const std::string name = is_marked ? location.substr(2, location.size() - 3) : location;
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  std::error_code error;
  if (value == nullptr || !is_postgres_address(value) || (!is_marked && fs::exists(location, error)))
    return "";
  return "${" + name + "}";
}

}  // namespace

std::optional<Table> SourceReader::first_rows(const std::vector<std::string>&) const {
  return std::nullopt;
}

std::optional<WholeRows> SourceReader::whole_rows(const std::vector<std::string>&) const {
  return std::nullopt;
}

std::vector<SettingProblem> problems_with(const SourceConfig& config) {
  const SourceOfKind& source = source_of(config);
  std::vector<SettingProblem> problems;
  for (const auto& [name, is_given] : settings_of_some(config)) {
    if (is_given && std::ranges::find(source.own_settings, name) == source.own_settings.end())
      problems.push_back({name, fmt::format("not a setting of source {}", config::name_of(config.source))});
  }
  check_refresh(config, problems);
  source.check(config, problems);
  return problems;
}

std::string source_name(const SourceConfig& config) {
  return source_of(config).name(config);
}

DateForms date_forms_of(const SourceConfig& config) {
  DateForms forms;
  const auto* given = config.date_columns.get_if<config::Value::Map>();
  if (given == nullptr) return forms;
  for (const config::Entry& entry : *given) {
    const auto* form = entry.value.get_if<std::string>();
    if (form == nullptr) refuse("date_columns gives '{}' no form, such as %d/%m/%Y", entry.key);
    for (const auto* others : {&config.text_columns, &config.number_columns}) {
      if (std::ranges::find(*others, entry.key) != others->end())
        refuse("column '{}' is in date_columns and in {}; remove it from one of them", entry.key,
               others == &config.text_columns ? "text_columns" : "number_columns");
    }
    forms.emplace(entry.key, DateForm(*form).text());
  }
  return forms;
}

Source::Source(SourceConfig config, std::shared_ptr<const SourceReader> reader, KnownRows rows,
               bool are_known)
    : config_(std::move(config)),
      date_columns_(date_forms_of(config_)),
      reader_(std::move(reader)),
      rows_(std::move(rows)),
      has_known_rows_(are_known) {}

Source Source::open(const SourceConfig& config, const fs::path& base, const StopSignal* stop,
                    const FindKnownRows& find) {
  const CrashMessage if_it_crashes(crash_of_reading(source_name(config)));
  for (const SettingProblem& problem : problems_with(config))
    refuse("source {}: {}: {}", config::name_of(config.source), problem.setting, problem.problem);
  date_forms_of(config);
  const SourceOfKind& source = source_of(config);
  const bool confined = is_read_confined(config);
  OpenedSource (*const opener)(const SourceConfig&, const fs::path&, const StopSignal*) =
      confined ? open_confined : source.open;
  KnownRows rows;
  if (may_know_rows(config) && find != nullptr) {
    rows.key = key_of_known_rows(config, source.place(config, base));
    rows.name = source.name(config);
    const bool asks = !config.refresh_query.empty();
    // Before the rows: what changes between the two is seen by the next answer.
    if (asks)
      rows.answer = confined ? answer_confined(config, base, stop) : source.answer(config, base, stop);
    const std::int64_t now = seconds_since_1970();
    const std::optional<KnownRows> known = find(rows.key);
    if (known && (asks ? known->answer == rows.answer : are_fresh(*known, config.refresh, now))) {
      const auto open = [config, base, opener] { return opener(config, base, nullptr); };
      return {config, std::make_shared<KnownRowsReader>(*known, open), *known, true};
    }
    rows.read_at = now;
  }
  return {config, opener(config, base, stop), std::move(rows), false};
}

KnownRows Source::rows_to_know() const {
  KnownRows rows = rows_;
  if (!rows.key.empty()) rows.fingerprint = fingerprint();
  return rows;
}

Source Source::of(const SourceConfig& config, std::shared_ptr<const SourceReader> reader) {
  return {config, std::move(reader), {}, false};
}

SourceConfig Source::config_for(const std::string& location) {
  SourceConfig config;
  if (const std::string path = path_behind_sqlite(location); !path.empty())
    refuse("'{}': an SQLite file is named by its path alone: {}", location, path);
  const std::string start = lower_case(location.substr(0, 8));
  if (const std::string uri = database_address(location); !uri.empty()) {
    config.source = SourceKind::postgres;
    config.uri = uri;
    return config;
  }
  if (start.starts_with("http://") || start.starts_with("https://")) {
    config.source = SourceKind::url;
    config.url = location;
  } else if (location.starts_with("sample:")) {
    config.source = SourceKind::sample;
    const std::string name = location.substr(7);
    const auto& known = config::names<SampleName>;
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      const std::vector<std::string> names(known.begin(), known.end());
      refuse("'{}' is not a sample{}; available: {}", name, did_you_mean(name, names), join(names, ", "));
    }
    config.sample_name = static_cast<SampleName>(found - known.begin());
  } else if (location.starts_with("dataset:")) {
    config.source = SourceKind::datasets;
    config.dataset_ids = split_text(location.substr(8), ',');
  } else if (location.starts_with("cubes:")) {
    config.source = SourceKind::cubes;
    config.path = location.substr(6);
  } else {
    config.source = confines_readers() ? kind_of_file_confined(location) : kind_of_file(location);
    config.path = location;
  }
  return config;
}

std::string Source::fingerprint() const {
  return reader_->fingerprint();
}

const std::string& Source::description() const {
  return reader_->description();
}

std::vector<std::string> Source::warnings() const {
  return reader_->warnings();
}

bool Source::infers_types() const {
  return reader_->infers_types();
}

std::uintmax_t Source::bytes() const {
  return reader_->bytes();
}

std::optional<RowCount> Source::row_count() const {
  return reader_->row_count();
}

void Source::leave_rows() const {
  reader_->leave_rows();
}

std::optional<Table> Source::first_rows() const {
  const CrashMessage if_it_crashes(crash_of_reading(description()));
  const std::vector<std::string> texts = texts_to_read({}, {});
  const std::optional<Table> start = reader_->first_rows(texts);
  if (!start) return std::nullopt;
  return in_chosen_types(*start, texts, {}, no_notes());
}

// Columns that the reader of the file is to leave as they are, whatever they look like.
std::vector<std::string> Source::texts_to_read(const std::vector<std::string>& learnt_as_text,
                                               const DateForms& learnt_dates) const {
  std::vector<std::string> texts = config_.text_columns;
  for (const auto& [name, form] : date_columns_) texts.push_back(name);
  const auto is_chosen = [&](const std::string& name) {
    const auto& numbers = config_.number_columns;
    return date_columns_.contains(name) || std::ranges::find(numbers, name) != numbers.end();
  };
  for (const std::string& name : learnt_as_text)
    if (!is_chosen(name)) texts.push_back(name);
  for (const auto& [name, form] : learnt_dates)
    if (!is_chosen(name)) texts.push_back(name);
  return texts;
}

Table Source::in_chosen_types(const Table& table, const std::vector<std::string>& learnt_as_text,
                              const DateForms& learnt_dates, const Notes& notes) const {
  DateSettings dates{date_columns_, learnt_dates, config_.text_columns};
  dates.kept_as_text.insert(dates.kept_as_text.end(), learnt_as_text.begin(), learnt_as_text.end());
  return with_dates(with_declared_types(table, config_.text_columns, config_.number_columns, notes), dates,
                    notes);
}

Table Source::read(const std::vector<std::string>& text_columns, const Notes& notes,
                   const DateForms& date_forms) const {
  const CrashMessage if_it_crashes(crash_of_reading(description()));
  try {
    const std::vector<std::string> texts = texts_to_read(text_columns, date_forms);
    const Table table = in_chosen_types(reader_->read(texts, notes), text_columns, date_forms, notes);
    if (reader_->may_lose_digits()) warn_of_lost_digits(table, notes);
    warn_of_slips(table, texts, notes);
    return table;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), reader_->renamed(error.what()), error.cause());
  }
}

std::optional<WholeRows> Source::read_whole_rows(const Notes& notes) const {
  const CrashMessage if_it_crashes(crash_of_reading(description()));
  try {
    std::optional<WholeRows> rows = reader_->whole_rows(texts_to_read({}, {}));
    if (rows) rows->table = in_chosen_types(rows->table, {}, {}, notes);
    return rows;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), reader_->renamed(error.what()), error.cause());
  }
}

}  // namespace stoker
