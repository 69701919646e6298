#include "database/columns.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include <sys/mman.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "device/row_memory.h"

namespace stoker::database {
namespace {

constexpr std::int64_t first_rows = 1024;
constexpr std::size_t large_page = std::size_t{2} << 20U;
constexpr std::size_t full_text_bytes = std::size_t{1} << 30;
constexpr std::int64_t most_values_of_an_array = 1'000'000;

[[noreturn]] void run_out(std::size_t bytes) {
  throw OutOfMemory(fmt::format("out of memory: no {} for rows of a database", human_bytes(bytes)));
}

std::size_t bits_to_bytes(std::int64_t bits) {
  return static_cast<std::size_t>((bits + 7) / 8);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return "no values";
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(fmt::format("{}", size));
  return shape.size() == 1 ? counted(static_cast<std::uint64_t>(shape[0]), "value")
                           : join(sizes, " x ") + " values";
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

[[noreturn]] void refuse_shape(std::int64_t row, const std::string& column,
                               const std::vector<std::int64_t>& found,
                               const std::vector<std::int64_t>& expected) {
  throw RowProblem{row, fmt::format("column '{}' holds an array of {} where rows before it have {}; all "
                                    "arrays of a column must have one shape",
                                    column, shape_text(found), shape_text(expected))};
}

}  // namespace

std::size_t bytes_of(ValueType type) {
  switch (type) {
    case ValueType::boolean:
      return 1;
    case ValueType::int16:
      return 2;
    case ValueType::int32:
    case ValueType::float32:
    case ValueType::date:
      return 4;
    case ValueType::text:
    case ValueType::nothing:
      return 0;
    default:
      return 8;
  }
}

struct Pages::Memory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool is_in_file = false;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (is_in_file) {
      give_back_memory_for_rows(data, bytes);
    } else if (data != nullptr) {
      ::munmap(data, bytes);
      discount_memory_for_rows(bytes);
    }
  }
};

Pages::Pages(Pages&& other) noexcept
    : memory_(std::move(other.memory_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

// With what it had; a file gives zeros.
void Pages::move_to_file(std::size_t bytes) {
  Pages moved;
  moved.memory_ = std::make_shared<Memory>();
  moved.data_ = moved.memory_->data = take_memory_for_rows(bytes);
  moved.size_ = moved.memory_->bytes = bytes;
  moved.memory_->is_in_file = true;
  if (size_ > 0) std::memcpy(moved.data_, data_, size_);
  *this = std::move(moved);
}

void Pages::resize(std::size_t bytes) {
  if (bytes == size_) return;
  if (bytes == 0) {
    Pages gone(std::move(*this));
    return;
  }
  if (memory_ == nullptr) memory_ = std::make_shared<Memory>();
  if (memory_->is_in_file && bytes <= memory_->bytes) {
    if (bytes > size_) std::memset(data_ + size_, 0, bytes - size_);
    size_ = bytes;
    return;
  }
  const std::size_t more = bytes > size_ ? bytes - size_ : 0;
  if (memory_->is_in_file || !count_memory_for_rows(more)) return move_to_file(bytes);
  void* const pages = data_ == nullptr
                          ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                          : ::mremap(data_, size_, bytes, MREMAP_MAYMOVE);
  if (pages == MAP_FAILED) {
    discount_memory_for_rows(more);
    run_out(bytes);
  }
  // What is taken at once is filled at once: in small pages, getting them would take longer than filling
  // them.
  if (data_ == nullptr && bytes >= large_page) ::madvise(pages, bytes, MADV_HUGEPAGE);
  if (bytes < size_) discount_memory_for_rows(size_ - bytes);
  data_ = memory_->data = static_cast<std::byte*>(pages);
  size_ = memory_->bytes = bytes;
}

std::int64_t Rows::rows() const {
  std::int64_t sum = 0;
  for (const Block& block : blocks) sum += block.rows;
  return sum;
}

std::uint64_t bytes_of(const Rows& rows) {
  std::uint64_t sum = 0;
  for (const Block& block : rows.blocks)
    for (const ColumnValues& values : block.columns)
      sum += values.values.size() + values.text.size() + values.present.size();
  return sum;
}

RowWriter::RowWriter(const std::vector<ColumnForm>& forms, std::int64_t most_rows_of_a_block)
    : forms_(forms), most_rows_(most_rows_of_a_block), targets_(forms.size()) {
  begin_block();
}

void RowWriter::begin_block() {
  block_ = {};
  block_.columns.resize(forms_.size());
  row_ = 0;
  capacity_ = std::min(first_rows, most_rows_);
  for (std::size_t c = 0; c < forms_.size(); ++c) {
    if (!done_.empty()) {  // rows of one connection have one shape
      block_.columns[c].shape = done_.back().columns[c].shape;
      block_.columns[c].width = done_.back().columns[c].width;
      if (!block_.columns[c].shape.empty()) block_.columns[c].shape_row = 0;
    }
    lay_out(c);
  }
  has_full_text_ = false;
}

// Room for `capacity_` rows. Values stay where they are, since pages move as a whole.
void RowWriter::lay_out(std::size_t column) {
  ColumnValues& values = block_.columns[column];
  if (forms_[column].type == ValueType::text) {
    values.values.resize(static_cast<std::size_t>(capacity_ + 1) * sizeof(std::int32_t));
  } else if (!forms_[column].is_array || !values.shape.empty()) {
    const auto stride = values.width * static_cast<std::int64_t>(bytes_of(forms_[column].type));
    values.values.resize(static_cast<std::size_t>(capacity_ * stride));
    targets_[column] = {values.values.data(), stride};
  }
  if (values.present.size() > 0) {
    const std::size_t before = values.present.size();
    values.present.resize(bits_to_bytes(capacity_ * values.width));
    std::memset(values.present.data() + before, 0xff, values.present.size() - before);
  }
}

void RowWriter::make_room() {
  if (has_full_text_ || row_ == most_rows_) {
    end_block();
    begin_block();
    return;
  }
  capacity_ = std::min(capacity_ + capacity_ / 2, most_rows_);
  for (std::size_t c = 0; c < forms_.size(); ++c) lay_out(c);
}

void RowWriter::put_text(std::size_t column, std::string_view text) {
  ColumnValues& values = block_.columns[column];
  if (text.size() >= full_text_bytes)
    throw RowProblem{
        rows(), fmt::format("column '{}' holds a text of {}, more than {} can be read", forms_[column].name,
                            human_bytes(text.size()), human_bytes(full_text_bytes))};
  const std::size_t needed = values.text_bytes + text.size();
  if (needed >= full_text_bytes) has_full_text_ = true;
  if (needed > values.text.size()) values.text.resize(std::max(needed, values.text.size() * 3 / 2 + 4096));
  if (!text.empty()) std::memcpy(values.text.data() + values.text_bytes, text.data(), text.size());
  values.text_bytes = needed;
  const auto end = static_cast<std::int32_t>(needed);  // at most twice full_text_bytes, less one
  std::memcpy(values.values.data() + static_cast<std::size_t>(row_ + 1) * sizeof(end), &end, sizeof(end));
}

void RowWriter::set_missing(std::size_t column, std::int64_t first, std::int64_t count) {
  ColumnValues& values = block_.columns[column];
  if (values.present.size() == 0) {
    values.present.resize(bits_to_bytes(capacity_ * values.width));
    std::memset(values.present.data(), 0xff, values.present.size());
  }
  for (std::int64_t at = first; at < first + count; ++at)
    values.present.data()[at / 8] &= ~(std::byte{1} << static_cast<unsigned>(at % 8));
  values.missing += count;
}

void RowWriter::put_missing(std::size_t column) {
  ColumnValues& values = block_.columns[column];
  if (forms_[column].type == ValueType::text) put_text(column, "");
  if (forms_[column].is_array && values.shape.empty()) return;  // place_array sees to it
  set_missing(column, row_ * values.width, values.width);
}

std::byte* RowWriter::place_array(std::size_t column, const std::vector<std::int64_t>& shape) {
  ColumnValues& values = block_.columns[column];
  if (values.shape.empty()) {
    if (shape.empty() || product(shape) > most_values_of_an_array)
      throw RowProblem{
          rows(), fmt::format("column '{}' holds an array of {}; from 1 to {} can be read",
                              forms_[column].name, shape_text(shape), human_count(most_values_of_an_array))};
    values.shape = shape;
    values.width = product(shape);
    values.shape_row = row_;
    lay_out(column);
    if (row_ > 0) set_missing(column, 0, row_ * values.width);
  }
  if (values.shape != shape) refuse_shape(rows(), forms_[column].name, shape, values.shape);
  return place(column);
}

void RowWriter::put_missing_in_array(std::size_t column, std::int64_t at) {
  set_missing(column, row_ * block_.columns[column].width + at, 1);
}

void RowWriter::end_block() {
  block_.rows = row_;
  rows_before_ += row_;
  for (std::size_t c = 0; c < forms_.size(); ++c) {
    ColumnValues& values = block_.columns[c];
    const bool is_text = forms_[c].type == ValueType::text;
    const bool is_shapeless = forms_[c].is_array && values.shape.empty();
    const auto count = static_cast<std::size_t>(row_ * values.width);
    if (!is_shapeless) values.values.resize(is_text ? (count + 1) * 4 : count * bytes_of(forms_[c].type));
    values.text.resize(values.text_bytes);
    if (values.present.size() > 0) values.present.resize(bits_to_bytes(row_ * values.width));
  }
  done_.push_back(std::move(block_));
}

std::vector<Block> RowWriter::finish() {
  if (row_ > 0 || done_.empty()) end_block();
  return std::move(done_);
}

void settle_shapes(Rows& rows) {
  for (std::size_t c = 0; c < rows.forms.size(); ++c) {
    if (!rows.forms[c].is_array) continue;
    std::vector<std::int64_t> shape;
    std::int64_t before = 0;
    for (const Block& block : rows.blocks) {
      const ColumnValues& values = block.columns[c];
      if (shape.empty()) shape = values.shape;
      if (!values.shape.empty() && values.shape != shape)
        refuse_shape(before + values.shape_row, rows.forms[c].name, values.shape, shape);
      before += block.rows;
    }
    for (Block& block : rows.blocks) {
      ColumnValues& values = block.columns[c];
      if (!values.shape.empty() || shape.empty()) continue;
      values.shape = shape;
      values.width = product(shape);
      values.missing = block.rows * values.width;
      values.values.resize(static_cast<std::size_t>(values.missing) * bytes_of(rows.forms[c].type));
      values.present.resize(bits_to_bytes(values.missing));
    }
  }
}

namespace {

bool is_present(const ColumnValues& values, std::int64_t at) {
  return values.present.size() == 0 ||
         (values.present.data()[at / 8] >> static_cast<unsigned>(at % 8) & std::byte{1}) != std::byte{0};
}

// Which values are missing, and how long texts are, as numbers that do not depend on where a block begins.
class NumbersToHash {
 public:
  explicit NumbersToHash(Sha256& hash) : hash_(hash) {}
  NumbersToHash(const NumbersToHash&) = delete;
  NumbersToHash& operator=(const NumbersToHash&) = delete;
  ~NumbersToHash() { flush(); }
  void add(std::int64_t number) {
    numbers_.push_back(number);
    if (numbers_.size() == numbers_.capacity()) flush();
  }

 private:
  static constexpr std::size_t at_once = 8192;
  void flush() {
    hash_.add(std::as_bytes(std::span(numbers_)));
    numbers_.clear();
  }
  static std::vector<std::int64_t> reserved() {
    std::vector<std::int64_t> numbers;
    numbers.reserve(at_once);
    return numbers;
  }

  Sha256& hash_;
  std::vector<std::int64_t> numbers_ = reserved();
};

void hash_missing(const Rows& rows, std::size_t column, Sha256& hash) {
  NumbersToHash numbers(hash);
  std::int64_t before = 0;
  for (const Block& block : rows.blocks) {
    const ColumnValues& values = block.columns[column];
    const std::int64_t count = block.rows * values.width;
    for (std::int64_t at = 0; values.missing > 0 && at < count; ++at)
      if (!is_present(values, at)) numbers.add(before + at);
    before += count;
  }
}

void hash_lengths(const Rows& rows, std::size_t column, Sha256& hash) {
  NumbersToHash numbers(hash);
  for (const Block& block : rows.blocks) {
    const auto* ends = reinterpret_cast<const std::int32_t*>(block.columns[column].values.data());
    for (std::int64_t row = 0; row < block.rows; ++row) numbers.add(ends[row + 1] - ends[row]);
  }
}

}  // namespace

std::string hash_of(const Rows& rows) {
  Sha256 hash;
  for (std::size_t c = 0; c < rows.forms.size(); ++c) {
    const ColumnForm& form = rows.forms[c];
    hash.add(fmt::format("{}:{} {} {} {}\n", form.name.size(), form.name, static_cast<int>(form.type),
                         rows.rows(),
                         rows.blocks.empty() ? "" : shape_text(rows.blocks[0].columns[c].shape)));
    hash_missing(rows, c, hash);
    if (form.type == ValueType::text) hash_lengths(rows, c, hash);
    for (const Block& block : rows.blocks) {
      const Pages& bytes = form.type == ValueType::text ? block.columns[c].text : block.columns[c].values;
      hash.add(std::span<const std::byte>(bytes.data(), bytes.size()));
    }
  }
  return hash.finish();
}

}  // namespace stoker::database
