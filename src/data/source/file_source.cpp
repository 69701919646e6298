#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

#include <arrow/table.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/hashed_file.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/arrays/envi.h"
#include "data/csv/words_among_numbers.h"
#include "data/format/table_files.h"
#include "data/format/zip.h"
#include "data/source/file_format.h"
#include "data/source/source_reader.h"
#include "data/source/standard_input.h"
#include "data/url/download.h"
#include "data/url/kept_downloads.h"
#include "data/url/url_secrets.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

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
  if (status.type() != fs::file_type::regular)
    refuse("'{}' is not a file{}", file.string(),
           status.type() == fs::file_type::directory
               ? "; a folder of cubes is read by source: cubes, on the command line as cubes:PATH"
               : "");
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

class FileReader : public SourceReader {
 public:
  FileReader(const SourceConfig& config, const fs::path& base, const StopSignal* stop) : config_(config) {
    find_file(base, stop);
    try {
      unpack_archive();
      look_at_file();
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      throw Error(error.code(), renamed(error.what()), error.cause());
    }
  }

  std::string fingerprint() const override;
  const std::string& description() const override { return description_; }
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override;
  std::optional<WholeRows> whole_rows(const std::vector<std::string>& text_columns) const override;
  std::optional<Table> first_rows(const std::vector<std::string>& text_columns) const override;
  std::uintmax_t bytes() const override;
  bool infers_types() const override {
    return is_text_of_rows(config_.format) || config_.format == SourceFormat::jsonl;
  }
  bool may_lose_digits() const override { return is_text_of_rows(config_.format); }
  bool has_images() const { return config_.format == SourceFormat::idx; }
  // Not the file that the content was put into.
  std::string renamed(const std::string& message) const override {
    return keeps_file_ == nullptr ? message : replaced(message, file_.string(), description_);
  }

 private:
  struct Found {
    Severity severity;
    std::string message;
  };

  void find_file(const fs::path& base, const StopSignal* stop);
  void download_file(const StopSignal* stop);
  void unpack_archive();
  void look_at_file();
  Table read_rows(const std::vector<std::string>& text_columns) const;
  Table read_hashed_rows(const HashedFile& hashed, const std::vector<std::string>& text_columns) const;
  Table read_same_rows(const std::vector<std::string>& text_columns) const;
  std::optional<HashedFile> hashed_before() const;
  [[noreturn]] void refuse_written() const;

  SourceConfig config_;
  fs::path name_;  // whose ending may tell the format
  fs::path file_;
  FileStamp opened_;  // the file as it was when it was looked at
  mutable std::mutex mutex_;
  mutable std::optional<HashedFile> hashed_;  // once somebody has asked for it
  std::shared_ptr<const void> keeps_file_;    // of a file that is nowhere else
  CsvDialect dialect_;
  std::vector<Found> found_;  // about the dialect
  std::string description_;
};

void FileReader::download_file(const StopSignal* stop) {
  const std::string address = expanded_url(config_.url);
  description_ = shown_url(config_.url);
  name_ = file_name_of_url(address, description_);
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
}

void FileReader::find_file(const fs::path& base, const StopSignal* stop) {
  if (config_.source == SourceKind::url) return download_file(stop);
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

void FileReader::unpack_archive() {
  refuse_unless_file(file_);
  if (!is_zip(file_)) return;
  UnzippedFile unzipped = unzip_only_file(file_, description_);
  name_ = unzipped.name;
  file_ = unzipped.file->path();
  description_ += "/" + unzipped.name;
  keeps_file_ = std::move(unzipped.file);
}

void FileReader::look_at_file() {
  refuse_unless_file(file_);
  opened_ = stamp_of(file_);
  if (!would_show_writes(opened_)) {
    hashed_.emplace(file_);
    opened_ = hashed_->stamp();
  }
  if (config_.format == SourceFormat::automatic && keeps_file_ == nullptr)
    if (const std::optional<fs::path> header = envi_header_of(file_))
      refuse("'{}' holds the numbers of a cube in ENVI form, not rows; give its header, '{}'", description_,
             fs::path(description_).replace_filename(header->filename()).string());
  config_.format = told_format(config_.format, name_, file_);
  if (has_images() && (keeps_file_ != nullptr))
    refuse(
        "'{}' is in IDX form, whose labels lie in a file beside it: it must be a file in a folder with them",
        description_);
  const char delimiter = told_delimiter(config_);
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
}

void FileReader::refuse_written() const {
  throw Error(
      ExitCode::wrong_request,
      fmt::format("'{}' was written to after it was opened; run again when it is complete", description_),
      Cause::machine);
}

// Hashing costs as much as reading some formats does, so it waits for somebody who asks.
std::string FileReader::fingerprint() const {
  const std::lock_guard lock(mutex_);
  try {
    if (!hashed_) {
      HashedFile now(file_);
      if (now.stamp() != opened_) refuse_written();
      hashed_.emplace(std::move(now));
    }
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), renamed(error.what()), error.cause());
  }
  return content_fingerprint(*hashed_, config_.format, dialect_);
}

std::optional<HashedFile> FileReader::hashed_before() const {
  const std::lock_guard lock(mutex_);
  return hashed_;
}

std::uintmax_t FileReader::bytes() const {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file_, error);
  return error ? 0 : size;
}

std::optional<Table> FileReader::first_rows(const std::vector<std::string>& text_columns) const {
  constexpr std::int64_t rows = 1000;
  constexpr std::int64_t bytes = 1 << 18;
  if (config_.format == SourceFormat::arff) {
    const Table table = checked_columns(read_arff(file_), description_);
    return Table{table.columns->Slice(0, rows)};
  }
  if (!is_text_of_rows(config_.format)) return std::nullopt;
  const Table start = checked_columns(read_csv_start(file_, dialect_, text_columns, bytes), description_);
  return with_missing_words(start, dialect_.numbers, text_columns, no_notes());
}

// A Parquet file has at its end what says where its columns lie: cut short, nothing of it can be read.
std::optional<WholeRows> FileReader::whole_rows(const std::vector<std::string>& text_columns) const {
  std::optional<WholeRows> rows;
  if (is_text_of_rows(config_.format)) {
    rows = read_whole_csv_rows(file_, dialect_, text_columns);
    rows->table = with_missing_words(rows->table, dialect_.numbers, text_columns, no_notes());
  } else if (config_.format == SourceFormat::jsonl) {
    rows = read_whole_json_lines(file_, text_columns);
  } else if (config_.format == SourceFormat::arrow) {
    rows = read_whole_batches(file_);
  }
  if (rows) rows->table = checked_columns(rows->table, description_);
  return rows;
}

Table FileReader::read_rows(const std::vector<std::string>& text_columns) const {
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
Table FileReader::read_hashed_rows(const HashedFile& hashed,
                                   const std::vector<std::string>& text_columns) const {
  constexpr int tries = 3;
  HashedFile seen = hashed;
  for (int attempt = 0; attempt < tries; ++attempt) {
    try {
      const Table table = read_rows(text_columns);
      if (seen.is_untouched()) return table;
    } catch (const Error&) {
      if (seen.is_untouched()) throw;
    }
    refuse_unless_file(file_);
    seen = HashedFile(file_);
    if (seen.sha256() != hashed.sha256()) break;
  }
  refuse_written();
}

// Of a file that nobody has asked the fingerprint of: its stamp tells whether it is still the one that was
// looked at.
Table FileReader::read_same_rows(const std::vector<std::string>& text_columns) const {
  try {
    const Table table = read_rows(text_columns);
    if (stamp_of(file_) == opened_) return table;
  } catch (const Error&) {
    if (stamp_of(file_) == opened_) throw;
  }
  refuse_written();
}

Table FileReader::read(const std::vector<std::string>& text_columns, const Notes& notes) const {
  for (const Found& found : found_) notes(found.severity, found.message);
  const std::optional<HashedFile> hashed = hashed_before();
  const Table table = hashed ? read_hashed_rows(*hashed, text_columns) : read_same_rows(text_columns);
  return is_text_of_rows(config_.format) ? with_missing_words(table, dialect_.numbers, text_columns, notes)
                                         : table;
}

OpenedSource open_file(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  auto file = std::make_unique<FileReader>(config, base, stop);
  if (file->has_images()) return open_images(config, base);
  return file;
}

void check_file(const SourceConfig& config, SourceProblems& problems) {
  if (!config.path.empty()) return;
  problems.push_back({"path", fmt::format("missing; source {} needs a file to read (source: sample does not)",
                                          config::name_of(config.source))});
}

void check_url(const SourceConfig& config, SourceProblems& problems) {
  if (config.url.empty()) problems.push_back({"url", "missing; source url needs an address to read"});
  if (has_credentials(config.url))
    problems.push_back({"url",
                        "contains a user name or password, which is not accepted; put what the address needs "
                        "into its query as ${NAME}, an environment variable"});
}

}  // namespace

SourceOfKind file_source(SourceKind kind) {
  return {kind, open_file, check_file, [](const SourceConfig& config) { return config.path; }};
}

SourceOfKind url_source() {
  return {
      SourceKind::url,
      open_file,
      check_url,
      [](const SourceConfig& config) { return config.url.substr(0, config.url.find_first_of("?#")); },
      {"refresh"},
      // The settings have the address; what its variables hold is secret, and yet makes it another one.
      [](const SourceConfig& config, const fs::path&) { return sha256_of_text(expanded_url(config.url)); }};
}

}  // namespace stoker
