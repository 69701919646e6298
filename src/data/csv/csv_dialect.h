#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "config/field.h"
#include "data/csv/csv_header.h"
#include "data/csv/number_spelling.h"

namespace stoker {

enum class DecimalMark { automatic, point, comma };
enum class ThousandsMark { automatic, none, comma, point, space, apostrophe };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::DecimalMark>{"auto", "point",
                                                                                            "comma"};
template <>
inline constexpr std::array<std::string_view, 6> stoker::config::names<stoker::ThousandsMark>{
    "auto", "none", "comma", "point", "space", "apostrophe"};

namespace stoker {

// How the values of a CSV file are written.
struct CsvDialect {
  char delimiter = ',';
  // The values stand between runs of blanks; the reader makes single tabs of them, the delimiter then.
  bool blank_runs = false;
  NumberSpelling numbers = {};
  // Of a file without a header: c0, c1, … Empty: the first row has the names.
  std::vector<std::string> names = {};
  std::vector<std::string> missing_words = {};  // in every column, beside those that every reader knows

  bool has_header() const { return names.empty(); }
  // Numbers as every reader of CSV knows them.
  bool spells_plainly() const { return numbers.is_plain(); }
  // Equal exactly for dialects that read the same bytes alike.
  std::string text() const;
};

struct DialectSettings {
  char delimiter = '\0';  // none: found
  bool blank_runs = false;
  char usual_delimiter = ',';
  DecimalMark decimal = DecimalMark::automatic;
  ThousandsMark thousands = ThousandsMark::automatic;
  HeaderChoice header = HeaderChoice::automatic;
};

// Looks at the start of the file for what the settings leave open, and notes what is found. Where the start
// does not settle it, the file is taken as one with commas (or tabs, where they are usual), points and a
// header.
CsvDialect find_dialect(const std::filesystem::path& path, const DialectSettings& settings,
                        const Notes& notes);

}  // namespace stoker
