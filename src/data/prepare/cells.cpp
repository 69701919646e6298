#include "data/prepare/cells.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/csv/missing_words.h"
#include "data/dates/date_columns.h"
#include "data/prepare/column_feed.h"
#include "data/prepare/held_types.h"
#include "data/table/column_values.h"
#include "data/target/target_statistics.h"

namespace stoker {
namespace {

// As a column of timestamps has it: a moment is the same number whatever way it comes.
double seconds_of(const DateTime& moment) {
  constexpr std::int64_t parts = 1'000'000;
  if (moment.nanoseconds == 0) return static_cast<double>(moment.seconds);
  const std::int64_t whole = moment.seconds * parts + moment.nanoseconds / 1'000;
  return static_cast<double>(whole / parts) + static_cast<double>(whole % parts) / static_cast<double>(parts);
}

std::string_view text_of_cell(const Cell& cell, std::string& written) {
  switch (cell.kind) {
    case Cell::Kind::truth:
      return cell.number != 0 ? "true" : "false";
    case Cell::Kind::number:
      if (!cell.text.empty()) return cell.text;
      written = number_text(cell.number);
      return written;
    default:
      return cell.text;
  }
}

}  // namespace

bool CellPreparation::can_prepare(const Preparation& preparation) {
  return preparation.windows() == nullptr && preparation.set() == nullptr && !preparation.is_relative();
}

CellPreparation::CellPreparation(const Preparation& preparation, DType type)
    : preparation_(preparation), type_(type), names_(preparation.column_names()) {
  if (!can_prepare(preparation)) fail("rows that are windows or sets were to be prepared by their values");
  std::size_t source = 0;
  for (const PreparedColumn& prepared : preparation.columns()) {
    while (names_.at(source) != prepared.name) ++source;  // what a column becomes stands side by side
    Column column;
    column.prepared = &prepared;
    column.source = source;
    for (const std::string& category : prepared.categories)
      column.slots.emplace(category, static_cast<std::int32_t>(column.slots.size()));
    const auto fill = column.slots.find(prepared.fill_text);
    column.slot_of_missing =
        fill == column.slots.end() ? static_cast<std::int32_t>(prepared.categories.size()) : fill->second;
    if (prepared.kind == PreparedColumn::Kind::target) column.statistics = statistics_of_slots(prepared);
    if (!prepared.date_form.empty()) column.form.emplace(prepared.date_form);
    if (prepared.curve != PreparedColumn::Curve::straight)
      column.curve = std::make_shared<const ScaledBlocks>(prepared);
    column.holds_dates = prepared.held_dates();
    column.holds_texts = std::ranges::any_of(preparation.columns(), [&](const PreparedColumn& each) {
      return each.name == prepared.name && each.is_text();
    });
    columns_.push_back(std::move(column));
  }
  for (const ArraySpec& spec : preparation.inputs(type)) {
    const Laid laid = columns_of(preparation.columns(), spec.name);
    Part part{spec, {}, {}};
    std::int64_t first_feature = 0;
    for (const PreparedColumn* prepared : laid.columns) {
      part.columns.push_back(static_cast<std::size_t>(prepared - preparation.columns().data()));
      part.first_features.push_back(first_feature);
      first_feature += laid.width(*prepared);
    }
    parts_.push_back(std::move(part));
  }
}

void CellPreparation::refuse_other_type(const Column& column, const Cell& cell, std::size_t row) const {
  const std::string& name = column.prepared->name;
  if (column.holds_dates) {
    const bool is_text = cell.kind == Cell::Kind::text;
    const std::string example = date_of_training(*column.prepared);
    std::string written;
    refuse(
        "column '{}' contains {}, but held {} in training: {} in row {} is no date{}; send dates as text{}",
        name,
        is_text                          ? "text"
        : cell.kind == Cell::Kind::truth ? "booleans"
                                         : "numbers",
        type_in_training(*column.prepared),
        is_text ? fmt::format("'{}'", shortened(cell.text)) : std::string(text_of_cell(cell, written)),
        row + 1,
        column.form ? fmt::format(" in the form {}", column.form->text())
        : is_text   ? " in a form that is known"
                    : "",
        example.empty() ? "" : fmt::format(", such as \"{}\"", example));
  }
  refuse(
      "column '{}' contains text, but held numbers in training: '{}' in row {}; send a number, or null where "
      "it is missing",
      name, shortened(cell.text), row + 1);
}

double CellPreparation::number_in(const Column& column, const Cell& cell, std::size_t row) const {
  if (cell.kind == Cell::Kind::missing) return missing_number;
  if (cell.kind == Cell::Kind::text) {
    if (!column.holds_dates) refuse_other_type(column, cell, row);
    if (is_missing_word(cell.text)) return missing_number;
    const auto moment = moment_of_text(cell.text, column.form ? &*column.form : nullptr);
    if (!moment) refuse_other_type(column, cell, row);
    return seconds_of(*moment);
  }
  if (column.holds_dates) {  // 20190206 can be one, in a form of digits
    std::string written;
    const auto moment = column.form && cell.kind == Cell::Kind::number
                            ? column.form->parse(text_of_cell(cell, written))
                            : std::nullopt;
    if (!moment) refuse_other_type(column, cell, row);
    return seconds_of(*moment);
  }
  return cell.number;
}

bool CellPreparation::is_missing(const Column& column, const Cell& cell, std::size_t row) const {
  return column.holds_texts ? cell.kind == Cell::Kind::missing : std::isnan(number_in(column, cell, row));
}

std::int32_t CellPreparation::slot_in(const Column& column, const Cell& cell) const {
  if (cell.kind == Cell::Kind::missing) return column.slot_of_missing;
  std::string written;
  const auto found = column.slots.find(text_of_cell(cell, written));
  return found == column.slots.end() ? static_cast<std::int32_t>(column.prepared->categories.size())
                                     : found->second;
}

Dataset CellPreparation::prepare(std::span<const Cell> cells, std::size_t width,
                                 std::span<const std::size_t> places) const {
  const std::size_t rows = width == 0 ? 0 : cells.size() / width;
  const auto cell_of = [&](const Column& column, std::size_t row) -> const Cell& {
    return cells[row * width + places[column.source]];
  };
  const auto feed_of = [&](const Column& column) {
    ColumnFeed feed;
    feed.column = column.prepared;
    feed.curve = column.curve;
    const bool is_number = column.prepared->kind == PreparedColumn::Kind::number;
    if (is_number) feed.given.reserve(rows);
    if (!is_number) feed.slots.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const Cell& cell = cell_of(column, row);
      if (is_number) {
        feed.given.push_back(number_in(column, cell, row));
      } else if (column.prepared->kind == PreparedColumn::Kind::missing) {
        feed.slots.push_back(is_missing(column, cell, row) ? 1 : 0);
      } else {
        if (cell.kind == Cell::Kind::missing) ++feed.missing;
        feed.slots.push_back(slot_in(column, cell));
      }
    }
    if (column.prepared->kind == PreparedColumn::Kind::target) {  // those of these rows alone
      const auto count = static_cast<std::size_t>(column.prepared->width());
      for (std::size_t row = 0; row < rows; ++row) {
        const auto first = column.statistics.begin() +
                           static_cast<std::ptrdiff_t>(static_cast<std::size_t>(feed.slots[row]) * count);
        feed.statistics.insert(feed.statistics.end(), first, first + static_cast<std::ptrdiff_t>(count));
        feed.slots[row] = static_cast<std::int32_t>(row);
      }
    }
    return feed;
  };
  Dataset dataset;
  std::vector<ColumnFeed> met;
  for (const Part& part : parts_) {
    Array array(part.spec.type, {static_cast<std::int64_t>(rows), part.spec.shape.front()});
    std::vector<ColumnFeed> feeds;
    for (std::size_t i = 0; i < part.columns.size(); ++i) {
      feeds.push_back(feed_of(columns_[part.columns[i]]));
      feeds.back().first_feature = part.first_features[i];
    }
    const std::int64_t stride = part.spec.shape.front();
    if (part.spec.type == DType::float32) {
      lay_columns(feeds, array.as<float>(), stride);
    } else if (part.spec.type == DType::float64) {
      lay_columns(feeds, array.as<double>(), stride);
    } else {
      lay_columns(feeds, array.as<std::int64_t>(), stride);
    }
    dataset.arrays.push_back({part.spec.name, part.spec.role, std::move(array)});
    std::ranges::move(feeds, std::back_inserter(met));
  }
  refuse_unusable(met, preparation_.missing_values(), type_,
                  [](std::int64_t row, const std::string&) { return row + 1; });
  return dataset;
}

std::vector<CellPreparation::Gaps> CellPreparation::gaps(std::span<const Cell> cells, std::size_t width,
                                                         std::span<const std::size_t> places) const {
  std::vector<Gaps> all(names_.size());
  const std::size_t rows = width == 0 ? 0 : cells.size() / width;
  const Column* last = nullptr;
  for (const Column& column : columns_) {
    if (last != nullptr && last->source == column.source) continue;  // the first says what the values are
    last = &column;
    Gaps& of_column = all[column.source];
    of_column.range = range_of(*column.prepared);
    for (std::size_t row = 0; row < rows; ++row) {
      const Cell& cell = cells[row * width + places[column.source]];
      if (column.prepared->is_text()) {
        const std::int32_t slot = slot_in(column, cell);
        const bool is_unseen = static_cast<std::size_t>(slot) == column.prepared->categories.size();
        of_column.missing += cell.kind == Cell::Kind::missing ? 1 : 0;
        of_column.unseen += cell.kind != Cell::Kind::missing && is_unseen ? 1 : 0;
      } else {
        of_column.missing += is_missing(column, cell, row) ? 1 : 0;
        if (of_column.range && of_column.range->is_far_from(number_in(column, cell, row)))
          ++of_column.outside;
      }
    }
  }
  return all;
}

}  // namespace stoker
