#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text.h"
#include "data/arrow_result.h"
#include "data/column_feed.h"
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

// Columns that come from a file when they are asked for are laid into the rows a few at a time: few enough to
// take little memory, and as many as keep what is written to a row together.
constexpr std::size_t columns_at_a_time = 4;
constexpr std::size_t values_at_a_time = std::size_t{1} << 22;

std::size_t columns_from_file(std::int64_t rows) {
  const std::size_t fitting = values_at_a_time / std::max<std::size_t>(static_cast<std::size_t>(rows), 1);
  return std::clamp<std::size_t>(fitting, 1, columns_at_a_time);
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

// Whether a piece of rows is enough to lay them: texts where numbers are wanted are told of by the row of the
// whole.
bool may_come_in_batches(const Columns& columns, const Table& table, const OwnRows* own) {
  if (own != nullptr || columns.empty() || !lie_in_one_file(*table.columns)) return false;
  return std::ranges::all_of(columns, [&](const PreparedColumn* column) {
    const int position = column_position(table, column->name);
    const ColumnKind kind = kind_of(*table.columns->schema()->field(position)->type());
    return kind != ColumnKind::unsupported && (kind != ColumnKind::text || column->is_text());
  });
}

// Some rows of all columns, on their way into the whole.
struct PieceOfRows {
  Table rows;
  std::size_t first_row = 0;
  std::vector<ColumnFeed> feeds = {};
  std::exception_ptr error = {};
};

template <class T>
void lay_piece(const Laid& laid, std::span<T> values, std::size_t width, PieceOfRows& piece) {
  try {
    std::int64_t first_feature = 0;
    for (const PreparedColumn* column : laid.columns) {
      piece.feeds.push_back(feed_for(*column, piece.rows, nullptr));
      piece.feeds.back().first_feature = first_feature;
      first_feature += laid.width(*column);
    }
    const auto rows = static_cast<std::size_t>(piece.rows.rows());
    lay_columns(piece.feeds, values.subspan(piece.first_row * width, rows * width),
                static_cast<std::int64_t>(width));
  } catch (...) {
    piece.error = std::current_exception();
  }
}

// Side by side, as far as the system gives threads.
template <class T>
void lay_pieces(const Laid& laid, std::span<T> values, std::size_t width, std::vector<PieceOfRows>& pieces) {
  {
    std::vector<std::jthread> others;
    std::size_t own = 1;
    try {
      for (; own < pieces.size(); ++own)
        others.emplace_back([&, own] { lay_piece(laid, values, width, pieces[own]); });
    } catch (const std::system_error&) {
      for (; own < pieces.size(); ++own) lay_piece(laid, values, width, pieces[own]);
    }
    if (!pieces.empty()) lay_piece(laid, values, width, pieces.front());
  }
  for (const PieceOfRows& piece : pieces)
    if (piece.error) std::rethrow_exception(piece.error);
}

void add_met(const std::vector<PieceOfRows>& pieces, std::span<ColumnFeed> met) {
  for (const PieceOfRows& piece : pieces) {
    for (std::size_t c = 0; c < met.size(); ++c) {
      met[c].missing += piece.feeds[c].missing;
      if (met[c].unusable_row < 0 && piece.feeds[c].unusable_row >= 0)
        met[c].unusable_row = static_cast<std::int64_t>(piece.first_row) + piece.feeds[c].unusable_row;
    }
  }
}

std::vector<int> positions_of(const Columns& columns, const Table& table) {
  std::vector<int> positions;
  for (const PreparedColumn* column : columns) {
    const int position = column_position(table, column->name);
    if (std::ranges::find(positions, position) == positions.end()) positions.push_back(position);
  }
  return positions;
}

// Columns that lie in a file are mapped a few rows at a time, all of them: what is written is written once,
// and by several threads.
template <class T>
void lay_batches(const Laid& laid, const Table& table, std::span<T> values, std::int64_t stride,
                 std::vector<ColumnFeed>& met) {
  constexpr unsigned most_threads = 4;
  const std::size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  const auto width = static_cast<std::size_t>(stride);
  const std::size_t first_met = met.size();
  for (const PreparedColumn* column : laid.columns) met.emplace_back().column = column;
  std::vector<PieceOfRows> pieces;
  const auto lay = [&] {
    lay_pieces(laid, values, width, pieces);
    add_met(pieces, std::span(met).subspan(first_met));
    pieces.clear();
  };
  std::size_t done = 0;
  const auto chosen = chosen_columns(table.columns, positions_of(laid.columns, table));
  each_batch(*chosen, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    pieces.push_back({{or_fail(arrow::Table::FromRecordBatches({batch}), "reading kept rows")}, done});
    done += static_cast<std::size_t>(batch->num_rows());
    if (done * width > values.size()) fail("kept rows are more than they were");
    if (pieces.size() == at_once) lay();
  });
  lay();
  if (static_cast<std::int64_t>(done) != table.rows()) fail("kept rows are fewer than they were");
}

// What was met on the way of each column into the rows.
template <class T>
void lay_table(const Laid& laid, const Table& table, const OwnRows* own, std::span<T> values,
               std::int64_t stride, std::vector<ColumnFeed>& met) {
  const Columns& columns = laid.columns;
  if (may_come_in_batches(columns, table, own)) return lay_batches(laid, table, values, stride, met);
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
