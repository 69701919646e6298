#include "data/csv_dialect.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "data/column_values.h"
#include "data/packed_text.h"

namespace stoker {
namespace {

constexpr std::int64_t looked_at_bytes = 1 << 18;
constexpr std::size_t looked_at_rows = 500;

using CsvCells = std::vector<std::string>;

// The rows that lie whole in the text, cut at this delimiter. Empty lines are no rows.
class CellSplitter {
 public:
  CellSplitter(std::string_view text, char delimiter, bool is_cut) : text_(text), delimiter_(delimiter) {
    while (at_ < text_.size() && rows_.size() < looked_at_rows) take_row(is_cut);
  }
  std::vector<CsvCells> rows() && { return std::move(rows_); }

 private:
  void take_row(bool is_cut) {
    CsvCells row;
    bool closed = true;
    do row.push_back(take_cell(closed));
    while (at_ < text_.size() && text_[at_] == delimiter_ && ++at_ <= text_.size());
    const bool ended = at_ < text_.size();
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (!closed || (!ended && is_cut)) return;
    if (row.size() > 1 || !row.front().empty()) rows_.push_back(std::move(row));
  }

  std::string take_cell(bool& closed) {
    std::string cell;
    if (at_ < text_.size() && text_[at_] == '"') {
      closed = false;
      while (++at_ < text_.size()) {
        if (text_[at_] == '"' && (at_ + 1 == text_.size() || text_[at_ + 1] != '"')) {
          closed = true;
          ++at_;
          break;
        }
        if (text_[at_] == '"') ++at_;
        cell += text_[at_];
      }
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    return cell.append(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
  std::vector<CsvCells> rows_;
};

struct TextStart {
  std::string text;
  bool is_cut = false;  // the file goes on behind it
  std::vector<CsvCells> cut_at(char delimiter) const { return CellSplitter(text, delimiter, is_cut).rows(); }
};

TextStart start_of(const std::filesystem::path& path) {
  std::string text = text_start(path, looked_at_bytes);
  const bool is_cut = static_cast<std::int64_t>(text.size()) == looked_at_bytes;
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return {std::move(text), is_cut};
}

// The values of every row, when that is one number; 0 for ragged rows.
std::size_t width_of(const std::vector<CsvCells>& rows) {
  if (rows.empty()) return 0;
  const std::size_t width = rows.front().size();
  const bool is_even =
      std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == width; });
  return is_even ? width : 0;
}

bool is_missing(std::string_view cell) {
  constexpr std::array<std::string_view, 12> spellings{"",     "NA",   "N/A",  "n/a",  "nan",  "NaN",
                                                       "null", "NULL", "None", "<NA>", "#N/A", "NaT"};
  return std::find(spellings.begin(), spellings.end(), cell) != spellings.end();
}

// 1,5;2,75 is cut evenly by commas too, but then every row holds something like 5;2.
bool has_decimal_commas_alone(const std::vector<CsvCells>& rows) {
  bool has_comma = false;
  for (const CsvCells& row : rows) {
    for (const std::string& cell : row) {
      const auto separators = separators_in(cell);
      if (!separators || separators->point == '.' || separators->group == ',') return false;
      has_comma = has_comma || separators->point == ',';
    }
  }
  return has_comma;
}

char found_delimiter(const TextStart& start, char usual) {
  const std::size_t usual_width = width_of(start.cut_at(usual));
  std::vector<char> others;
  for (const char other : {',', ';', '\t', '|'}) {
    if (other == usual || start.text.find(other) == std::string::npos) continue;
    const std::vector<CsvCells> rows = start.cut_at(other);
    if (width_of(rows) > 1 && (usual_width <= 1 || (usual == ',' && has_decimal_commas_alone(rows))))
      others.push_back(other);
  }
  return others.size() == 1 ? others.front() : usual;
}

// What the numbers of the columns tell about commas and points.
struct MarksSeen {
  bool comma_is_point = false;
  bool comma_is_group = false;
  bool point_is_point = false;
  bool point_is_group = false;
  bool comma_is_unsure = false;
  bool point_is_unsure = false;
  bool space_is_group = false;
  bool apostrophe_is_group = false;

  void add(const MarksSeen& other) {
    comma_is_point |= other.comma_is_point;
    comma_is_group |= other.comma_is_group;
    point_is_point |= other.point_is_point;
    point_is_group |= other.point_is_group;
    comma_is_unsure |= other.comma_is_unsure;
    point_is_unsure |= other.point_is_unsure;
    space_is_group |= other.space_is_group;
    apostrophe_is_group |= other.apostrophe_is_group;
  }
  bool contradict() const {
    return (comma_is_point && (comma_is_group || point_is_point)) ||
           (point_is_group && (point_is_point || comma_is_group)) ||
           (space_is_group && apostrophe_is_group) ||
           ((space_is_group || apostrophe_is_group) && (comma_is_group || point_is_group));
  }
};

MarksSeen marks_of(const Separators& found) {
  MarksSeen marks;
  marks.comma_is_point = found.point == ',';
  marks.point_is_point = found.point == '.';
  marks.comma_is_group = found.group == ',';
  marks.point_is_group = found.group == '.';
  marks.space_is_group = found.group == ' ';
  marks.apostrophe_is_group = found.group == '\'';
  marks.comma_is_unsure = found.unsure == ',';
  marks.point_is_unsure = found.unsure == '.';
  return marks;
}

// None of a column that holds anything but numbers.
std::optional<MarksSeen> marks_in_column(const std::vector<CsvCells>& rows, std::size_t column) {
  MarksSeen marks;
  bool without_group = false;
  for (std::size_t row = 1; row < rows.size(); ++row) {  // the first may be a header
    const std::string& cell = rows[row][column];
    if (is_missing(cell)) continue;
    const auto separators = separators_in(cell);
    if (!separators) return std::nullopt;
    without_group = without_group || separators->group == '\0' || separators->point != '\0';
    marks.add(marks_of(*separators));
  }
  // 555 123 in every row is a telephone number rather than an amount.
  if (!without_group) marks.space_is_group = marks.apostrophe_is_group = false;
  return marks.contradict() ? std::nullopt : std::optional(marks);
}

MarksSeen marks_in(const std::vector<CsvCells>& rows) {
  MarksSeen all;
  for (std::size_t column = 0; column < width_of(rows); ++column) {
    if (const auto marks = marks_in_column(rows, column)) all.add(*marks);
  }
  return all;
}

bool is_comma_decimal(const MarksSeen& marks, const DialectSettings& settings, char delimiter,
                      const Notes& notes) {
  if (settings.decimal != DecimalMark::automatic) return settings.decimal == DecimalMark::comma;
  if (marks.contradict()) {
    notes(Severity::warning,
          "some columns have a decimal comma and others a decimal point, so those with commas are kept as "
          "text; set decimal (--decimal) if all are meant alike");
    return false;
  }
  // Between commas, 1,5 in quotes may as well be a list.
  if (marks.comma_is_point && delimiter == ',') {
    notes(
        Severity::warning,
        "quoted values such as \"1,5\" are kept as text; set decimal to comma (--decimal comma) if they are "
        "numbers");
    return false;
  }
  return marks.comma_is_point || marks.point_is_group;
}

char group_of(ThousandsMark mark) {
  switch (mark) {
    case ThousandsMark::comma:
      return ',';
    case ThousandsMark::point:
      return '.';
    case ThousandsMark::space:
      return ' ';
    case ThousandsMark::apostrophe:
      return '\'';
    default:
      return '\0';
  }
}

char found_group(const MarksSeen& marks, char point, char delimiter, bool decimal_is_set,
                 const Notes& notes) {
  if (marks.contradict()) return '\0';
  if (marks.space_is_group) return ' ';
  if (marks.apostrophe_is_group) return '\'';
  if (point == ',') return marks.point_is_group || marks.point_is_unsure ? '.' : '\0';
  if (marks.comma_is_group) return ',';
  if (!marks.comma_is_unsure || (marks.comma_is_point && !decimal_is_set)) return '\0';
  if (marks.point_is_point || delimiter == ',' || decimal_is_set) return ',';
  notes(Severity::warning,
        "values such as 1,234 may have a decimal comma or a separator of thousands and are kept as text; set "
        "decimal to comma or thousands to comma (--decimal, --thousands)");
  return '\0';
}

NumberSpelling found_spelling(const std::vector<CsvCells>& rows, const DialectSettings& settings,
                              char delimiter, const Notes& notes) {
  const MarksSeen marks = marks_in(rows);
  NumberSpelling spelling;
  DialectSettings known = settings;
  if (known.decimal == DecimalMark::automatic && known.thousands == ThousandsMark::comma)
    known.decimal = DecimalMark::point;
  if (known.decimal == DecimalMark::automatic && known.thousands == ThousandsMark::point)
    known.decimal = DecimalMark::comma;
  spelling.point = is_comma_decimal(marks, known, delimiter, notes) ? ',' : '.';
  spelling.group =
      known.thousands == ThousandsMark::automatic
          ? found_group(marks, spelling.point, delimiter, known.decimal != DecimalMark::automatic, notes)
          : group_of(known.thousands);
  if (spelling.group == spelling.point)
    refuse("decimal and thousands are both '{}'; set one of them to another mark", spelling.point);
  return spelling;
}

// Numbers that count up are names too: 0, 1, 2, … as pandas writes them, or years.
bool counts_up(const CsvCells& row) {
  double last = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto number = number_in(row[i]);
    const bool is_plain = row[i].find_first_not_of("0123456789") == std::string::npos;
    if (!number || !is_plain || (i > 0 && *number <= last)) return false;
    last = *number;
  }
  return true;
}

bool lacks_header(const std::vector<CsvCells>& rows, const DialectSettings& settings, NumberSpelling spelling,
                  const Notes& notes) {
  if (settings.header != HeaderChoice::automatic) return settings.header == HeaderChoice::no;
  if (rows.size() < 2) return false;
  const CsvCells& first = rows.front();
  const bool all_numbers = std::all_of(first.begin(), first.end(), [&](const std::string& cell) {
    return number_spelled(cell, spelling).has_value();
  });
  if (!all_numbers) return false;
  if (counts_up(first)) {
    notes(
        Severity::info,
        "the first row holds numbers that count up, which are taken as the names of the columns; set header "
        "to no (--header no) if they are values");
    return false;
  }
  notes(Severity::info,
        "the first row holds nothing but numbers, so the columns are named c0, c1, …; set header to yes "
        "(--header yes) if they are names");
  return true;
}

std::string shown_mark(char mark) {
  return mark == '\t' ? "tabs" : mark == ' ' ? "a space" : fmt::format("'{}'", mark);
}

void note_findings(const CsvDialect& dialect, const DialectSettings& settings, const Notes& notes) {
  if (settings.delimiter == '\0' && dialect.delimiter != settings.usual_delimiter)
    notes(Severity::info,
          fmt::format("the values are separated by {} (delimiter)", shown_mark(dialect.delimiter)));
  if (settings.decimal == DecimalMark::automatic && dialect.numbers.point == ',')
    notes(Severity::info, "numbers are written with a decimal comma (decimal)");
  if (settings.thousands == ThousandsMark::automatic && dialect.numbers.group != '\0')
    notes(Severity::info,
          fmt::format("thousands are separated by {} (thousands)", shown_mark(dialect.numbers.group)));
}

}  // namespace

std::string CsvDialect::text() const {
  return fmt::format("{}{}", int{delimiter},
                     spells_plainly() && has_header()
                         ? ""
                         : fmt::format(" {} {} {}", int{numbers.point}, int{numbers.group}, names.size()));
}

CsvDialect find_dialect(const std::filesystem::path& path, const DialectSettings& settings,
                        const Notes& notes) {
  CsvDialect dialect;
  const TextStart start = start_of(path);
  dialect.delimiter =
      settings.delimiter != '\0' ? settings.delimiter : found_delimiter(start, settings.usual_delimiter);
  const std::vector<CsvCells> rows = start.cut_at(dialect.delimiter);
  dialect.numbers = found_spelling(rows, settings, dialect.delimiter, notes);
  if (!rows.empty() && lacks_header(rows, settings, dialect.numbers, notes)) {
    for (std::size_t i = 0; i < rows.front().size(); ++i) dialect.names.push_back(fmt::format("c{}", i));
  }
  note_findings(dialect, settings, notes);
  return dialect;
}

}  // namespace stoker
