#include "database/loose_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text/nan_sign.h"

namespace stoker::database {
namespace {

constexpr std::int64_t rows_to_begin_with = 1024;
constexpr std::size_t text_that_fills_a_block = std::size_t{1} << 30;

std::size_t bytes_of_bits(std::int64_t bits) {
  return static_cast<std::size_t>((bits + 7) / 8);
}

bool is_there(const ColumnValues& values, std::int64_t row) {
  return values.present.size() == 0 ||
         (values.present.data()[row / 8] >> static_cast<unsigned>(row % 8) & std::byte{1}) != std::byte{0};
}

template <class T>
T value_at(const ColumnValues& values, std::int64_t row) {
  T value{};
  std::memcpy(&value, values.values.data() + static_cast<std::size_t>(row) * sizeof(T), sizeof(T));
  return value;
}

std::string text_of_real(double value) {
  std::array<char, 40> text{};
  return {text.data(), std::to_chars(text.begin(), text.end(), without_nan_sign(value)).ptr};
}

std::string number_as_text(ValueType type, const ColumnValues& values, std::int64_t row) {
  return type == ValueType::int64 ? fmt::format("{}", value_at<std::int64_t>(values, row))
                                  : text_of_real(value_at<double>(values, row));
}

std::size_t room_for(ValueType type, std::int64_t rows) {
  return type == ValueType::text ? static_cast<std::size_t>(rows + 1) * sizeof(std::int32_t)
                                 : static_cast<std::size_t>(rows) * bytes_of(type);
}

}  // namespace

LooseColumns::LooseColumns(std::vector<std::string> names) : names_(std::move(names)) {
  begin_block();
}

// A column goes on with the type that it had, so that values are taken as if all were in one block.
void LooseColumns::begin_block() {
  columns_.clear();
  columns_.resize(names_.size());
  row_ = 0;
  capacity_ = rows_to_begin_with;
  has_full_text_ = false;
  for (std::size_t c = 0; !done_.empty() && c < columns_.size(); ++c) {
    columns_[c].type = done_.back().columns[c].type;
    columns_[c].was_real = done_.back().columns[c].was_real;
    grow(columns_[c]);
  }
}

void LooseColumns::grow(Column& column) const {
  column.values.values.resize(room_for(column.type, capacity_));
  const std::size_t before = column.values.present.size();
  if (before == 0) return;
  column.values.present.resize(bytes_of_bits(capacity_));
  std::memset(column.values.present.data() + before, 0xff, column.values.present.size() - before);
}

void LooseColumns::end_row() {
  ++row_;
  if (has_full_text_ || row_ == rows_of_a_block) {
    end_block();
    begin_block();
  } else if (row_ == capacity_) {
    capacity_ = std::min(capacity_ + capacity_ / 2, rows_of_a_block);
    for (Column& column : columns_) grow(column);
  }
}

void LooseColumns::append_text(Column& column, std::int64_t row, std::string_view text) const {
  ColumnValues& values = column.values;
  const std::size_t needed = values.text_bytes + text.size();
  if (needed > values.text.size()) values.text.resize(std::max(needed, values.text.size() * 3 / 2 + 4096));
  if (!text.empty()) std::memcpy(values.text.data() + values.text_bytes, text.data(), text.size());
  values.text_bytes = needed;
  const auto end = static_cast<std::int32_t>(needed);
  std::memcpy(values.values.data() + static_cast<std::size_t>(row + 1) * sizeof(end), &end, sizeof(end));
}

// The first `rows` of its values as those of a type that holds them all.
void LooseColumns::become(Column& column, ValueType type, std::int64_t rows) const {
  if (column.type == type) return;
  Column wider{type, {}, column.was_real || type == ValueType::float64};
  wider.values.present = std::move(column.values.present);
  wider.values.missing = column.values.missing;
  wider.values.values.resize(room_for(type, std::max(rows, rows == row_ ? capacity_ : rows)));
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool has_value = column.type != ValueType::nothing && is_there(wider.values, row);
    if (type == ValueType::text) {
      append_text(wider, row, has_value ? number_as_text(column.type, column.values, row) : "");
    } else if (has_value && type == ValueType::float64) {
      const auto real = static_cast<double>(value_at<std::int64_t>(column.values, row));
      std::memcpy(wider.values.values.data() + static_cast<std::size_t>(row) * sizeof(real), &real,
                  sizeof(real));
    }
  }
  column = std::move(wider);
}

template <class T>
void LooseColumns::put(Column& column, T value) {
  std::memcpy(column.values.values.data() + static_cast<std::size_t>(row_) * sizeof(T), &value, sizeof(T));
}

void LooseColumns::put_integer(std::size_t at, std::int64_t value) {
  Column& column = columns_[at];
  if (column.type == ValueType::float64) return put(column, static_cast<double>(value));
  if (column.type == ValueType::text) return append_text(column, row_, fmt::format("{}", value));
  become(column, ValueType::int64, row_);
  put(column, value);
}

void LooseColumns::put_real(std::size_t at, double value) {
  Column& column = columns_[at];
  if (column.type == ValueType::text) return append_text(column, row_, text_of_real(value));
  become(column, ValueType::float64, row_);
  put(column, value);
}

void LooseColumns::put_text(std::size_t at, std::string_view text) {
  Column& column = columns_[at];
  if (text.size() >= text_that_fills_a_block)
    throw RowProblem{rows(), fmt::format("column '{}' holds a text of more than 1 GiB", names_[at])};
  become(column, ValueType::text, row_);
  append_text(column, row_, text);
  if (column.values.text_bytes >= text_that_fills_a_block) has_full_text_ = true;
}

void LooseColumns::put_missing(std::size_t at) {
  ColumnValues& values = columns_[at].values;
  if (columns_[at].type == ValueType::text) append_text(columns_[at], row_, "");
  if (values.present.size() == 0) {
    values.present.resize(bytes_of_bits(capacity_));
    std::memset(values.present.data(), 0xff, values.present.size());
  }
  values.present.data()[row_ / 8] &= ~(std::byte{1} << static_cast<unsigned>(row_ % 8));
  ++values.missing;
}

void LooseColumns::end_block() {
  rows_before_ += row_;
  done_.push_back({row_, std::move(columns_)});
}

// Of all blocks: what is text in one is text in all.
void LooseColumns::settle_types() {
  const auto rank = [](ValueType type) {
    return type == ValueType::nothing ? 0 : type == ValueType::int64 ? 1 : type == ValueType::float64 ? 2 : 3;
  };
  for (std::size_t c = 0; c < names_.size(); ++c) {
    ValueType widest = ValueType::nothing;
    for (const LooseBlock& block : done_)
      if (rank(block.columns[c].type) > rank(widest)) widest = block.columns[c].type;
    const bool was_real = done_.back().columns[c].was_real;
    for (LooseBlock& block : done_) {
      if (was_real && block.columns[c].type == ValueType::int64)
        become(block.columns[c], ValueType::float64, block.rows);
      become(block.columns[c], widest, block.rows);
    }
  }
}

bool LooseColumns::is_boolean(std::size_t column) const {
  for (const LooseBlock& block : done_) {
    const Column& each = block.columns[column];
    if (each.type != ValueType::int64) return false;
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const auto value = value_at<std::int64_t>(each.values, row);
      if (value != 0 && value != 1) return false;
    }
  }
  return true;
}

void LooseColumns::pack_booleans(std::size_t column) {
  for (LooseBlock& block : done_) {
    Column& each = block.columns[column];
    Pages bytes;
    bytes.resize(static_cast<std::size_t>(block.rows));
    for (std::int64_t row = 0; row < block.rows; ++row)
      bytes.data()[row] = static_cast<std::byte>(value_at<std::int64_t>(each.values, row));
    each.values.values = std::move(bytes);
    each.type = ValueType::boolean;
  }
}

Rows LooseColumns::finish(const std::vector<bool>& booleans) {
  if (row_ > 0 || done_.empty()) end_block();
  settle_types();
  Rows rows;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (booleans[c] && is_boolean(c)) pack_booleans(c);
    rows.forms.push_back({names_[c], done_.front().columns[c].type});
  }
  for (LooseBlock& block : done_) {
    rows.blocks.push_back({block.rows, {}});
    for (Column& column : block.columns) {
      column.values.values.resize(room_for(column.type, block.rows));
      column.values.text.resize(column.values.text_bytes);
      if (column.values.present.size() > 0) column.values.present.resize(bytes_of_bits(block.rows));
      rows.blocks.back().columns.push_back(std::move(column.values));
    }
  }
  return rows;
}

}  // namespace stoker::database
