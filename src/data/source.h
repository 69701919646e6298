#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hashed_file.h"
#include "base/notes.h"
#include "base/stop.h"
#include "config/field.h"
#include "data/csv_dialect.h"
#include "data/date_columns.h"
#include "data/samples.h"
#include "data/table.h"

namespace stoker {

enum class SourceKind { sample, csv, file, url };
enum class SourceFormat { automatic, csv, tsv, parquet, arrow, npy, jsonl, arff };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::SourceKind>{"sample", "csv",
                                                                                           "file", "url"};
template <>
inline constexpr std::array<std::string_view, 8> stoker::config::names<stoker::SourceFormat>{
    "auto", "csv", "tsv", "parquet", "arrow", "npy", "jsonl", "arff"};

namespace stoker {

struct SourceConfig {
  SourceKind source = SourceKind::csv;
  std::string path;
  std::string url;
  SampleName sample_name = SampleName::boston_housing;
  std::optional<std::int64_t> sample_rows;
  std::uint64_t sample_seed = 42;
  SourceFormat format = SourceFormat::automatic;
  std::string delimiter;  // empty: found
  DecimalMark decimal = DecimalMark::automatic;
  ThousandsMark thousands = ThousandsMark::automatic;
  HeaderChoice header = HeaderChoice::automatic;
  std::vector<std::string> missing_words;
  std::vector<std::string> text_columns;
  std::vector<std::string> number_columns;
  config::Value date_columns;  // a map of texts
  double url_timeout = 60;
  double url_max_megabytes = 1024;
};

inline config::Fields fields(SourceConfig& c) {
  return {
      config::field(
          "source", c.source,
          "Where the rows come from: a built-in sample, a file (csv is the same as file), or a URL"),
      config::field("path", c.path,
                    "File to read: csv, tsv, jsonl, arff (also .gz, .zst and .bz2), parquet, arrow/feather, "
                    "npy, or a zip of "
                    "one of them; - is standard input. Relative to the document")
          .optional(),
      config::field("url", c.url, "http or https address of such a file").optional(),
      config::field("sample_name", c.sample_name, "Built-in sample"),
      config::field("sample_rows", c.sample_rows, "Rows of the sample; its usual size if not set")
          .within(1, 100'000'000),
      config::field("sample_seed", c.sample_seed, "Seed of the sample"),
      config::field("format", c.format,
                    "Format of the file; auto infers it from the file's extension or content"),
      config::field("delimiter", c.delimiter,
                    "Character between the values of a csv file, or blanks for any number of them; not set: "
                    "what the start of the file shows, of , ; | tab and blanks")
          .optional(),
      config::field(
          "decimal", c.decimal,
          "What stands before the fraction of numbers in a csv file; auto: as the start of the file "
          "shows, a point when in doubt"),
      config::field("thousands", c.thousands,
                    "What stands between the thousands of numbers in a csv file; auto: as the start of the "
                    "file shows, none when in doubt"),
      config::field(
          "header", c.header,
          "Whether the first row of a csv file has the names of the columns; without it they are "
          "c0, c1, …; auto: yes, unless it has numbers where the rows below have them, or words that "
          "stand again below it"),
      config::field(
          "missing_words", c.missing_words,
          "Words (or numbers such as -999) of a csv file that count as missing in all columns. Among "
          "numbers and dates the usual ones do anyway: ? - NA n/a null . and the like")
          .optional(),
      config::field("text_columns", c.text_columns,
                    "Columns to keep as text, even if all their values look like numbers, booleans or dates")
          .optional(),
      config::field("number_columns", c.number_columns,
                    "Columns to read as numbers; other values count as missing")
          .optional(),
      config::field(
          "date_columns", c.date_columns,
          "Columns to read as dates, each with its form, such as {sold: \"%d/%m/%Y\"}; other values "
          "count as missing. Dates in usual forms are found without it"),
      config::field("url_timeout", c.url_timeout, "Seconds a download may take").above(0),
      config::field("url_max_megabytes", c.url_max_megabytes, "Size at which a download is refused").above(0),
  };
}

// The forms of date_columns; refuses what is no form, and columns that text_columns or number_columns name
// too.
DateForms date_forms_of(const SourceConfig& config);

// A source that has been looked at but not yet read. Opening fetches a URL; reading parses.
class Source {
 public:
  // Relative paths are taken from `base`. Refuses what is missing or contradictory (source: url without url).
  // A download heeds an interruption.
  static Source open(const SourceConfig& config, const std::filesystem::path& base,
                     const StopSignal* stop = nullptr);
  // For the command line: a path, - for standard input, a URL, or sample:NAME.
  static SourceConfig config_for(const std::string& location);

  // Changes exactly when the rows may: hash of the content, or of the sample's settings and version.
  const std::string& fingerprint() const { return fingerprint_; }
  const std::string& description() const { return description_; }  // "houses.csv", "sample boston_housing"
  // Refuses empty files, ragged rows (with the line), equal column names, no rows.
  // `text_columns` of a CSV or TSV stay the text they are: a model that learnt texts must meet 007 and True
  // again, not the 7 and true that a file with nothing else in the column would be taken for.
  // `date_forms` are those that a model's training met: they come first where a text may be several dates.
  // Notes what was found about the file's dialect and dates, and warns of text columns that would be numbers
  // but for a few values.
  // Refuses a file whose content is not the one that the fingerprint was taken of.
  Table read(const std::vector<std::string>& text_columns = {}, const Notes& notes = no_notes(),
             const DateForms& date_forms = {}) const;
  // A thousand rows or so from the start, quickly, for a look at what read() will give. None where only
  // reading all tells: Parquet, Arrow and npy.
  std::optional<Table> first_rows() const;
  std::uintmax_t bytes() const;  // of the file; 0 of a sample
  // Whether types are told by the look of the values, so that another file may have others.
  bool infers_types() const;

 private:
  struct Found {
    Severity severity;
    std::string message;
  };

  void find_file(const std::filesystem::path& base, const StopSignal* stop);
  void unpack_archive();
  void look_at_file();
  std::vector<std::string> texts_to_read(const std::vector<std::string>& learnt_as_text,
                                         const DateForms& learnt_dates) const;
  Table in_chosen_types(const Table& table, const std::vector<std::string>& learnt_as_text,
                        const DateForms& learnt_dates, const Notes& notes) const;
  Table read_rows(const std::vector<std::string>& text_columns) const;
  Table read_hashed_rows(const std::vector<std::string>& text_columns) const;

  SourceConfig config_;
  std::filesystem::path name_;  // whose ending may tell the format
  std::filesystem::path file_;
  std::optional<HashedFile> hashed_;        // none of a sample
  std::shared_ptr<const void> keeps_file_;  // of a file that is nowhere else
  CsvDialect dialect_;
  DateForms date_columns_;
  std::vector<Found> found_;  // about the dialect
  std::string fingerprint_;
  std::string description_;
};

}  // namespace stoker
