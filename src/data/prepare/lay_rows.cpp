#include "data/prepare/lay_rows.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/prepare/held_types.h"
#include "data/table/column_values.h"
#include "device/workers.h"

namespace stoker {
namespace {

using Columns = std::vector<const PreparedColumn*>;

// Columns that come when they are asked for are laid into the rows a few at a time: few enough to take little
// memory, and as many as keep what is written to a row together.
constexpr std::size_t columns_at_a_time = 4;
constexpr std::size_t values_at_a_time = std::size_t{1} << 22;

std::size_t columns_from_file(std::int64_t rows) {
  const std::size_t fitting = values_at_a_time / std::max<std::size_t>(static_cast<std::size_t>(rows), 1);
  return std::clamp<std::size_t>(fitting, 1, columns_at_a_time);
}

// Some rows, and where they lie in the whole.
struct PieceOfRows {
  Table rows;
  std::size_t first_row = 0;
};
using NextPiece = std::function<std::optional<PieceOfRows>()>;

// Whether a piece of rows is enough to lay them: an error about values of another type than in training names
// the row of the whole.
bool may_come_in_pieces(const Columns& columns, const Table& table, const OwnRows* own) {
  if (own != nullptr || columns.empty()) return false;
  return std::ranges::all_of(columns, [&](const PreparedColumn* column) {
    const int position = column_position(table, column->name);
    const arrow::DataType& type = *table.columns->schema()->field(position)->type();
    const bool is_text_to_count =
        column->kind == PreparedColumn::Kind::missing && kind_of(type) == ColumnKind::text;
    return kind_of(type) != ColumnKind::unsupported && !is_text_to_count && !holds_other_type(*column, type);
  });
}

std::vector<int> positions_of(const Columns& columns, const Table& table) {
  std::vector<int> positions;
  for (const PreparedColumn* column : columns) {
    const int position = column_position(table, column->name);
    if (std::ranges::find(positions, position) == positions.end()) positions.push_back(position);
  }
  return positions;
}

// The rows of a file come as they were written.
NextPiece pieces_of_file(const std::shared_ptr<arrow::Table>& columns) {
  return
      [columns, next = batches_of(*columns), done = std::size_t{0}]() mutable -> std::optional<PieceOfRows> {
        const std::shared_ptr<arrow::RecordBatch> batch = next();
        if (batch == nullptr) {
          if (static_cast<std::int64_t>(done) != columns->num_rows())
            fail("kept rows are fewer than they were");
          return std::nullopt;
        }
        PieceOfRows piece{{or_fail(arrow::Table::FromRecordBatches({batch}), "reading kept rows")}, done};
        done += static_cast<std::size_t>(batch->num_rows());
        if (static_cast<std::int64_t>(done) > columns->num_rows()) fail("kept rows are more than they were");
        return piece;
      };
}

// Small enough that no thread waits long for the last one. Each piece looks up its texts anew and finds its
// place in every column, so it should not be too small either.
std::int64_t rows_of_a_piece(const arrow::Table& columns) {
  constexpr std::int64_t values = std::int64_t{1} << 22;
  constexpr std::int64_t least = std::int64_t{1} << 12;
  constexpr std::int64_t most = std::int64_t{1} << 15;
  const std::int64_t fitting = values / std::max(1, columns.num_columns());
  return std::clamp(fitting / least * least, least, most);
}

// All of them at once, so that each holds nothing but its own chunks: these are freed when it has been laid.
NextPiece pieces_of_memory(const std::shared_ptr<arrow::Table>& columns) {
  auto pieces = std::make_shared<std::deque<PieceOfRows>>();
  const std::int64_t rows = rows_of_a_piece(*columns);
  for (std::int64_t done = 0; done < columns->num_rows(); done += rows)
    pieces->push_back({{columns->Slice(done, rows)}, static_cast<std::size_t>(done)});
  return [pieces]() -> std::optional<PieceOfRows> {
    if (pieces->empty()) return std::nullopt;
    PieceOfRows piece = std::move(pieces->front());
    pieces->pop_front();
    return piece;
  };
}

// Threads that each take the next piece, until there is none.
template <class T>
class PieceLayer {
 public:
  PieceLayer(const Laid& laid, std::int64_t first_feature, std::span<T> values, std::size_t width,
             std::span<ColumnFeed> met, NextPiece next)
      : laid_(laid),
        first_feature_(first_feature),
        values_(values),
        width_(width),
        met_(met),
        next_(std::move(next)) {}

  void lay(int threads) {
    share_among_threads(threads, threads, [this](std::int64_t) { lay_pieces(); });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void lay_pieces() {
    try {
      while (const std::optional<PieceOfRows> piece = taken()) lay_piece(*piece);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  std::optional<PieceOfRows> taken() {
    const std::lock_guard lock(mutex_);
    return error_ ? std::nullopt : next_();
  }

  void lay_piece(const PieceOfRows& piece) {
    std::vector<ColumnFeed> feeds;
    std::int64_t first_feature = first_feature_;
    for (const PreparedColumn* column : laid_.columns) {
      feeds.push_back(feed_for(*column, piece.rows, nullptr));
      feeds.back().first_feature = first_feature;
      first_feature += laid_.width(*column);
    }
    const auto rows = static_cast<std::size_t>(piece.rows.rows());
    lay_columns(feeds, values_.subspan(piece.first_row * width_, rows * width_),
                static_cast<std::int64_t>(width_));
    const std::lock_guard lock(mutex_);
    for (std::size_t c = 0; c < met_.size(); ++c) {
      met_[c].missing += feeds[c].missing;
      if (feeds[c].unusable_row < 0) continue;
      const std::int64_t row = static_cast<std::int64_t>(piece.first_row) + feeds[c].unusable_row;
      if (met_[c].unusable_row < 0 || row < met_[c].unusable_row) met_[c].unusable_row = row;
    }
  }

  const Laid& laid_;
  std::int64_t first_feature_;
  std::span<T> values_;
  std::size_t width_;
  std::span<ColumnFeed> met_;
  NextPiece next_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

int threads_for(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t values_worth_a_thread = std::int64_t{1} << 18;
  constexpr std::int64_t most_threads = 16;  // more would wait for memory
  const std::int64_t worth = rows * width / values_worth_a_thread;
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min<std::int64_t>(worth, cores_to_share()), 1, most_threads));
}

template <class T>
void lay_in_pieces(const Laid& laid, Table& table, std::span<T> values, std::int64_t stride,
                   std::vector<ColumnFeed>& met, bool lets_go, bool lies_in_file) {
  const std::int64_t rows = table.rows();
  // Of columns that come one by one, some at a time; of others all at once. Rows that lie in a file are
  // written once, all columns of them: a few at a time, the whole file would come and go for each few.
  const bool is_file = come_in_batches(*table.columns);
  const bool come_singly = !is_file && come_when_asked_for(*table.columns) && !lies_in_file;
  const std::size_t at_a_time = come_singly ? columns_from_file(rows) : laid.columns.size();
  std::int64_t first_feature = 0;
  for (std::size_t first = 0; first < laid.columns.size(); first += at_a_time) {
    const std::size_t end = std::min(first + at_a_time, laid.columns.size());
    Laid some{{laid.columns.begin() + static_cast<std::ptrdiff_t>(first),
               laid.columns.begin() + static_cast<std::ptrdiff_t>(end)},
              laid.width};
    auto columns = chosen_columns(table.columns, positions_of(some.columns, table));
    if (lets_go && end == laid.columns.size()) table.columns.reset();
    NextPiece next = is_file ? pieces_of_file(columns) : pieces_of_memory(in_memory(columns));
    columns.reset();
    const std::size_t first_met = met.size();
    for (const PreparedColumn* column : some.columns) met.emplace_back().column = column;
    PieceLayer<T>(some, first_feature, values, static_cast<std::size_t>(stride),
                  std::span(met).subspan(first_met), std::move(next))
        .lay(threads_for(rows, std::ssize(some.columns)));
    for (const PreparedColumn* column : some.columns) first_feature += laid.width(*column);
  }
}

template <class T>
void lay_whole(const Laid& laid, Table& table, const OwnRows* own, std::span<T> values, std::int64_t stride,
               std::vector<ColumnFeed>& met, bool lets_go, bool lies_in_file) {
  if (may_come_in_pieces(laid.columns, table, own))
    return lay_in_pieces(laid, table, values, stride, met, lets_go, lies_in_file);
  const Columns& columns = laid.columns;
  const bool from_file = come_when_asked_for(*table.columns) && !lies_in_file;
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

}  // namespace

void lay_rows_of(const Laid& laid, Table& table, const OwnRows* own, Array& array,
                 std::vector<ColumnFeed>& met, bool lets_go) {
  const std::int64_t stride = array.dimension(1);
  const bool lies_in_file = array.lies_in_file();
  switch (array.type()) {
    case DType::float32:
      return lay_whole(laid, table, own, array.as<float>(), stride, met, lets_go, lies_in_file);
    case DType::float64:
      return lay_whole(laid, table, own, array.as<double>(), stride, met, lets_go, lies_in_file);
    default:
      return lay_whole(laid, table, own, array.as<std::int64_t>(), stride, met, lets_go, lies_in_file);
  }
}

}  // namespace stoker
