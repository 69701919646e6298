#include "data/csv/whole_rows.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/reader.h>
#include <arrow/table.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "data/csv/blank_runs.h"
#include "data/format/json_rows.h"
#include "data/format/table_files.h"
#include "data/memory/arrow_result.h"
#include "data/memory/packed_text.h"
#include "data/memory/unpacked_limits.h"
#include "data/source/unnamed_file.h"

namespace stoker {
namespace {

// The start of a text up to the end of its first row.
struct FirstRow {
  std::size_t bytes = 0;       // with its line end
  std::size_t first_line = 0;  // bytes up to the end of its first line
  std::int64_t values = 1;
  bool has_text = false;
  bool is_ended = false;   // by a line end; the text may go on behind what is there
  bool is_quoted = false;  // at the end of what is there
};

FirstRow first_row_of(std::string_view text, char delimiter) {
  FirstRow row;
  bool begins_value = true;
  bool after_quote = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_line_end = c == '\n';
    if (is_line_end && row.first_line == 0) row.first_line = at + 1;
    if (row.is_quoted) {
      if (c == '"') row.is_quoted = false, after_quote = true;
      continue;
    }
    if (is_line_end) {
      row.bytes = at + 1;
      row.is_ended = true;
      return row;
    }
    if (c == '"' && (begins_value || after_quote)) {
      row.is_quoted = true;
    } else if (c == delimiter) {
      ++row.values;
    }
    if (c != '\r') row.has_text = true;
    begins_value = c == delimiter;
    after_quote = false;
  }
  row.bytes = text.size();
  if (row.first_line == 0) row.first_line = text.size();
  return row;
}

// A text read piece by piece; one that is packed may end with an error, as far as which it is good.
class TextPieces {
 public:
  explicit TextPieces(std::shared_ptr<arrow::io::InputStream> text) : text_(std::move(text)) {}

  // False where there is no more.
  bool append_to(std::string& text, std::size_t bytes) {
    if (is_done_) return false;
    const auto block = text_->Read(static_cast<std::int64_t>(bytes));
    if (!block.ok()) {
      fail_for_machine(block.status(), "reading the rows that are whole");
      if (block.status().IsCapacityError()) or_refuse(block.status(), "the packed text");
      is_cut_ = true;
    }
    is_done_ = !block.ok() || (*block)->size() == 0;
    if (is_done_) return false;
    text += std::string_view(**block);
    return true;
  }
  bool is_cut() const { return is_cut_; }

 private:
  std::shared_ptr<arrow::io::InputStream> text_;
  bool is_done_ = false;
  bool is_cut_ = false;
};

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

// Copies the rows that `problem_of` finds nothing wrong with; "" is nothing.
class RowSieve {
 public:
  using FirstRowOf = std::function<FirstRow(std::string_view text)>;
  using ProblemOf = std::function<std::string(std::string_view text, const FirstRow& row)>;

  RowSieve(FirstRowOf first_row, ProblemOf problem_of)
      : first_row_(std::move(first_row)), problem_of_(std::move(problem_of)) {}

  UnreadRows sift(TextPieces& text, UnnamedFile& copy) {
    std::string rest;
    std::size_t done = 0;
    std::size_t next_bytes = piece_bytes;
    for (;;) {
      const std::string_view ahead = std::string_view(rest).substr(done);
      const FirstRow row = first_row_(ahead);
      if (!row.is_ended) {
        // A row may be as long as the file, where a quote is never closed: larger pieces each time.
        rest.erase(0, done);
        done = 0;
        if (text.append_to(rest, next_bytes)) {
          next_bytes = std::max(next_bytes, rest.size());
          continue;
        }
        if (rest.empty()) break;
      }
      next_bytes = piece_bytes;
      done += take(std::string_view(rest).substr(done), row, text.is_cut(), copy);
    }
    if (text.is_cut()) unread_.cut = fmt::format("the packed text is cut short in line {}", line_);
    return std::move(unread_);
  }

 private:
  // The bytes that are done with.
  std::size_t take(std::string_view text, const FirstRow& row, bool is_cut, UnnamedFile& copy) {
    std::string problem = row.has_text ? problem_of_(text.substr(0, row.bytes), row) : "";
    if (problem.empty() && is_cut && !row.is_ended) problem = "the file ends in the middle of it";
    const std::size_t bytes = problem.empty() ? row.bytes : row.first_line;
    if (problem.empty()) {
      copy.append(std::span(text.data(), bytes));
    } else {
      ++unread_.count;
      if (unread_.first.size() < UnreadRows::most_named) unread_.first.push_back({line_, std::move(problem)});
    }
    line_ += std::ranges::count(text.substr(0, bytes), '\n');
    return bytes;
  }

  FirstRowOf first_row_;
  ProblemOf problem_of_;
  UnreadRows unread_;
  std::int64_t line_ = 1;
};

// What the readers say of the copy, which has no name that anybody knows.
template <class Read>
Table read_copy(const UnnamedFile& copy, const std::filesystem::path& path, Read read) {
  try {
    return read(copy.path());
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    std::string message = error.what();
    const std::string name = copy.path().string();
    for (std::size_t at = message.find(name); at != std::string::npos; at = message.find(name))
      message.replace(at, name.size(), path.string());
    throw Error(error.code(), message, error.cause());
  }
}

}  // namespace

WholeRows read_whole_csv_rows(const std::filesystem::path& path, const CsvDialect& dialect,
                              const std::vector<std::string>& text_columns) {
  auto opened = or_refuse(open_text(path, dialect.blank_runs ? ' ' : dialect.delimiter), path.string());
  if (dialect.blank_runs) opened = with_single_tabs(std::move(opened));
  TextPieces text(std::move(opened));
  std::int64_t expected = static_cast<std::int64_t>(dialect.names.size());
  RowSieve sieve([&](std::string_view ahead) { return first_row_of(ahead, dialect.delimiter); },
                 [&](std::string_view, const FirstRow& row) -> std::string {
                   if (expected == 0) expected = row.values;
                   if (row.is_quoted) return "a quoted value is never closed";
                   if (row.values == expected) return "";
                   return fmt::format("{} in place of {}",
                                      counted(static_cast<std::uint64_t>(row.values), "value"), expected);
                 });
  UnnamedFile copy;
  UnreadRows left_out = sieve.sift(text, copy);
  CsvDialect plain = dialect;
  plain.blank_runs = false;  // the copy has tabs already
  return {read_copy(copy, path, [&](const auto& file) { return read_csv(file, plain, text_columns); }),
          std::move(left_out)};
}

WholeRows read_whole_json_lines(const std::filesystem::path& path,
                                const std::vector<std::string>& text_columns) {
  TextPieces text(
      or_refuse(open_json_rows(path, is_json_array(path), ArrayEnd::may_be_missing), path.string()));
  const auto first_line = [](std::string_view ahead) {
    FirstRow row;
    const std::size_t end = ahead.find('\n');
    row.is_ended = end != std::string_view::npos;
    row.bytes = row.first_line = row.is_ended ? end + 1 : ahead.size();
    row.has_text = ahead.substr(0, row.bytes).find_first_not_of(" \t\r\n") != std::string_view::npos;
    return row;
  };
  const auto problem_of = [](std::string_view line, const FirstRow&) -> std::string {
    return nlohmann::json::parse(line, nullptr, false).is_object() ? "" : "it is not one object of JSON";
  };
  UnnamedFile copy;
  UnreadRows left_out = RowSieve(first_line, problem_of).sift(text, copy);
  return {read_copy(copy, path, [&](const auto& file) { return read_json_lines(file, text_columns); }),
          std::move(left_out)};
}

std::optional<WholeRows> read_whole_batches(const std::filesystem::path& path) {
  constexpr std::int64_t bytes_of_magic = 8;  // behind which a file goes on as a stream does
  const auto file = or_refuse(arrow::io::ReadableFile::Open(path.string()), path.string());
  const auto magic = or_refuse(file->Read(6), path.string());
  or_refuse(file->Seek(magic->ToString() == "ARROW1" ? bytes_of_magic : 0), path.string());
  const std::uint64_t limit =
      most_bytes_of_rows(static_cast<std::uint64_t>(or_refuse(file->GetSize(), path.string())));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = bounded_memory(arrow::default_memory_pool(), limit);
  const auto opened = arrow::ipc::RecordBatchStreamReader::Open(file.get(), options);
  fail_for_machine(opened.status(), path.string());
  if (!opened.ok()) return std::nullopt;
  arrow::RecordBatchVector batches;
  std::int64_t rows = 0;
  for (;;) {
    const auto batch = (*opened)->Next();
    fail_for_machine(batch.status(), path.string());
    if (batch.status().IsCapacityError()) or_refuse(batch.status(), path.string());
    if (!batch.ok() || *batch == nullptr || !(*batch)->Validate().ok()) break;
    const auto piece = or_refuse(arrow::Table::FromRecordBatches({*batch}), path.string());
    or_refuse(check_size_written_out(*piece, limit), path.string());
    if (!(*batch)->ValidateFull().ok()) break;
    rows += (*batch)->num_rows();
    batches.push_back(*batch);
  }
  if (rows == 0) return std::nullopt;
  UnreadRows left_out;
  left_out.cut = fmt::format("the file is damaged or cut short behind row {}", rows);
  auto table = or_refuse(arrow::Table::FromRecordBatches((*opened)->schema(), batches), path.string());
  or_refuse(check_size_written_out(*table, limit), path.string());
  return WholeRows{{std::move(table)}, std::move(left_out)};
}

}  // namespace stoker
