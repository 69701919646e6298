#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/dates/date_form.h"
#include "data/prepare/column_scale.h"
#include "data/prepare/preparation.h"

// Rows that come value by value, a few at a time, and not as a table.
namespace stoker {

struct Cell {
  enum class Kind : std::uint8_t { missing, truth, number, text };
  Kind kind = Kind::missing;
  double number = 0;  // of a truth, 0 or 1
  // Of a number, only where it is whole and too long for a double.
  std::string text = {};
};

// Prepares such rows as Preparation::apply does a table, with what it takes looked up once. The preparation
// outlives it.
class CellPreparation {
 public:
  // Whether rows stand for themselves: those of windows of a series do not, and sets come as tables.
  static bool can_prepare(const Preparation& preparation);

  CellPreparation(const Preparation& preparation, DType type);

  // Of the table: what each row has cells for, in this order.
  const std::vector<std::string>& columns() const { return names_; }

  // `cells` are rows one behind the other, `width` of them to a row; the cell of columns()[i] is the one at
  // places[i]. Refuses what the table's way refuses.
  Dataset prepare(std::span<const Cell> cells, std::size_t width, std::span<const std::size_t> places) const;

  // How many values of a column are missing, how many are texts that training had not seen, and how many are
  // numbers far from those that it had.
  struct Gaps {
    std::int64_t missing = 0;
    std::int64_t unseen = 0;
    std::int64_t outside = 0;
    std::optional<NumberRange> range = {};
  };
  // One of each of columns().
  std::vector<Gaps> gaps(std::span<const Cell> cells, std::size_t width,
                         std::span<const std::size_t> places) const;

 private:
  struct Column {  // of the preparation
    const PreparedColumn* prepared = nullptr;
    std::size_t source = 0;  // of columns()
    std::unordered_map<std::string_view, std::int32_t> slots = {};
    std::int32_t slot_of_missing = 0;
    std::vector<double> statistics = {};  // of each slot
    std::optional<DateForm> form = {};
    std::shared_ptr<const ScaledBlocks> curve = {};
    bool holds_dates = false;
    bool holds_texts = false;  // though it may itself tell no more than whether they are missing
  };
  struct Part {  // an array of the prepared rows
    ArraySpec spec;
    std::vector<std::size_t> columns;  // of those below, in their order
    std::vector<std::int64_t> first_features;
  };

  double number_in(const Column& column, const Cell& cell, std::size_t row) const;
  bool is_missing(const Column& column, const Cell& cell, std::size_t row) const;
  std::int32_t slot_in(const Column& column, const Cell& cell) const;
  [[noreturn]] void refuse_other_type(const Column& column, const Cell& cell, std::size_t row) const;

  const Preparation& preparation_;
  DType type_;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::vector<Part> parts_;
};

}  // namespace stoker
