#include "data/csv/csv_dialect.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <fmt/format.h>

#include "base/error.h"
#include "data/csv/blank_runs.h"
#include "data/csv/csv_cells.h"
#include "data/csv/csv_header.h"
#include "data/csv/missing_words.h"
#include "data/memory/arrow_result.h"
#include "data/memory/packed_text.h"
#include "data/memory/unpacked_limits.h"

namespace stoker {
namespace {

constexpr std::int64_t looked_at_bytes = 1 << 18;

struct TextStart {
  std::string text;
  bool is_cut = false;  // the file goes on behind it
  std::vector<CsvCells> cut_at(char delimiter) const { return cut_rows(text, delimiter, is_cut); }
  std::vector<CsvCells> cut_at_blanks() const {
    std::string with_tabs;
    BlankRuns().feed(text, with_tabs);
    return cut_rows(with_tabs, '\t', is_cut);
  }
};

TextStart start_of(const std::filesystem::path& path) {
  std::string text = text_start(path, looked_at_bytes);
  const bool is_cut = static_cast<std::int64_t>(text.size()) == looked_at_bytes;
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return {std::move(text), is_cut};
}

// A first row that ends within its start has fewer columns than the start has characters.
void refuse_too_wide(const std::filesystem::path& path, const TextStart& start, char delimiter) {
  if (!start.is_cut || start.text.find('\n') != std::string::npos) return;
  const auto text = or_refuse(open_text(path, delimiter), path.string());
  constexpr std::int64_t piece_bytes = 1 << 20;
  std::int64_t columns = 1;
  bool is_quoted = false;
  for (;;) {
    const auto piece = or_refuse(text->Read(piece_bytes), path.string());
    if (piece->size() == 0) return;
    for (const char c : std::string_view(*piece)) {
      if (c == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      if (c == '\n') return;
      if (c == delimiter && ++columns > most_columns_of_table)
        refuse("{} has more than {} columns, the most that can be read", path.string(),
               most_columns_of_table);
    }
  }
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

bool holds_only_numbers(const std::vector<CsvCells>& rows, std::size_t column) {
  bool any = false;
  for (std::size_t row = 1; row < rows.size(); ++row) {  // the first may be a header
    const std::string& cell = rows[row][column];
    const bool is_number = separators_in(cell).has_value();
    if (!is_number && !is_missing_word(cell)) return false;
    any = any || is_number;
  }
  return any;
}

std::size_t columns_of_numbers(const std::vector<CsvCells>& rows) {
  std::size_t count = 0;
  for (std::size_t column = 0; column < width_of(rows); ++column)
    count += holds_only_numbers(rows, column) ? 1 : 0;
  return count;
}

// Blanks stand between words too, so it takes rows of one length with many numbers in them.
bool is_cut_by_blanks(const TextStart& start) {
  const std::vector<CsvCells> rows = start.cut_at_blanks();
  const std::size_t width = width_of(rows);
  const std::size_t numbers = columns_of_numbers(rows);
  return rows.size() > 1 && (width == 2 ? numbers == 2 : width > 2 && 3 * numbers >= width);
}

// A tab may also be one of many blanks; then it leaves several numbers in one value.
bool has_runs_of_blanks(const TextStart& start, char found) {
  const std::vector<CsvCells> rows = start.cut_at(found);
  const bool cuts = width_of(rows) > 1;
  return (!cuts || (found == '\t' && columns_of_numbers(rows) == 0)) && is_cut_by_blanks(start);
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
    if (is_missing_word(cell)) continue;
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

std::string shown_mark(char mark) {
  return mark == '\t' ? "tabs" : mark == ' ' ? "a space" : fmt::format("'{}'", mark);
}

void note_findings(const CsvDialect& dialect, const DialectSettings& settings, const Notes& notes) {
  if (settings.delimiter == '\0' && (dialect.blank_runs || dialect.delimiter != settings.usual_delimiter))
    notes(Severity::info, fmt::format("the values are separated by {} (delimiter)",
                                      dialect.blank_runs ? "blanks" : shown_mark(dialect.delimiter)));
  if (settings.decimal == DecimalMark::automatic && dialect.numbers.point == ',')
    notes(Severity::info, "numbers are written with a decimal comma (decimal)");
  if (settings.thousands == ThousandsMark::automatic && dialect.numbers.group != '\0')
    notes(Severity::info,
          fmt::format("thousands are separated by {} (thousands)", shown_mark(dialect.numbers.group)));
}

}  // namespace

std::string CsvDialect::text() const {
  std::string text = fmt::format("{}", int{delimiter});
  if (!spells_plainly() || !has_header())
    text += fmt::format(" {} {} {}", int{numbers.point}, int{numbers.group}, names.size());
  if (blank_runs) text += " blanks";
  for (const std::string& word : missing_words) text += fmt::format(" missing {} {}", word.size(), word);
  return text;
}

CsvDialect find_dialect(const std::filesystem::path& path, const DialectSettings& settings,
                        const Notes& notes) {
  CsvDialect dialect;
  const TextStart start = start_of(path);
  dialect.delimiter =
      settings.delimiter != '\0' ? settings.delimiter : found_delimiter(start, settings.usual_delimiter);
  dialect.blank_runs =
      settings.blank_runs || (settings.delimiter == '\0' && has_runs_of_blanks(start, dialect.delimiter));
  if (dialect.blank_runs) dialect.delimiter = '\t';
  if (!dialect.blank_runs) refuse_too_wide(path, start, dialect.delimiter);
  const std::vector<CsvCells> rows =
      dialect.blank_runs ? start.cut_at_blanks() : start.cut_at(dialect.delimiter);
  dialect.numbers = found_spelling(rows, settings, dialect.delimiter, notes);
  if (!rows.empty() && lacks_header(rows, settings.header, dialect.numbers, notes)) {
    for (std::size_t i = 0; i < rows.front().size(); ++i) dialect.names.push_back(fmt::format("c{}", i));
  }
  note_findings(dialect, settings, notes);
  return dialect;
}

}  // namespace stoker
