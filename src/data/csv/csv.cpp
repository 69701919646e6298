#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/csv/api.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/util/utf8.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/csv/blank_runs.h"
#include "data/csv/csv_numbers.h"
#include "data/csv/csv_rows.h"
#include "data/csv/number_spelling.h"
#include "data/format/table_files.h"
#include "data/memory/arrow_result.h"
#include "data/memory/arrow_threads.h"
#include "data/memory/packed_text.h"
#include "data/memory/reading_memory.h"
#include "data/table/unsigned_columns.h"

namespace stoker {
namespace {

// Arrow needs a row to fit into a block; wide tables get a second reading with blocks that hold their rows.
constexpr std::int32_t usual_block_bytes = 1 << 20;
constexpr std::int32_t large_block_bytes = 1 << 26;

arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_rows(const std::filesystem::path& path,
                                                                 const CsvDialect& dialect) {
  ARROW_ASSIGN_OR_RAISE(auto text, open_text(path, dialect.blank_runs ? ' ' : dialect.delimiter));
  return dialect.blank_runs ? with_single_tabs(std::move(text)) : text;
}

// Which columns to read, and which of them as text; none of the first: all.
struct Wanted {
  const std::vector<std::string>& text_columns;
  bool use_threads;
  std::vector<std::string> columns = {};
  bool may_have_quotes = true;  // only between quotes a line end is part of a value; looking for them costs
  std::shared_ptr<arrow::Schema> types = nullptr;  // of all columns; null: by the look of the values
};

// A system that gives no thread makes Arrow 25 throw (26 says so), and at its end the reader would wait for
// what that thread never began: it is left behind.
arrow::Result<std::shared_ptr<arrow::Table>> read_all(std::shared_ptr<arrow::csv::TableReader> reader) {
  auto kept = std::make_unique<std::shared_ptr<arrow::csv::TableReader>>(std::move(reader));
  try {
    return (*kept)->Read();
  } catch (const std::system_error& error) {
    [[maybe_unused]] const auto* left = kept.release();
    return arrow::Status::IOError("Failed to launch worker thread: ", error.what());
  } catch (...) {
    [[maybe_unused]] const auto* left = kept.release();
    throw;
  }
}

arrow::Result<std::shared_ptr<arrow::Table>> read_columns(const std::shared_ptr<arrow::io::InputStream>& text,
                                                          const CsvDialect& dialect, const Wanted& wanted,
                                                          std::int32_t block_bytes) {
  auto reading = arrow::csv::ReadOptions::Defaults();
  reading.block_size = block_bytes;
  reading.use_threads = wanted.use_threads;
  reading.column_names = dialect.names;
  auto parsing = arrow::csv::ParseOptions::Defaults();
  parsing.delimiter = dialect.delimiter;
  parsing.newlines_in_values = wanted.may_have_quotes;
  auto converting = arrow::csv::ConvertOptions::Defaults();
  converting.strings_can_be_null = true;
  converting.decimal_point = dialect.numbers.point;
  for (const char* spelling : {"None", "<NA>", "NaT"}) converting.null_values.emplace_back(spelling);
  for (const std::string& word : dialect.missing_words) converting.null_values.push_back(word);
  if (wanted.types)
    for (const auto& field : wanted.types->fields()) converting.column_types[field->name()] = field->type();
  for (const std::string& name : wanted.text_columns) converting.column_types[name] = arrow::utf8();
  converting.include_columns = wanted.columns;
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::csv::TableReader::Make(arrow::io::IOContext(reading_memory()),
                                                                   text, reading, parsing, converting));
  return read_all(std::move(reader));
}

arrow::Result<std::shared_ptr<arrow::Table>> read_columns(const std::filesystem::path& path,
                                                          const CsvDialect& dialect, const Wanted& wanted,
                                                          std::int32_t block_bytes) {
  ARROW_ASSIGN_OR_RAISE(const auto text, open_rows(path, dialect));
  return read_columns(text, dialect, wanted, block_bytes);
}

// Doubles that were whole numbers beyond 2^63 become those again: their column is read once more, as text.
arrow::Result<std::shared_ptr<arrow::Table>> with_unsigned_columns(std::shared_ptr<arrow::Table> table,
                                                                   const std::filesystem::path& path,
                                                                   const CsvDialect& dialect,
                                                                   bool use_threads) {
  const std::vector<std::string> names = columns_that_may_be_unsigned(*table);
  if (names.empty()) return table;
  ARROW_ASSIGN_OR_RAISE(const auto texts,
                        read_columns(path, dialect, Wanted{names, use_threads, names}, large_block_bytes));
  for (const std::string& name : names) {
    const int position = table->schema()->GetFieldIndex(name);
    const auto values = texts->GetColumnByName(name);
    if (position < 0 || !values) continue;  // a name that stands twice, which is refused later
    if (const auto numbers = as_unsigned(values)) {
      ARROW_ASSIGN_OR_RAISE(table, table->SetColumn(position, arrow::field(name, numbers->type()), numbers));
    }
  }
  return table;
}

// Columns that are text to Arrow for the way in which their numbers are written.
Table with_spelled_numbers(Table table, const CsvDialect& dialect,
                           const std::vector<std::string>& text_columns) {
  if (dialect.spells_plainly()) return table;
  for (int c = 0; c < table.columns->num_columns(); ++c) {
    const std::string& name = table.columns->field(c)->name();
    const auto column = table.columns->column(c);
    if (column->type()->id() != arrow::Type::STRING ||
        std::ranges::find(text_columns, name) != text_columns.end())
      continue;
    if (const auto numbers = as_spelled_numbers(column, dialect.numbers))
      table.columns = or_fail(table.columns->SetColumn(c, arrow::field(name, numbers->type()), numbers),
                              "reading numbers");
  }
  return table;
}

bool has_quotes(const std::filesystem::path& path) {
  const auto text = or_refuse(open_text(path), path.string());
  while (true) {
    const auto block = or_refuse(text->Read(1 << 20), path.string());
    if (block->size() == 0) return false;
    if (std::string_view(*block).find('"') != std::string_view::npos) return true;
  }
}

std::optional<RowScanner::Fault> find_fault(const std::filesystem::path& path, const CsvDialect& dialect) {
  const auto text = or_refuse(open_rows(path, dialect), path.string());
  RowScanner scanner(dialect.delimiter);
  while (true) {
    const auto block = or_refuse(text->Read(1 << 20), path.string());
    if (block->size() == 0) return scanner.finish();
    scanner.feed(std::string_view(*block));
  }
}

std::string advice_on(const RowScanner::Fault& fault) {
  if (fault.comment_line > 0)
    return fmt::format(
        "line {} begins with #, and comments are read as rows; remove them, for example with: grep -v '^#'",
        fault.comment_line);
  if (fault.expected <= 1)
    return "if the values are separated by another character, set delimiter (--delimiter)";
  return fault.values < fault.expected ? "write missing values as empty fields, also at the end of a row"
                                       : "put values that contain the delimiter between double quotes";
}

void refuse_faults(const std::filesystem::path& path, const CsvDialect& dialect) {
  const std::string name = path.string();
  const auto fault = find_fault(path, dialect);
  if (!fault) return;
  if (fault->open_quote)
    refuse("{}:{}: a quoted value that begins in this row is never closed", name, fault->line);
  refuse("{}:{}: this row has {}, but the {} has {}; {}", name, fault->line,
         counted(static_cast<std::uint64_t>(fault->values), "value"),
         dialect.has_header() ? "header" : "first row", fault->expected, advice_on(*fault));
}

// Two-byte encodings put zero bytes between the letters; Arrow would read nonsense without complaint.
void refuse_wide_text(const std::filesystem::path& path, const CsvDialect& dialect) {
  const auto text = or_refuse(open_rows(path, dialect), path.string());
  const auto start = or_refuse(text->Read(4096), path.string());
  const std::string_view view(*start);
  if (view.empty() || view.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    refuse("{} is empty", path.string());
  }
  if (view.find('\0') != std::string_view::npos) {
    refuse(
        "{} is not UTF-8 text (it has zero bytes, as UTF-16 and binary files do); convert it, for example "
        "with: "
        "iconv -f utf-16 -t utf-8",
        path.string());
  }
}

void refuse_foreign_text(const arrow::Table& table, const std::string& name) {
  for (const auto& field : table.schema()->fields()) {
    const bool name_is_text = arrow::util::ValidateUTF8(field->name());
    if (name_is_text && field->type()->id() != arrow::Type::BINARY) continue;
    refuse("{} is not UTF-8 text ({}); convert it, for example with: iconv -f latin1 -t utf-8", name,
           name_is_text ? "column '" + field->name() + "'" : "in its header");
  }
}

// To the end of the last whole line, unless the text ends here anyway.
arrow::Result<std::shared_ptr<arrow::Buffer>> first_lines(const std::filesystem::path& path,
                                                          const CsvDialect& dialect, std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(const auto text, open_rows(path, dialect));
  ARROW_ASSIGN_OR_RAISE(auto start, text->Read(bytes));
  if (start->size() < bytes) return start;
  const std::size_t end = std::string_view(*start).rfind('\n');
  if (end == std::string_view::npos) return arrow::Status::Invalid("no row is that short");
  return arrow::SliceBuffer(start, 0, static_cast<std::int64_t>(end) + 1);
}

// Who is to find the types of all rows keeps the text of the whole file until the last of them is known. So
// the types are found in the start of a large file first, and the rest is read as these: a type that fits the
// start and everything after it is the one that would have been found, because all that come before it do not
// fit the start. Null where the file is small, or the rest has other values.
std::shared_ptr<arrow::Table> read_as_the_start(const std::filesystem::path& path, const CsvDialect& dialect,
                                                Wanted wanted) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (unknown || size < 8 * static_cast<std::uintmax_t>(usual_block_bytes)) return nullptr;
  const auto lines = first_lines(path, dialect, usual_block_bytes);
  if (!lines.ok()) return nullptr;
  const auto start =
      read_columns(std::make_shared<arrow::io::BufferReader>(*lines), dialect, wanted, usual_block_bytes);
  if (!start.ok()) return nullptr;
  wanted.types = (*start)->schema();
  const auto columns = read_columns(path, dialect, wanted, usual_block_bytes);
  fail_for_machine(columns.status(), path.string());
  return columns.ok() ? *columns : nullptr;
}

}  // namespace

Table read_csv_start(const std::filesystem::path& path, const CsvDialect& dialect,
                     const std::vector<std::string>& text_columns, std::int64_t bytes) {
  const auto lines = or_refuse(first_lines(path, dialect, bytes), path.string());
  const auto text = std::make_shared<arrow::io::BufferReader>(lines);
  const Table table{
      or_refuse(read_columns(text, dialect, Wanted{text_columns, false}, usual_block_bytes), path.string())};
  return with_spelled_numbers(table, dialect, text_columns);
}

Table read_csv(const std::filesystem::path& path, const CsvDialect& dialect,
               const std::vector<std::string>& text_columns) {
  arrow::util::InitializeUTF8();
  refuse_wide_text(path, dialect);
  const bool packed = or_refuse(is_packed(path), path.string());
  if (!packed && dialect.numbers.point == '.' && !dialect.blank_runs && dialect.missing_words.empty()) {
    if (const auto numbers = read_csv_of_numbers(path, dialect, text_columns)) {
      refuse_foreign_text(*numbers->columns, path.string());
      return *numbers;
    }
  }
  // Threads of Arrow's would wait for ever for an input that BoundedInput ends, and with them the program's
  // end.
  const Wanted wanted{text_columns, !packed && reads_in_threads(path), {}, packed || has_quotes(path)};
  arrow::Result<std::shared_ptr<arrow::Table>> columns = read_as_the_start(path, dialect, wanted);
  if (!*columns) columns = read_columns(path, dialect, wanted, usual_block_bytes);
  fail_for_machine(columns.status(), path.string());
  if (columns.status().IsCapacityError()) or_refuse(columns.status(), path.string());
  if (!columns.ok()) {
    refuse_faults(path, dialect);
    columns = read_columns(path, dialect, wanted, large_block_bytes);
  }
  fail_for_machine(columns.status(), path.string());
  if (!columns.ok()) {
    refuse("{} cannot be read (rows may take up to {}): {}", path.string(), human_bytes(large_block_bytes),
           columns.status().message());
  }
  refuse_foreign_text(**columns, path.string());
  const Table table{
      or_refuse(with_unsigned_columns(*columns, path, dialect, wanted.use_threads), path.string())};
  return with_spelled_numbers(table, dialect, text_columns);
}

}  // namespace stoker
