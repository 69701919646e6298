#include "data/source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/declared_types.h"
#include "data/download.h"
#include "data/samples.h"
#include "data/table_files.h"
#include "data/url_secrets.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

SourceFormat format_by_name(const fs::path& name) {
  std::string ending = lower_case(name.extension().string());
  if (ending == ".gz" || ending == ".zst") ending = lower_case(name.stem().extension().string());
  if (ending == ".csv" || ending == ".txt" || ending == ".data") return SourceFormat::csv;
  if (ending == ".tsv" || ending == ".tab") return SourceFormat::tsv;
  if (ending == ".parquet" || ending == ".pq") return SourceFormat::parquet;
  if (ending == ".arrow" || ending == ".feather" || ending == ".ipc" || ending == ".arrows")
    return SourceFormat::arrow;
  if (ending == ".npy") return SourceFormat::npy;
  return SourceFormat::automatic;
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

SourceFormat told_format(SourceFormat asked, const fs::path& name, const fs::path& file) {
  if (asked != SourceFormat::automatic) return asked;
  SourceFormat format = format_by_name(name);
  if (format == SourceFormat::automatic) format = format_by_content(file);
  if (format == SourceFormat::automatic) {
    refuse(
        "'{}': neither the file's extension nor its content shows the format; set format to csv, tsv, "
        "parquet, arrow or npy",
        name.string());
  }
  return format;
}

char told_delimiter(const SourceConfig& config, SourceFormat format) {
  if (config.delimiter.empty()) return format == SourceFormat::tsv ? '\t' : ',';
  if (config.delimiter == "\\t" || lower_case(config.delimiter) == "tab") return '\t';
  const char delimiter = config.delimiter.front();
  if (config.delimiter.size() != 1 ||
      std::string_view("\"\r\n\0", 4).find(delimiter) != std::string_view::npos) {
    refuse("delimiter '{}' must be a single character other than a quote or line break, such as ; or tab",
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

// The settings that change how the same bytes are read belong to the fingerprint.
std::string content_fingerprint(const HashedFile& file, SourceFormat format, char delimiter) {
  return sha256_of_text(fmt::format("{} {} {}", file.sha256(), config::name_of(format), int{delimiter}));
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
  fs::path name;
  if (config.source == SourceKind::url) {
    if (config.url.empty()) refuse("source is url, but url is not set");
    const auto folder = std::make_shared<TemporaryFolder>();
    const std::string address = expanded_url(config.url);
    source.description_ = shown_url(config.url);
    name = file_name_of_url(address);
    source.file_ = folder->path() / (name.empty() ? fs::path("download") : name);
    download(address, source.description_, source.file_,
             {config.url_timeout, static_cast<std::uint64_t>(std::min(config.url_max_megabytes, 1e9) * 1e6),
              stop});
    source.keeps_download_ = folder;
  } else {
    if (config.path.empty()) refuse("source is {}, but path is not set", config::name_of(config.source));
    name = config.path;
    source.file_ = base / name;
    source.description_ = config.path;
  }
  refuse_unless_file(source.file_);
  source.config_.format = told_format(config.format, name, source.file_);
  const char delimiter = told_delimiter(config, source.config_.format);
  source.hashed_.emplace(source.file_);
  source.fingerprint_ = content_fingerprint(*source.hashed_, source.config_.format, delimiter);
  return source;
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
         (config_.format == SourceFormat::csv || config_.format == SourceFormat::tsv);
}

std::optional<Table> Source::first_rows() const {
  constexpr std::int64_t rows = 1000;
  constexpr std::int64_t bytes = 1 << 18;
  if (config_.source == SourceKind::sample)
    return make_sample(config_.sample_name, std::min(rows, config_.sample_rows.value()), config_.sample_seed);
  if (!infers_types()) return std::nullopt;
  const Table start =
      read_csv_start(file_, told_delimiter(config_, config_.format), config_.text_columns, bytes);
  return with_declared_types(checked_columns(start, description_), config_.text_columns,
                             config_.number_columns, no_notes());
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
    default:
      break;
  }
  const Table table = read_csv(file_, told_delimiter(config_, config_.format), text_columns);
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

Table Source::read(const std::vector<std::string>& text_columns, const Notes& notes) const {
  std::vector<std::string> texts = config_.text_columns;
  for (const std::string& name : text_columns) {
    const auto& numbers = config_.number_columns;
    if (std::find(numbers.begin(), numbers.end(), name) == numbers.end()) texts.push_back(name);
  }
  const Table table =
      with_declared_types(read_hashed_rows(texts), config_.text_columns, config_.number_columns, notes);
  warn_of_slips(table, texts, notes);
  return table;
}

}  // namespace stoker
