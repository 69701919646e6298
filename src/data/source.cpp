#include "data/source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <arrow/table.h>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/date_form.h"
#include "data/declared_types.h"
#include "data/download.h"
#include "data/kept_downloads.h"
#include "data/packed_text.h"
#include "data/samples.h"
#include "data/standard_input.h"
#include "data/table_files.h"
#include "data/unsigned_columns.h"
#include "data/url_secrets.h"
#include "data/words_among_numbers.h"
#include "data/zip.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// What is packed says behind its ending what it is: .csv.gz.
bool is_ending_of_packed(const std::string& ending) {
  return ending == ".gz" || ending == ".zst" || ending == ".bz2";
}

struct EndingOfFormat {
  std::string_view ending;
  SourceFormat format;
};
constexpr std::array<EndingOfFormat, 16> endings{{{".csv", SourceFormat::csv},
                                                  {".txt", SourceFormat::csv},
                                                  {".data", SourceFormat::csv},
                                                  {".dat", SourceFormat::csv},
                                                  {".tsv", SourceFormat::tsv},
                                                  {".tab", SourceFormat::tsv},
                                                  {".parquet", SourceFormat::parquet},
                                                  {".pq", SourceFormat::parquet},
                                                  {".arrow", SourceFormat::arrow},
                                                  {".feather", SourceFormat::arrow},
                                                  {".ipc", SourceFormat::arrow},
                                                  {".arrows", SourceFormat::arrow},
                                                  {".npy", SourceFormat::npy},
                                                  {".jsonl", SourceFormat::jsonl},
                                                  {".ndjson", SourceFormat::jsonl},
                                                  {".arff", SourceFormat::arff}}};

SourceFormat format_by_name(const fs::path& name) {
  std::string ending = lower_case(name.extension().string());
  if (is_ending_of_packed(ending)) ending = lower_case(name.stem().extension().string());
  const auto* const known = std::ranges::find(endings, ending, &EndingOfFormat::ending);
  return known == endings.end() ? SourceFormat::automatic : known->format;
}

SourceFormat format_by_content(const fs::path& file) {
  std::array<char, 6> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  const std::string_view bytes(start.data(), start.size());
  if (bytes.starts_with("PAR1")) return SourceFormat::parquet;
  if (bytes == "ARROW1") return SourceFormat::arrow;
  if (bytes == "\x93NUMPY") return SourceFormat::npy;
  return SourceFormat::automatic;
}

// Of what has no name that tells: an object opens a line of JSON, anything else is a row.
SourceFormat format_of_text(const std::string& start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string::npos && start[first] == '{' ? SourceFormat::jsonl : SourceFormat::csv;
}

[[noreturn]] void refuse_format(const std::string& name) {
  std::vector<std::string> known;
  for (const EndingOfFormat& each : endings) known.emplace_back(each.ending);
  std::vector<std::string> formats(config::names<SourceFormat>.begin() + 1,
                                   config::names<SourceFormat>.end());
  const std::string last = formats.back();
  formats.pop_back();
  refuse(
      "'{}': neither the file's extension nor its content shows the format; set format (--format) to {} or "
      "{}, or give the file one of the extensions {} (packed: .gz, .zst, .bz2, .zip)",
      name, join(formats, ", "), last, join(known, ", "));
}

SourceFormat told_format(SourceFormat asked, const fs::path& name, const fs::path& file) {
  if (asked != SourceFormat::automatic) return asked;
  SourceFormat format = format_by_name(name);
  if (format == SourceFormat::automatic) format = format_by_content(file);
  constexpr std::int64_t bytes_to_tell = 1 << 16;
  const bool may_be_any_text =
      format == SourceFormat::csv || (format == SourceFormat::automatic && name == standard_input_path);
  if (may_be_any_text) {
    const std::string start = text_start(file, bytes_to_tell);
    if (is_arff(start)) return SourceFormat::arff;  // under .dat or .txt, mostly
    if (format == SourceFormat::automatic) format = format_of_text(start);
  }
  if (format == SourceFormat::automatic) refuse_format(name.string());
  return format;
}

bool is_blanks(const SourceConfig& config) {
  return lower_case(config.delimiter) == "blanks";
}

// None where it is to be found.
char told_delimiter(const SourceConfig& config) {
  if (config.delimiter.empty()) return '\0';
  if (config.delimiter == "\\t" || lower_case(config.delimiter) == "tab" || is_blanks(config)) return '\t';
  const char delimiter = config.delimiter.front();
  if (config.delimiter.size() != 1 ||
      std::string_view("\"\r\n\0", 4).find(delimiter) != std::string_view::npos) {
    refuse(
        "delimiter '{}' must be a single character other than a quote or line break, such as ; or tab, or "
        "blanks",
        config.delimiter);
  }
  return delimiter;
}

void refuse_unless_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) refuse("the file '{}' does not exist", file.string());
  if (error) refuse("'{}' cannot be read: {}", file.string(), error.message());
  if (status.type() != fs::file_type::regular) refuse("'{}' is not a file", file.string());
  if (!std::ifstream(file, std::ios::binary))
    refuse("'{}' cannot be opened: {}", file.string(), std::strerror(errno));
  if (fs::file_size(file, error) == 0) refuse("'{}' is empty", file.string());
}

bool is_text_of_rows(SourceFormat format) {
  return format == SourceFormat::csv || format == SourceFormat::tsv;
}

// The settings that change how the same bytes are read belong to the fingerprint.
std::string content_fingerprint(const HashedFile& file, SourceFormat format, const CsvDialect& dialect) {
  return sha256_of_text(fmt::format("{} {} {}", file.sha256(), config::name_of(format), dialect.text()));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

void warn_of_lost_digits(const Table& table, const Notes& notes) {
  for (const std::string& name : columns_with_lost_digits(*table.columns)) {
    notes(
        Severity::warning,
        fmt::format("column '{}' holds whole numbers of more than 19 digits, of which about 16 are kept; if "
                    "they are identifiers, name it in text_columns of data_load (--text-columns)",
                    name));
  }
}

// Errors name the source as people know it, not the file that its content was put into.
template <class Work>
auto naming(const std::string& description, const fs::path& file, bool is_elsewhere, Work work) {
  try {
    return work();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (!is_elsewhere) throw;
    throw Error(error.code(), replaced(error.what(), file.string(), description), error.cause());
  }
}

// A table that is one column under a name like a;b;c was meant to be three.
void refuse_other_delimiter(const SourceConfig& config, const Table& table, const std::string& name) {
  const std::vector<std::string> columns = table.column_names();
  if (!config.delimiter.empty() || columns.size() != 1) return;
  const std::size_t found = columns.front().find_first_of(";\t");
  if (found == std::string::npos) return;
  const bool is_tab = columns.front()[found] == '\t';
  refuse(
      "{} has one column, '{}': its values seem to be separated by {}. Set delimiter (--delimiter {}), or "
      "set it to ',' if there is only one column",
      name, columns.front(), is_tab ? "tabs" : "';'", is_tab ? "$'\\t'" : "';'");
}

}  // namespace

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

Source Source::open(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  Source source;
  source.config_ = config;
  if (config.source == SourceKind::sample) {
    source.config_.sample_rows = config.sample_rows.value_or(usual_rows(config.sample_name));
    source.description_ = fmt::format("sample {}", config::name_of(config.sample_name));
    source.fingerprint_ =
        sha256_of_text(fmt::format("{} {} {} version {}", source.description_, *source.config_.sample_rows,
                                   config.sample_seed, samples_version));
    return source;
  }
  source.date_columns_ = date_forms_of(config);
  source.find_file(base, stop);
  source.unpack_archive();
  naming(source.description_, source.file_, source.keeps_file_ != nullptr, [&] { source.look_at_file(); });
  return source;
}

void Source::find_file(const fs::path& base, const StopSignal* stop) {
  if (config_.source == SourceKind::url) {
    if (config_.url.empty()) refuse("source is url, but url is not set");
    const std::string address = expanded_url(config_.url);
    description_ = shown_url(config_.url);
    name_ = file_name_of_url(address);
    if (const std::optional<Downloaded> kept = KeptDownloads::find(address)) {
      file_ = kept->file;
      keeps_file_ = kept->keeps_file;
      return;
    }
    const auto folder = std::make_shared<TemporaryFolder>();
    file_ = folder->path() / (name_.empty() ? fs::path("download") : name_);
    download(address, description_, file_,
             {config_.url_timeout, static_cast<std::uint64_t>(std::min(config_.url_max_megabytes, 1e9) * 1e6),
              stop});
    keeps_file_ = folder;
    KeptDownloads::keep(address, {file_, keeps_file_});
    return;
  }
  if (config_.path.empty()) refuse("source is {}, but path is not set", config::name_of(config_.source));
  name_ = config_.path;
  if (name_ == standard_input_path) {
    const auto input = read_standard_input(stop);
    file_ = input->path();
    description_ = "standard input";
    keeps_file_ = input;
  } else {
    file_ = base / name_;
    description_ = config_.path;
  }
}

void Source::unpack_archive() {
  naming(description_, file_, keeps_file_ != nullptr, [&] { refuse_unless_file(file_); });
  if (!is_zip(file_)) return;
  UnzippedFile unzipped = unzip_only_file(file_, description_);
  name_ = unzipped.name;
  file_ = unzipped.file->path();
  description_ += "/" + unzipped.name;
  keeps_file_ = std::move(unzipped.file);
}

void Source::look_at_file() {
  refuse_unless_file(file_);
  config_.format = told_format(config_.format, name_, file_);
  const char delimiter = told_delimiter(config_);
  hashed_.emplace(file_);
  dialect_.delimiter = config_.format == SourceFormat::tsv ? '\t' : ',';
  if (is_text_of_rows(config_.format)) {
    const Notes keep = [this](Severity severity, const std::string& message) {
      found_.push_back({severity, message});
    };
    dialect_ = find_dialect(file_,
                            {delimiter, is_blanks(config_), dialect_.delimiter, config_.decimal,
                             config_.thousands, config_.header},
                            keep);
    dialect_.missing_words = config_.missing_words;
  }
  fingerprint_ = content_fingerprint(*hashed_, config_.format, dialect_);
}

SourceConfig Source::config_for(const std::string& location) {
  SourceConfig config;
  const std::string start = lower_case(location.substr(0, 8));
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
  } else {
    config.source = SourceKind::file;
    config.path = location;
  }
  return config;
}

bool Source::infers_types() const {
  return config_.source != SourceKind::sample &&
         (is_text_of_rows(config_.format) || config_.format == SourceFormat::jsonl);
}

std::uintmax_t Source::bytes() const {
  std::error_code error;
  const std::uintmax_t size = file_.empty() ? 0 : fs::file_size(file_, error);
  return error ? 0 : size;
}

std::optional<Table> Source::first_rows() const {
  constexpr std::int64_t rows = 1000;
  constexpr std::int64_t bytes = 1 << 18;
  if (config_.source == SourceKind::sample)
    return make_sample(config_.sample_name, std::min(rows, config_.sample_rows.value()), config_.sample_seed);
  const std::vector<std::string> texts = texts_to_read({}, {});
  if (config_.format == SourceFormat::arff) {
    const Table table = checked_columns(read_arff(file_), description_);
    return in_chosen_types({table.columns->Slice(0, rows)}, texts, {}, no_notes());
  }
  if (!is_text_of_rows(config_.format)) return std::nullopt;
  const Table start = read_csv_start(file_, dialect_, texts, bytes);
  return in_chosen_types(checked_columns(start, description_), texts, {}, no_notes());
}

Table Source::read_rows(const std::vector<std::string>& text_columns) const {
  if (config_.source == SourceKind::sample) {
    return make_sample(config_.sample_name, config_.sample_rows.value(), config_.sample_seed);
  }
  switch (config_.format) {
    case SourceFormat::parquet:
      return checked_columns(read_parquet(file_), description_);
    case SourceFormat::arrow:
      return checked_columns(read_arrow_file(file_), description_);
    case SourceFormat::npy:
      return checked_columns(read_npy(file_), description_);
    case SourceFormat::jsonl:
      return checked_columns(read_json_lines(file_, text_columns), description_);
    case SourceFormat::arff:
      return checked_columns(read_arff(file_), description_);
    default:
      break;
  }
  const Table table = read_csv(file_, dialect_, text_columns);
  refuse_other_delimiter(config_, table, description_);
  return checked_columns(table, description_);
}

// The fingerprint stands for these rows wherever they are kept, so they must be of the very bytes that were
// hashed. A file that was only touched, or written anew with the same content, is read once more.
Table Source::read_hashed_rows(const std::vector<std::string>& text_columns) const {
  if (!hashed_) return read_rows(text_columns);
  constexpr int tries = 3;
  HashedFile seen = *hashed_;
  for (int attempt = 0; attempt < tries; ++attempt) {
    try {
      const Table table = read_rows(text_columns);
      if (seen.is_untouched()) return table;
    } catch (const Error&) {
      if (seen.is_untouched()) throw;
    }
    refuse_unless_file(file_);
    seen = HashedFile(file_);
    if (seen.sha256() != hashed_->sha256()) break;
  }
  throw Error(
      ExitCode::wrong_request,
      fmt::format("'{}' was written to after it was opened; run again when it is complete", description_),
      Cause::machine);
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
  const Table read =
      is_text_of_rows(config_.format)
          ? with_missing_words(table, dialect_.numbers, texts_to_read(learnt_as_text, learnt_dates), notes)
          : table;
  return with_dates(with_declared_types(read, config_.text_columns, config_.number_columns, notes), dates,
                    notes);
}

Table Source::read(const std::vector<std::string>& text_columns, const Notes& notes,
                   const DateForms& date_forms) const {
  return naming(description_, file_, keeps_file_ != nullptr, [&] {
    for (const Found& found : found_) notes(found.severity, found.message);
    const std::vector<std::string> texts = texts_to_read(text_columns, date_forms);
    const Table table = in_chosen_types(read_hashed_rows(texts), text_columns, date_forms, notes);
    if (is_text_of_rows(config_.format)) warn_of_lost_digits(table, notes);
    warn_of_slips(table, texts, notes);
    return table;
  });
}

}  // namespace stoker
