#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/notes.h"
#include "base/process/stop.h"
#include "data/csv/whole_rows.h"
#include "data/dates/date_columns.h"
#include "data/source/known_rows.h"
#include "data/source/source_config.h"
#include "data/table/table.h"

namespace stoker {

class SourceReader;

// The forms of date_columns; refuses what is no form, and columns that text_columns or number_columns name
// too.
DateForms date_forms_of(const SourceConfig& config);

// What is missing, contradictory or secret, before anything is opened.
std::vector<SettingProblem> problems_with(const SourceConfig& config);
// For people and records, without anything secret: "houses.csv", "table wells".
std::string source_name(const SourceConfig& config);

// A source that has been looked at but not yet read. Opening fetches a URL and the rows of a database;
// reading parses.
class Source {
 public:
  // Relative paths are taken from `base`. Refuses what is missing or contradictory (source: url without url).
  // A download heeds an interruption. `find` has the rows that are known from before: where `refresh` allows
  // it, their fingerprint is that of the source, and nothing is fetched unless it is read after all.
  static Source open(const SourceConfig& config, const std::filesystem::path& base,
                     const StopSignal* stop = nullptr, const FindKnownRows& find = {});
  // What somebody else has opened.
  static Source of(const SourceConfig& config, std::shared_ptr<const SourceReader> reader);
  // For the command line: a path (of an SQLite or HDF5 file too), - for standard input, a URL, sample:NAME,
  // cubes:PATH (of a folder, a list or a file), dataset:ID,ID, postgres://…, or the name of an environment
  // variable that holds such an address, as
  // ${NAME} or plainly.
  static SourceConfig config_for(const std::string& location);

  // Changes exactly when the rows may: hash of the content, or of the sample's settings and version.
  std::string fingerprint() const;
  const std::string& description() const;  // "houses.csv", "sample boston_housing", "table wells"
  // Refuses empty files, ragged rows (with the line), equal column names, no rows.
  // `text_columns` of a CSV or TSV stay the text they are: a model that learnt texts must meet 007 and True
  // again, not the 7 and true that a file with nothing else in the column would be taken for.
  // `date_forms` are those that a model's training met: they come first where a text may be several dates.
  // Notes what was found about the file's dialect and dates, and warns of text columns that would be numbers
  // but for a few values.
  // Refuses a file whose content is not the one that the fingerprint was taken of.
  Table read(const std::vector<std::string>& text_columns = {}, const Notes& notes = no_notes(),
             const DateForms& date_forms = {}) const;
  // Of a file that read() refuses, the rows that can be read all the same. None where there are no such.
  std::optional<WholeRows> read_whole_rows(const Notes& notes = no_notes()) const;
  // What is to be told whenever the source is used, whether it is read or its rows are kept from before:
  // read() does not tell it, since what it tells is kept with the rows.
  std::vector<std::string> warnings() const;
  // A thousand rows or so from the start, quickly, for a look at what read() will give. None where only
  // reading all tells: Parquet, Arrow and npy.
  std::optional<Table> first_rows() const;
  // Where it is known without reading, and first_rows() tells of the columns what all rows would.
  std::optional<RowCount> row_count() const;
  std::uintmax_t bytes() const;  // of the file, or of the rows of a database; 0 of a sample
  // For who looks at rows before they are read: the next one to open the same source while a KeptDownloads
  // lives has the same rows, without asking a database again. To be called before read().
  void leave_rows() const;
  // Whether types are told by the look of the values, so that another file may have others.
  bool infers_types() const;
  // For who keeps the rows: what to know them by the next time. No key where `refresh` asks for nothing.
  KnownRows rows_to_know() const;
  bool has_known_rows() const { return has_known_rows_; }  // from before

 private:
  Source(SourceConfig config, std::shared_ptr<const SourceReader> reader, KnownRows rows, bool are_known);
  std::vector<std::string> texts_to_read(const std::vector<std::string>& learnt_as_text,
                                         const DateForms& learnt_dates) const;
  Table in_chosen_types(const Table& table, const std::vector<std::string>& learnt_as_text,
                        const DateForms& learnt_dates, const Notes& notes) const;

  SourceConfig config_;
  DateForms date_columns_;
  std::shared_ptr<const SourceReader> reader_;
  KnownRows rows_;
  bool has_known_rows_ = false;
};

}  // namespace stoker
