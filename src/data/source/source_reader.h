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
#include "data/source/source_config.h"
#include "data/table/table.h"

// A kind of source is a file with a reader, and a line of the table in source.cpp.
namespace stoker {

// What was opened of one source. What becomes of the types of its columns is no matter of the kind.
class SourceReader {
 public:
  virtual ~SourceReader() = default;

  virtual std::string fingerprint() const = 0;
  virtual const std::string& description() const = 0;
  // `text_columns` are to be left as the text they are, where types are told by the look of the values.
  virtual Table read(const std::vector<std::string>& text_columns, const Notes& notes) const = 0;
  // Of rows some of which cannot be read. None where a source is read whole or not at all.
  virtual std::optional<WholeRows> whole_rows(const std::vector<std::string>& text_columns) const;
  virtual std::optional<Table> first_rows(const std::vector<std::string>& text_columns) const;
  // Where it is known before anything is read, and first_rows() show what the columns of all rows hold.
  virtual std::optional<RowCount> row_count() const { return std::nullopt; }
  virtual std::uintmax_t bytes() const { return 0; }
  virtual bool infers_types() const { return false; }
  // For the next who opens the same source while a KeptDownloads lives.
  virtual void leave_rows() const {}
  // What is to be told at every run, whoever has kept the rows; read() does not tell it.
  virtual std::vector<std::string> warnings() const { return {}; }
  // Whether whole numbers were read from text, so that the longest of them may have become real ones.
  virtual bool may_lose_digits() const { return false; }
  // An error as people know its source.
  virtual std::string renamed(const std::string& message) const { return message; }
};

using OpenedSource = std::unique_ptr<const SourceReader>;

// Settings that only some kinds read, and what is wrong with them.
using SourceProblems = std::vector<SettingProblem>;

struct SourceOfKind {
  SourceKind kind;
  OpenedSource (*open)(const SourceConfig& config, const std::filesystem::path& base, const StopSignal* stop);
  void (*check)(const SourceConfig& config, SourceProblems& problems);
  std::string (*name)(const SourceConfig& config);
  // Of the settings that not every kind has, those that this one has.
  std::vector<std::string> own_settings = {};
  // Of a kind whose rows may be taken for known (known_rows.h): what tells databases apart beside the
  // settings, without anything secret; and the hash of what refresh_query gives.
  std::string (*place)(const SourceConfig& config, const std::filesystem::path& base) = nullptr;
  std::string (*answer)(const SourceConfig& config, const std::filesystem::path& base,
                        const StopSignal* stop) = nullptr;
};

SourceOfKind sample_source();
SourceOfKind file_source(SourceKind kind);  // csv or file
// Of a path to images in IDX form, with their labels and their rows to test with beside them.
OpenedSource open_images(const SourceConfig& config, const std::filesystem::path& base);
SourceOfKind url_source();
// "houses.db" of "sqlite:houses.db" and the like, where that is no file itself; else "".
std::string path_behind_sqlite(const std::string& location);
SourceOfKind postgres_source();
SourceOfKind sqlite_source();
SourceOfKind hdf5_source();
SourceOfKind cubes_source();
// Whether a file holds cubes, by its name or, of an array, by its dimensions.
bool holds_cubes(const std::filesystem::path& file);
SourceOfKind datasets_source();  // their record is somebody else's: joined_datasets.h

}  // namespace stoker
