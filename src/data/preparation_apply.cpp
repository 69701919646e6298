#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text.h"
#include "data/category_slots.h"
#include "data/column_scale.h"
#include "data/column_values.h"
#include "data/date_form.h"
#include "data/date_parts.h"
#include "data/kept_columns.h"
#include "data/preparation.h"
#include "data/relative_answers.h"
#include "data/target_statistics.h"
#include "data/windows.h"

namespace stoker {
namespace {

// Columns are read one block of rows at a time, so that the block's row-major numbers stay in the nearest
// cache while one column after the other is laid into them.
constexpr std::size_t block_rows = 512;

// Columns that come from a file when they are asked for are laid into the rows a few at a time: few enough to
// take little memory, and as many as keep what is written to a row together.
constexpr std::size_t columns_at_a_time = 4;
constexpr std::size_t values_at_a_time = std::size_t{1} << 22;

std::size_t columns_from_file(std::int64_t rows) {
  const std::size_t fitting = values_at_a_time / std::max<std::size_t>(static_cast<std::size_t>(rows), 1);
  return std::clamp<std::size_t>(fitting, 1, columns_at_a_time);
}

// One column on its way into the rows: numbers are read block by block, texts were looked up beforehand.
struct ColumnFeed {
  const PreparedColumn* column = nullptr;
  std::optional<NumberReader> numbers;
  std::vector<std::int32_t> slots;
  std::vector<double> statistics;  // of each slot, as the model reads them
  std::int64_t first_feature = 0;  // in the array that it goes to
  std::int64_t missing = 0;
  std::int64_t unusable_row = -1;  // infinite, or too large for the type asked for
};

[[noreturn]] void refuse_text(const std::string& name, const Table& table,
                              const std::shared_ptr<arrow::ChunkedArray>& values) {
  const TextValues texts = read_texts(values);
  std::size_t row = 0;
  while (row < texts.values.size() && (texts.missing[row] != 0 || number_in(texts.values[row]))) ++row;
  if (row < texts.values.size() && looks_like_date(texts.values[row])) {
    refuse(
        "column '{}' contains text, but held numbers in training: '{}' in row {}, which looks like a date; "
        "give "
        "the form of its dates in date_columns when the data is read (--date-columns '{}=%d/%m/%Y')",
        name, shortened(texts.values[row]), table.row_number(static_cast<std::int64_t>(row)), name);
  }
  if (row == texts.values.size()) refuse("column '{}' contains text, but held numbers in training", name);
  refuse(
      "column '{}' contains text, but held numbers in training: '{}' in row {}; correct the value, or name "
      "the column in number_columns when the data is read, so that it counts as missing",
      name, shortened(texts.values[row]), table.row_number(static_cast<std::int64_t>(row)));
}

// 1 where the value is missing.
std::vector<std::int32_t> missing_in(const std::shared_ptr<arrow::ChunkedArray>& values, ColumnKind kind) {
  std::vector<std::int32_t> flags;
  if (kind == ColumnKind::text) {
    const TextValues texts = read_texts(values);
    flags.assign(texts.missing.begin(), texts.missing.end());
  } else {
    for (const double number : read_numbers(*values)) flags.push_back(std::isnan(number) ? 1 : 0);
  }
  return flags;
}

// `own` are given where the rows are those that the statistics were learnt from.
void feed_statistics(ColumnFeed& feed, const OwnRows* own) {
  if (own == nullptr) {
    feed.statistics = statistics_of_slots(*feed.column);
  } else {
    feed.statistics = statistics_without_folds(*feed.column, feed.slots, *own);
    for (std::size_t row = 0; row < feed.slots.size(); ++row)
      feed.slots[row] = feed.slots[row] * inner_folds + own->folds[row];
  }
}

ColumnFeed feed_for(const PreparedColumn& column, const Table& table, const OwnRows* own) {
  const auto values = table.column(column.name);
  const ColumnKind kind = kind_of(*values->type());
  ColumnFeed feed;
  feed.column = &column;
  if (kind == ColumnKind::unsupported) {
    refuse("column '{}' has type {}, which cannot be converted to numbers", column.name,
           values->type()->ToString());
  }
  if (column.kind == PreparedColumn::Kind::missing) {
    feed.slots = missing_in(values, kind);
  } else if (column.is_text()) {
    feed.slots = slots_of(column, values, feed.missing);
    if (column.kind == PreparedColumn::Kind::target) feed_statistics(feed, own);
  } else if (kind == ColumnKind::text) {
    refuse_text(column.name, table, values);
  } else {
    feed.numbers.emplace(values);
  }
  return feed;
}

template <class T>
void lay_numbers(ColumnFeed& feed, std::span<const double> numbers, std::size_t first_row, T* target,
                 std::int64_t stride) {
  const PreparedColumn& column = *feed.column;
  const double factor = 1 / column.scale;
  const bool is_straight = column.curve == PreparedColumn::Curve::straight;
  for (std::size_t i = 0; i < numbers.size(); ++i, target += stride) {
    double number = numbers[i];
    if (std::isnan(number)) {
      ++feed.missing;
      number = column.fill;
    }
    number = part_of_date(column.part, number);
    const T prepared =
        static_cast<T>(is_straight ? (number - column.shift) * factor : scaled(column, number));
    if (!std::isfinite(prepared) && feed.unusable_row < 0)
      feed.unusable_row = static_cast<std::int64_t>(first_row + i);
    *target = prepared;
  }
}

template <class T>
void lay_one_hot(const PreparedColumn& column, std::span<const std::int32_t> slots, T* target,
                 std::int64_t stride) {
  for (const std::int32_t slot : slots) {
    if (static_cast<std::size_t>(slot) == column.categories.size() && !column.shares.empty()) {
      std::transform(column.shares.begin(), column.shares.end(), target,
                     [](double share) { return static_cast<T>(share); });
    } else {
      std::fill_n(target, column.width(), T{0});
      target[slot] = 1;
    }
    target += stride;
  }
}

template <class T>
void lay_statistics(ColumnFeed& feed, std::size_t first_row, std::size_t rows, T* target,
                    std::int64_t stride) {
  const auto width = static_cast<std::size_t>(feed.column->width());
  for (std::size_t row = first_row; row < first_row + rows; ++row, target += stride) {
    const double* of_slot = feed.statistics.data() + static_cast<std::size_t>(feed.slots[row]) * width;
    for (std::size_t i = 0; i < width; ++i) {
      target[i] = static_cast<T>(of_slot[i]);
      if (!std::isfinite(static_cast<double>(target[i])) && feed.unusable_row < 0)
        feed.unusable_row = static_cast<std::int64_t>(row);
    }
  }
}

template <class T>
void lay_block(ColumnFeed& feed, std::size_t first_row, std::size_t rows, T* target, std::int64_t stride) {
  std::array<double, block_rows> buffer;
  const std::span numbers(buffer.data(), rows);
  const std::span slots(feed.slots);
  switch (feed.column->kind) {
    case PreparedColumn::Kind::number:
      feed.numbers->read(numbers);
      return lay_numbers(feed, numbers, first_row, target, stride);
    case PreparedColumn::Kind::ordinal:
      std::copy_n(slots.begin() + static_cast<std::ptrdiff_t>(first_row), rows, numbers.begin());
      return lay_numbers(feed, numbers, first_row, target, stride);
    case PreparedColumn::Kind::one_hot:
      return lay_one_hot(*feed.column, slots.subspan(first_row, rows), target, stride);
    case PreparedColumn::Kind::target:
      return lay_statistics(feed, first_row, rows, target, stride);
    case PreparedColumn::Kind::embedded:
    case PreparedColumn::Kind::missing:
      for (std::size_t i = 0; i < rows; ++i, target += stride) *target = static_cast<T>(slots[first_row + i]);
  }
}

template <class T>
void lay_columns(std::vector<ColumnFeed>& feeds, std::span<T> features, std::int64_t stride) {
  const std::size_t rows = features.size() / static_cast<std::size_t>(stride);
  for (std::size_t first = 0; first < rows; first += block_rows) {
    const std::size_t count = std::min(block_rows, rows - first);
    T* block = features.data() + first * static_cast<std::size_t>(stride);
    for (ColumnFeed& feed : feeds) lay_block(feed, first, count, block + feed.first_feature, stride);
  }
}

void refuse_unusable(const std::vector<ColumnFeed>& feeds, const Table& table, Missing missing_values,
                     DType type) {
  std::vector<std::string> missing;
  for (const ColumnFeed& feed : feeds) {
    if (feed.unusable_row >= 0) {
      refuse("column '{}' is infinite in row {}, or too large for {}", feed.column->name,
             table.row_number(feed.unusable_row), name_of(type));
    }
    const bool is_part_of_same = feed.column->part != DatePart::none && feed.column->part != DatePart::days;
    if (feed.missing > 0 && !is_part_of_same)
      missing.push_back(fmt::format("'{}' ({})", feed.column->name,
                                    counted(static_cast<std::uint64_t>(feed.missing), "row")));
  }
  if (missing_values == Missing::refuse && !missing.empty()) {
    refuse("missing values in {}, which missing_values: refuse does not allow", join(missing, ", "));
  }
}

void refuse_absent(const std::vector<PreparedColumn>& columns, const Table& table) {
  std::vector<std::string> absent;
  for (const PreparedColumn& column : columns) {
    const bool is_named = std::find(absent.begin(), absent.end(), column.name) != absent.end();
    if (!table.has_column(column.name) && !is_named) absent.push_back(column.name);
  }
  if (absent.size() > 1) refuse("the table lacks columns that the model needs: {}", join(absent, ", "));
  if (absent.size() == 1) {
    // A column that the model has found under its own name is no other's.
    std::vector<std::string> others = table.column_names();
    std::erase_if(others, [&](const std::string& name) {
      return std::any_of(columns.begin(), columns.end(),
                         [&](const PreparedColumn& column) { return column.name == name; });
    });
    refuse("the table lacks column '{}', which the model needs{}", absent.front(),
           did_you_mean(absent.front(), others));
  }
}

using Columns = std::vector<const PreparedColumn*>;

// An array of the prepared rows: which columns lie in it, and how many numbers each of them takes.
struct Laid {
  Columns columns;
  std::int64_t (*width)(const PreparedColumn& column);
};

std::int64_t width_alone(const PreparedColumn&) {
  return 1;
}
std::int64_t width_among_features(const PreparedColumn& column) {
  return column.width();
}

Laid columns_of(const std::vector<PreparedColumn>& columns, const std::string& array) {
  Laid laid{{}, array == "features" ? width_among_features : width_alone};
  for (const PreparedColumn& column : columns) {
    const bool is_embedded = column.kind == PreparedColumn::Kind::embedded;
    const std::string_view place = column.is_apart ? "numbers" : is_embedded ? "categories" : "features";
    if (place == array) laid.columns.push_back(&column);
  }
  return laid;
}

// What was met on the way of each column into the rows.
template <class T>
void lay_table(const Laid& laid, const Table& table, const OwnRows* own, std::span<T> values,
               std::int64_t stride, std::vector<ColumnFeed>& met) {
  const Columns& columns = laid.columns;
  const bool from_file = come_when_asked_for(*table.columns);
  const std::size_t at_a_time =
      from_file ? columns_from_file(table.rows()) : std::max<std::size_t>(columns.size(), 1);
  std::int64_t first_feature = 0;
  for (std::size_t first = 0; first < columns.size(); first += at_a_time) {
    std::vector<ColumnFeed> feeds;
    for (std::size_t c = first; c < std::min(first + at_a_time, columns.size()); ++c) {
      feeds.push_back(feed_for(*columns[c], table, own));
      feeds.back().first_feature = first_feature;
      first_feature += laid.width(*columns[c]);
    }
    lay_columns(feeds, values, stride);
    for (ColumnFeed& feed : feeds) {
      feed.numbers.reset();
      feed.slots = {};
      feed.statistics = {};
      met.push_back(std::move(feed));
    }
  }
}

void lay_array(const Laid& laid, const Table& table, const OwnRows* own, Array& array,
               std::vector<ColumnFeed>& met) {
  const std::int64_t stride = array.dimension(1);
  switch (array.type()) {
    case DType::float32:
      return lay_table(laid, table, own, array.as<float>(), stride, met);
    case DType::float64:
      return lay_table(laid, table, own, array.as<double>(), stride, met);
    default:
      return lay_table(laid, table, own, array.as<std::int64_t>(), stride, met);
  }
}

template <class T>
Array scaled_targets(const std::vector<double>& real, const Preparation& preparation) {
  const std::int64_t steps = preparation.steps();
  Array targets(dtype_of<T>(), {static_cast<std::int64_t>(real.size()) / steps, steps});
  const std::span<T> laid = targets.as<T>();
  for (std::size_t i = 0; i < real.size(); ++i) {
    const std::size_t step = i % static_cast<std::size_t>(steps);
    laid[i] = static_cast<T>((real[i] - preparation.target_shift(step)) / preparation.target_scale(step));
  }
  return targets;
}

}  // namespace

std::vector<std::string> Preparation::text_columns() const {
  std::vector<std::string> names;
  for (const PreparedColumn& column : columns_) {
    if (!column.is_text()) continue;
    std::string name = name_in_file(column);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  // Directions are made of numbers.
  if (windows_ && windows_->answer == Answer::direction) return names;
  // Classes that a column of numbers or booleans could not have been written as.
  const auto was_text = [](const std::string& name) {
    const auto number = number_in(name);
    return number ? number_text(*number) != name : name != "true" && name != "false";
  };
  if (std::any_of(classes_.begin(), classes_.end(), was_text)) names.push_back(target_column_);
  return names;
}

Dataset Preparation::apply(const Table& table, DType type, bool with_targets) const {
  Dataset dataset = lay_rows(table, type, nullptr);
  add_bases(table, dataset);
  if (with_targets) add_targets(table, type, dataset);
  return dataset;
}

Dataset Preparation::apply_to_training(const Table& training, DType type) const {
  if (!has_target_statistics(columns_)) return apply(training, type, true);
  const OwnRows own = own_rows(training, row_targets(training));
  Dataset dataset = lay_rows(training, type, &own);
  add_bases(training, dataset);
  add_targets(training, type, dataset);
  return dataset;
}

Dataset Preparation::lay_windows(const Table& table, DType type) const {
  const std::int64_t length = windows_->length;
  if (!has_windows(table))
    refuse(
        "the model reads windows of {} rows of a series, but these are plain rows: put a windows card with "
        "the settings of its training before them",
        length);
  if (table.windows->config.length != length)
    refuse("the model reads windows of {} rows, but those of the table have {}", length,
           table.windows->config.length);
  CoveredMoments covered = covered_moments(table);
  refuse_absent(columns_, covered.moments);
  Array series(type, {covered.moments.rows(), feature_count()});
  std::vector<ColumnFeed> met;
  lay_array(columns_of(columns_, "features"), covered.moments, nullptr, series, met);
  refuse_unusable(met, covered.moments, missing_values_, type);
  Dataset dataset;
  dataset.arrays.push_back({"window", Role::features, std::move(series), std::move(covered.starts), length});
  return dataset;
}

Dataset Preparation::lay_rows(const Table& table, DType type, const OwnRows* own) const {
  if (type != DType::float32 && type != DType::float64) fail("features were requested as {}", name_of(type));
  if (reads_windows()) return lay_windows(table, type);
  refuse_absent(columns_, table);
  Dataset dataset;
  if (set_) {
    lay_set(table, *set_, columns_, missing_values_, type, dataset);
    return dataset;
  }
  std::vector<ColumnFeed> met;
  for (const ArraySpec& spec : inputs(type)) {
    Array array(spec.type, {table.rows(), spec.shape.front()});
    lay_array(columns_of(columns_, spec.name), table, own, array, met);
    dataset.arrays.push_back({spec.name, spec.role, std::move(array)});
  }
  refuse_unusable(met, table, missing_values_, type);
  return dataset;
}

void Preparation::add_bases(const Table& table, Dataset& dataset) const {
  if (!unknown_base_) return;
  dataset.arrays.push_back(
      {"base", Role::base, Array::from<double>(bases_of(table, *unknown_base_), {table.rows()})});
}

void Preparation::add_targets(const Table& table, DType type, Dataset& dataset) const {
  Array targets;
  if (task_ != Task::regression) {
    targets = Array::from<std::int64_t>(class_targets(table), {table.rows()});
  } else {
    std::vector<double> answers = real_targets(table);
    subtract_bases(dataset, answers);
    targets = type == DType::float32 ? scaled_targets<float>(answers, *this)
                                     : scaled_targets<double>(answers, *this);
  }
  dataset.arrays.push_back({"targets", Role::targets, std::move(targets)});
}

}  // namespace stoker
