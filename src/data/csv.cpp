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
#include <arrow/io/compressed.h>
#include <arrow/io/concurrency.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <arrow/util/utf8.h>

#include "base/error.h"
#include "base/text.h"
#include "data/arrow_result.h"
#include "data/arrow_threads.h"
#include "data/csv_numbers.h"
#include "data/csv_rows.h"
#include "data/reading_memory.h"
#include "data/table_files.h"
#include "data/unsigned_columns.h"
#include "device/device.h"

namespace stoker {
namespace {

// Arrow needs a row to fit into a block; wide tables get a second reading with blocks that hold their rows.
constexpr std::int32_t usual_block_bytes = 1 << 20;
constexpr std::int32_t large_block_bytes = 1 << 26;

// A small packed file may unpack to more than any machine holds. What counts is not the text but what reading
// it takes: a cell is two characters of text, or one, and eight bytes of a column. Few honest files are
// packed so well that it is 512 times the file.
constexpr std::uint64_t most_bytes_of_a_packed_byte = 512;
constexpr std::uint64_t always_allowed_bytes = std::uint64_t{256} << 20;

class BoundedInput : public arrow::io::InputStream {
 public:
  BoundedInput(std::shared_ptr<arrow::io::InputStream> inner, char delimiter, std::uint64_t packed_bytes)
      : inner_(std::move(inner)),
        delimiter_(delimiter),
        limit_(std::min(std::max(always_allowed_bytes, packed_bytes * most_bytes_of_a_packed_byte),
                        memory_bytes() / 4 * 3)) {}
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t read, inner_->Read(bytes, out));
    ARROW_RETURN_NOT_OK(count({static_cast<const char*>(out), static_cast<std::size_t>(read)}));
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, inner_->Read(bytes));
    ARROW_RETURN_NOT_OK(count(std::string_view(*buffer)));
    return buffer;
  }
  arrow::Status Close() override { return inner_->Close(); }
  arrow::Result<std::int64_t> Tell() const override { return inner_->Tell(); }
  bool closed() const override { return inner_->closed(); }

 private:
  arrow::Status count(std::string_view text) {
    const auto cells =
        std::count(text.begin(), text.end(), delimiter_) + std::count(text.begin(), text.end(), '\n');
    needed_ += text.size() + static_cast<std::uint64_t>(cells) * sizeof(double);
    if (needed_ <= limit_) return arrow::Status::OK();
    return arrow::Status::CapacityError(
        "unpacked, it takes more than ", human_bytes(limit_),
        " of memory to read; unpack it yourself if it is meant to be that large");
  }

  std::shared_ptr<arrow::io::InputStream> inner_;
  char delimiter_;
  std::uint64_t limit_;
  std::uint64_t needed_ = 0;
};

// Told by the first bytes, not by the name: servers hand out packed files under plain names.
arrow::Compression::type compression_of(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return arrow::Compression::GZIP;
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) return arrow::Compression::ZSTD;
  return arrow::Compression::UNCOMPRESSED;
}

arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_text(const std::filesystem::path& path,
                                                                 char delimiter) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path.string()));
  ARROW_ASSIGN_OR_RAISE(const auto first_bytes, file->Read(4));
  ARROW_RETURN_NOT_OK(file->Seek(0));
  const auto compression = compression_of(std::string_view(*first_bytes));
  if (compression == arrow::Compression::UNCOMPRESSED) return file;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::util::Codec> codec, arrow::util::Codec::Create(compression));
  ARROW_ASSIGN_OR_RAISE(const auto unpacked, arrow::io::CompressedInputStream::Make(codec.get(), file));
  // The codec must outlive the stream that uses it.
  const std::shared_ptr<arrow::io::InputStream> owner(unpacked.get(),
                                                      [unpacked, codec](arrow::io::InputStream*) {});
  ARROW_ASSIGN_OR_RAISE(const std::int64_t packed_bytes, file->GetSize());
  return std::make_shared<BoundedInput>(owner, delimiter, static_cast<std::uint64_t>(packed_bytes));
}

arrow::Result<bool> is_packed(const std::filesystem::path& path) {
  ARROW_ASSIGN_OR_RAISE(const auto file, arrow::io::ReadableFile::Open(path.string()));
  ARROW_ASSIGN_OR_RAISE(const auto first_bytes, file->Read(4));
  return compression_of(std::string_view(*first_bytes)) != arrow::Compression::UNCOMPRESSED;
}

// Which columns to read, and which of them as text; none of the first: all.
struct Wanted {
  const std::vector<std::string>& text_columns;
  bool use_threads;
  std::vector<std::string> columns = {};
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
                                                          char delimiter, const Wanted& wanted,
                                                          std::int32_t block_bytes) {
  auto reading = arrow::csv::ReadOptions::Defaults();
  reading.block_size = block_bytes;
  reading.use_threads = wanted.use_threads;
  auto parsing = arrow::csv::ParseOptions::Defaults();
  parsing.delimiter = delimiter;
  parsing.newlines_in_values = true;
  auto converting = arrow::csv::ConvertOptions::Defaults();
  converting.strings_can_be_null = true;
  for (const char* spelling : {"None", "<NA>", "NaT"}) converting.null_values.emplace_back(spelling);
  for (const std::string& name : wanted.text_columns) converting.column_types[name] = arrow::utf8();
  converting.include_columns = wanted.columns;
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::csv::TableReader::Make(arrow::io::IOContext(reading_memory()),
                                                                   text, reading, parsing, converting));
  return read_all(std::move(reader));
}

arrow::Result<std::shared_ptr<arrow::Table>> read_columns(const std::filesystem::path& path, char delimiter,
                                                          const Wanted& wanted, std::int32_t block_bytes) {
  ARROW_ASSIGN_OR_RAISE(const auto text, open_text(path, delimiter));
  return read_columns(text, delimiter, wanted, block_bytes);
}

// Doubles that were whole numbers beyond 2^63 become those again: their column is read once more, as text.
arrow::Result<std::shared_ptr<arrow::Table>> with_unsigned_columns(std::shared_ptr<arrow::Table> table,
                                                                   const std::filesystem::path& path,
                                                                   char delimiter, bool use_threads) {
  const std::vector<std::string> names = columns_that_may_be_unsigned(*table);
  if (names.empty()) return table;
  ARROW_ASSIGN_OR_RAISE(const auto texts,
                        read_columns(path, delimiter, Wanted{names, use_threads, names}, large_block_bytes));
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

std::optional<RowScanner::Fault> find_fault(const std::filesystem::path& path, char delimiter) {
  const auto text = or_refuse(open_text(path, delimiter), path.string());
  RowScanner scanner(delimiter);
  while (true) {
    const auto block = or_refuse(text->Read(1 << 20), path.string());
    if (block->size() == 0) return scanner.finish();
    scanner.feed(std::string_view(*block));
  }
}

void refuse_faults(const std::filesystem::path& path, char delimiter) {
  const std::string name = path.string();
  const auto fault = find_fault(path, delimiter);
  if (!fault) return;
  if (fault->open_quote)
    refuse("{}:{}: a quoted value that begins in this row is never closed", name, fault->line);
  const char* hint = fault->expected > 1
                         ? ""
                         : "; if the values are separated by another character, set delimiter (--delimiter)";
  refuse("{}:{}: this row has {}, but the header has {}{}", name, fault->line,
         counted(static_cast<std::uint64_t>(fault->values), "value"), fault->expected, hint);
}

// Two-byte encodings put zero bytes between the letters; Arrow would read nonsense without complaint.
void refuse_wide_text(const std::filesystem::path& path, char delimiter) {
  const auto text = or_refuse(open_text(path, delimiter), path.string());
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
arrow::Result<std::shared_ptr<arrow::Buffer>> first_lines(const std::filesystem::path& path, char delimiter,
                                                          std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(const auto text, open_text(path, delimiter));
  ARROW_ASSIGN_OR_RAISE(auto start, text->Read(bytes));
  if (start->size() < bytes) return start;
  const std::size_t end = std::string_view(*start).rfind('\n');
  if (end == std::string_view::npos) return arrow::Status::Invalid("no row is that short");
  return arrow::SliceBuffer(start, 0, static_cast<std::int64_t>(end) + 1);
}

}  // namespace

Table read_csv_start(const std::filesystem::path& path, char delimiter,
                     const std::vector<std::string>& text_columns, std::int64_t bytes) {
  const auto lines = or_refuse(first_lines(path, delimiter, bytes), path.string());
  const auto text = std::make_shared<arrow::io::BufferReader>(lines);
  return {or_refuse(read_columns(text, delimiter, Wanted{text_columns, false}, usual_block_bytes),
                    path.string())};
}

Table read_csv(const std::filesystem::path& path, char delimiter,
               const std::vector<std::string>& text_columns) {
  arrow::util::InitializeUTF8();
  refuse_wide_text(path, delimiter);
  const bool packed = or_refuse(is_packed(path), path.string());
  if (!packed) {
    if (const auto numbers = read_csv_of_numbers(path, delimiter, text_columns)) {
      refuse_foreign_text(*numbers->columns, path.string());
      return *numbers;
    }
  }
  // Threads of Arrow's would wait for ever for an input that BoundedInput ends, and with them the program's
  // end.
  const Wanted wanted{text_columns, !packed && reads_in_threads(path)};
  auto columns = read_columns(path, delimiter, wanted, usual_block_bytes);
  fail_for_machine(columns.status(), path.string());
  if (columns.status().IsCapacityError()) or_refuse(columns.status(), path.string());
  if (!columns.ok()) {
    refuse_faults(path, delimiter);
    columns = read_columns(path, delimiter, wanted, large_block_bytes);
  }
  fail_for_machine(columns.status(), path.string());
  if (!columns.ok()) {
    refuse("{} cannot be read (rows may take up to {}): {}", path.string(), human_bytes(large_block_bytes),
           columns.status().message());
  }
  refuse_foreign_text(**columns, path.string());
  return {or_refuse(with_unsigned_columns(*columns, path, delimiter, wanted.use_threads), path.string())};
}

}  // namespace stoker
