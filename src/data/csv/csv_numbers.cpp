#include "data/csv/csv_numbers.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/file.h>
#include <arrow/table.h>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/memory/page_memory.h"
#include "device/device.h"

namespace stoker {
namespace {

constexpr std::int64_t block_bytes = 1 << 20;
constexpr std::int64_t longest_row = 1 << 20;
constexpr std::size_t padding = 16;  // behind the text, so that no look-ahead needs a check

using File = std::shared_ptr<arrow::io::ReadableFile>;

struct NumberBlock {
  std::int64_t rows = 0;
  std::vector<std::shared_ptr<arrow::Buffer>> values;  // one a column, of doubles
  std::vector<std::vector<std::int64_t>> missing;      // rows of each column
  std::vector<std::uint8_t> real;                      // whether a column has a number that is not whole
};

// Room for the text of one block after the other.
class BlockText {
 public:
  explicit BlockText(std::int64_t most)
      : most_(most),
        text_(std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(most) + padding)) {}

  // Text of the file from `begin` on, with padding behind it; of at most `most` characters. Gives their
  // number.
  std::size_t read(const File& file, std::int64_t begin, std::int64_t size) {
    const auto length = static_cast<std::size_t>(
        or_refuse(file->ReadAt(begin, std::min(size, most_), text_.get()), "reading rows"));
    std::fill_n(text_.get() + length, padding, '\0');
    return length;
  }
  char* data() { return text_.get(); }

 private:
  std::int64_t most_;
  std::unique_ptr<char[]> text_;
};

struct CsvHeader {
  std::vector<std::string> names;
  std::int64_t end = 0;  // where the first row begins
};

// A name, quoted or not, up to the delimiter or the line's end; nothing for what the general reader may
// explain.
std::optional<std::string> header_name(std::string_view line, std::size_t& at, char delimiter) {
  std::string name;
  if (at < line.size() && line[at] == '"') {
    const std::size_t end = line.find('"', at + 1);
    if (end == std::string_view::npos || (end + 1 < line.size() && line[end + 1] != delimiter))
      return std::nullopt;
    name = line.substr(at + 1, end - at - 1);
    at = end + 1;
  } else {
    const std::size_t end = std::min(line.find(delimiter, at), line.size());
    name = line.substr(at, end - at);
    if (name.find('"') != std::string::npos) return std::nullopt;
    at = end;
  }
  return name;
}

std::optional<CsvHeader> read_header(const File& file, const CsvDialect& dialect) {
  BlockText text(longest_row);
  const std::size_t length = text.read(file, 0, longest_row);
  const std::string_view view(text.data(), length);
  const std::size_t line_end = view.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  std::string_view line = view.substr(0, line_end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  if (line.empty() || line.find('\r') != std::string_view::npos) return std::nullopt;
  if (!dialect.has_header()) return CsvHeader{dialect.names, line.data() - view.data()};
  CsvHeader header{{}, static_cast<std::int64_t>(line_end) + 1};
  for (std::size_t at = 0;; ++at) {
    auto name = header_name(line, at, dialect.delimiter);
    if (!name) return std::nullopt;
    header.names.push_back(std::move(*name));
    if (at >= line.size()) return header;
  }
}

// Parses rows between `text` and `end` into columns. False for anything but plain numbers.
class BlockParser {
 public:
  BlockParser(std::size_t columns, char delimiter) : columns_(columns), delimiter_(delimiter) {}

  bool parse(const char* text, const char* end, NumberBlock& block) const {
    const std::vector<double*> targets = allocate_columns(std::count(text, end, '\n') + 1, block);
    block.missing.resize(columns_);
    block.real.resize(columns_);
    while (text < end) {
      if (*text == '\n' || (*text == '\r' && text[1] == '\n')) {  // an empty line is no row
        text += *text == '\n' ? 1 : 2;
        continue;
      }
      text = parse_row(text, targets, block);
      if (text == nullptr) return false;
      ++block.rows;
    }
    return true;
  }

 private:
  // All columns side by side in one piece: many small ones waste a tenth of the memory and more.
  std::vector<double*> allocate_columns(std::int64_t rows, NumberBlock& block) const {
    constexpr std::int64_t alignment = 64;
    const std::int64_t bytes =
        (rows * static_cast<std::int64_t>(sizeof(double)) + alignment - 1) / alignment * alignment;
    const std::shared_ptr<arrow::Buffer> all = or_refuse(
        arrow::AllocateBuffer(bytes * static_cast<std::int64_t>(columns_), page_memory()), "reading rows");
    std::vector<double*> targets;
    for (std::int64_t c = 0; c < static_cast<std::int64_t>(columns_); ++c) {
      block.values.push_back(arrow::SliceMutableBuffer(all, c * bytes, bytes));
      targets.push_back(reinterpret_cast<double*>(block.values.back()->mutable_data()));
    }
    return targets;
  }

  const char* parse_row(const char* text, const std::vector<double*>& targets, NumberBlock& block) const {
    for (std::size_t c = 0; c < columns_; ++c) {
      const bool last = c + 1 == columns_;
      bool real = false;
      double& value = targets[c][block.rows];
      if (*text == delimiter_ || ends_line(*text)) {
        value = 0;
        block.missing[c].push_back(block.rows);
      } else {
        text = parse_plain_number(text, value, real);
        if (text == nullptr) return nullptr;
        block.real[c] |= static_cast<std::uint8_t>(real);
      }
      if (!last) {
        if (*text != delimiter_) return nullptr;
        ++text;
      }
    }
    if (*text == '\r' && text[1] == '\n') ++text;
    return *text == '\n' ? text + 1 : nullptr;
  }
  static bool ends_line(char c) { return c == '\n' || c == '\r'; }

  std::size_t columns_;
  char delimiter_;
};

// Blocks are cut at fixed places; a block owns the rows that begin behind its first byte, up to and with the
// row that begins at the next block's first byte, so every row has exactly one owner.
class NumberFile {
 public:
  NumberFile(File file, std::int64_t size, CsvHeader header, char delimiter)
      : file_(std::move(file)),
        size_(size),
        header_(std::move(header)),
        parser_(header_.names.size(), delimiter) {
    blocks_.resize(static_cast<std::size_t>((size_ - header_.end + block_bytes - 1) / block_bytes));
  }

  bool parse() {
    const auto most = static_cast<std::size_t>(std::max(1, cpu_cores()));
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 1; i < std::min(most, blocks_.size()); ++i)
        threads.emplace_back([this] { parse_blocks(); });
    } catch (const std::system_error&) {
      // The machine has no more threads to give; those that it gave are enough.
    }
    parse_blocks();
    threads.clear();
    if (error_) std::rethrow_exception(error_);
    return !gave_up_;
  }

  std::optional<Table> table() {
    arrow::FieldVector fields;
    arrow::ChunkedArrayVector columns;
    for (std::size_t c = 0; c < header_.names.size(); ++c) {
      columns.push_back(column(c));
      if (!columns.back()) return std::nullopt;
      fields.push_back(arrow::field(header_.names[c], columns.back()->type()));
    }
    return Table{arrow::Table::Make(arrow::schema(fields), columns)};
  }

 private:
  void parse_blocks() {
    try {
      BlockText text(block_bytes + 1 + reach_);
      while (!gave_up_) {
        const std::size_t next = next_block_++;
        if (next >= blocks_.size()) return;
        if (!parse_block(next, text)) gave_up_ = true;
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      error_ = std::current_exception();
      gave_up_ = true;
    }
  }

  bool parse_block(std::size_t index, BlockText& text) {
    const std::int64_t begin = header_.end + static_cast<std::int64_t>(index) * block_bytes;
    const std::int64_t own = std::min(block_bytes, size_ - begin);
    const std::int64_t before = index == 0 ? 0 : 1;  // the first block begins with a row
    std::size_t length = text.read(file_, begin - before, own + before + reach_);
    char* const own_text = text.data();
    if (begin - before + static_cast<std::int64_t>(length) == size_ && length > 0 &&
        own_text[length - 1] != '\n')
      own_text[length++] = '\n';
    const char* const first = own_text;
    const char* const last = first + length;
    const char* const start = index == 0 ? first : std::find(first, last, '\n') + 1;
    const char* const end = std::find(
        first + std::min<std::size_t>(length, static_cast<std::size_t>(own + before - 1)), last, '\n');
    if (end == last) return false;  // a row longer than what was read
    if (start > end) return true;
    return parser_.parse(start, end + 1, blocks_[index]);
  }

  std::shared_ptr<arrow::ChunkedArray> column(std::size_t c) const {
    const bool real = std::any_of(blocks_.begin(), blocks_.end(),
                                  [&](const NumberBlock& b) { return b.rows > 0 && b.real[c] != 0; });
    arrow::ArrayVector chunks;
    std::int64_t present = 0;
    for (const NumberBlock& block : blocks_) {
      if (block.rows == 0) continue;
      present += block.rows - static_cast<std::int64_t>(block.missing[c].size());
      chunks.push_back(chunk(block, c, real));
    }
    if (present == 0) return nullptr;  // of no type; the general reader knows what to do
    return std::make_shared<arrow::ChunkedArray>(std::move(chunks));
  }

  static std::shared_ptr<arrow::Array> chunk(const NumberBlock& block, std::size_t c, bool real) {
    const std::vector<std::int64_t>& missing = block.missing[c];
    std::shared_ptr<arrow::Buffer> valid;
    if (!missing.empty()) {
      valid = or_refuse(arrow::AllocateBitmap(block.rows), "reading rows");
      std::fill_n(valid->mutable_data(), valid->size(), std::uint8_t{0xff});
      for (const std::int64_t row : missing)
        valid->mutable_data()[row / 8] &= static_cast<std::uint8_t>(~(1U << (row % 8)));
    }
    if (!real) {
      auto* numbers = block.values[c]->mutable_data();
      for (std::int64_t row = 0; row < block.rows; ++row) {
        double number = 0;
        std::memcpy(&number, numbers + row * 8, 8);
        const auto whole = static_cast<std::int64_t>(number);
        std::memcpy(numbers + row * 8, &whole, 8);
      }
    }
    return arrow::MakeArray(arrow::ArrayData::Make(real ? arrow::float64() : arrow::int64(), block.rows,
                                                   {valid, block.values[c]},
                                                   static_cast<std::int64_t>(missing.size())));
  }

  static constexpr std::int64_t reach_ = 1 << 16;  // how far a block's last row may go into the next block

  File file_;
  std::int64_t size_;
  CsvHeader header_;
  BlockParser parser_;
  std::vector<NumberBlock> blocks_;
  std::atomic<std::size_t> next_block_{0};
  std::atomic<bool> gave_up_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace

std::optional<Table> read_csv_of_numbers(const std::filesystem::path& path, const CsvDialect& dialect,
                                         const std::vector<std::string>& text_columns) {
  // These could be part of a number, so the quick way cannot tell them from one.
  if (std::string_view("0123456789.+-eE ").find(dialect.delimiter) != std::string_view::npos)
    return std::nullopt;
  const File file = or_refuse(arrow::io::ReadableFile::Open(path.string()), path.string());
  const std::int64_t size = or_refuse(file->GetSize(), path.string());
  auto header = read_header(file, dialect);
  if (!header || header->end >= size) return std::nullopt;
  if (std::find_first_of(header->names.begin(), header->names.end(), text_columns.begin(),
                         text_columns.end()) != header->names.end())
    return std::nullopt;
  NumberFile numbers(file, size, std::move(*header), dialect.delimiter);
  if (!numbers.parse()) return std::nullopt;
  return numbers.table();
}

}  // namespace stoker
