#include "data/memory/kept_columns.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <malloc.h>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/memory/mapped_file.h"
#include "data/memory/page_memory.h"
#include "data/memory/reading_memory.h"
#include "device/workers.h"

namespace stoker {
namespace {

using NextBatch = std::function<std::shared_ptr<arrow::RecordBatch>()>;

// What Arrow asks of a table beside single columns is answered by one that is whole in memory.
class ColumnsWhenAskedFor : public arrow::Table {
 public:
  ColumnsWhenAskedFor(std::shared_ptr<arrow::Schema> schema, std::int64_t rows) {
    schema_ = std::move(schema);
    num_rows_ = rows;
  }

  // Whether batches() can be asked.
  virtual bool has_batches() const { return false; }
  // Some of the columns, in the order of these positions. These columns must live as long as what is
  // returned.
  virtual NextBatch batches(const std::vector<int>& /*positions*/) const {
    fail("columns that do not lie in one file were to come piece by piece");
  }

  std::shared_ptr<arrow::Table> whole() const {
    arrow::ChunkedArrayVector all(static_cast<std::size_t>(num_columns()));
    constexpr std::int64_t values_worth_a_thread = std::int64_t{1} << 18;
    const std::int64_t worth = num_rows_ * std::ssize(all) / values_worth_a_thread;
    const auto threads = static_cast<int>(std::clamp<std::int64_t>(worth, 1, cores_to_share()));
    share_among_threads(std::ssize(all), threads, [&](std::int64_t i) {
      all[static_cast<std::size_t>(i)] = column(static_cast<int>(i));
    });
    return arrow::Table::Make(schema_, std::move(all), num_rows_);
  }

  const arrow::ChunkedArrayVector& columns() const override {
    std::call_once(asked_for_all_, [this] { all_ = whole()->columns(); });
    return all_;
  }
  std::shared_ptr<arrow::Table> Slice(std::int64_t offset, std::int64_t length) const override {
    return whole()->Slice(offset, length);
  }
  arrow::Result<std::shared_ptr<arrow::Table>> RemoveColumn(int i) const override {
    return whole()->RemoveColumn(i);
  }
  arrow::Result<std::shared_ptr<arrow::Table>> AddColumn(
      int i, std::shared_ptr<arrow::Field> field,
      std::shared_ptr<arrow::ChunkedArray> values) const override {
    return whole()->AddColumn(i, std::move(field), std::move(values));
  }
  arrow::Result<std::shared_ptr<arrow::Table>> SetColumn(
      int i, std::shared_ptr<arrow::Field> field,
      std::shared_ptr<arrow::ChunkedArray> values) const override {
    return whole()->SetColumn(i, std::move(field), std::move(values));
  }
  std::shared_ptr<arrow::Table> ReplaceSchemaMetadata(
      const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) const override {
    return whole()->ReplaceSchemaMetadata(metadata);
  }
  arrow::Result<std::shared_ptr<arrow::Table>> Flatten(arrow::MemoryPool* pool) const override {
    return whole()->Flatten(pool);
  }
  arrow::Status Validate() const override { return whole()->Validate(); }
  arrow::Status ValidateFull() const override { return whole()->ValidateFull(); }

 private:
  mutable std::once_flag asked_for_all_;
  mutable arrow::ChunkedArrayVector all_;
};

using File = std::shared_ptr<arrow::io::RandomAccessFile>;
using Reader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

Reader reader_of(const File& file, const std::string& name, std::vector<int> fields) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.included_fields = std::move(fields);
  options.use_threads = false;  // there is nothing to unpack
  options.memory_pool = page_memory();
  return or_fail(arrow::ipc::RecordBatchFileReader::Open(file, options), name);
}

class ColumnsInFile : public ColumnsWhenAskedFor {
 public:
  ColumnsInFile(File file, std::string name, std::vector<int> fields, std::shared_ptr<arrow::Schema> schema,
                std::int64_t rows)
      : ColumnsWhenAskedFor(std::move(schema), rows),
        file_(std::move(file)),
        name_(std::move(name)),
        fields_(std::move(fields)) {}

  std::shared_ptr<arrow::ChunkedArray> column(int i) const override {
    const Reader reader = reader_of(file_, name_, {fields_.at(static_cast<std::size_t>(i))});
    // Without this a batch is read into a piece of memory that would hold all its columns.
    or_fail(reader->PreBufferMetadata({}), name_);
    arrow::ArrayVector chunks;
    for (int batch = 0; batch < reader->num_record_batches(); ++batch)
      chunks.push_back(or_fail(reader->ReadRecordBatch(batch), name_)->column(0));
    auto values = std::make_shared<arrow::ChunkedArray>(std::move(chunks), schema_->field(i)->type());
    or_fail(values->ValidateFull(), name_ + " is damaged");
    if (values->length() != num_rows_) fail("{} was changed while it was in use", name_);
    return values;
  }

  bool has_batches() const override { return true; }
  NextBatch batches(const std::vector<int>& positions) const override {
    std::vector<int> wanted;
    for (const int position : positions) wanted.push_back(fields_.at(static_cast<std::size_t>(position)));
    const Reader reader = reader_of(file_, name_, wanted);
    std::vector<int> order;  // a reader leaves them in that of the file
    for (const int position : positions)
      order.push_back(reader->schema()->GetFieldIndex(schema_->field(position)->name()));
    or_fail(reader->PreBufferMetadata({}), name_);
    return [reader, order, name = name_, next = 0]() mutable -> std::shared_ptr<arrow::RecordBatch> {
      if (next == reader->num_record_batches()) return nullptr;
      const auto rows = or_fail(or_fail(reader->ReadRecordBatch(next++), name)->SelectColumns(order), name);
      or_fail(rows->ValidateFull(), name + " is damaged");
      return rows;
    };
  }

  arrow::Result<std::shared_ptr<arrow::Table>> RemoveColumn(int i) const override {
    ARROW_ASSIGN_OR_RAISE(auto schema, schema_->RemoveField(i));
    std::vector<int> fields = fields_;
    fields.erase(fields.begin() + i);
    return std::make_shared<ColumnsInFile>(file_, name_, std::move(fields), std::move(schema), num_rows_);
  }
  std::shared_ptr<arrow::Table> ReplaceSchemaMetadata(
      const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) const override {
    return std::make_shared<ColumnsInFile>(file_, name_, fields_, schema_->WithMetadata(metadata), num_rows_);
  }

 private:
  File file_;
  std::string name_;
  std::vector<int> fields_;  // of the file
};

class ChosenColumns : public ColumnsWhenAskedFor {
 public:
  ChosenColumns(std::shared_ptr<arrow::Table> columns, std::shared_ptr<arrow::Schema> schema,
                std::vector<int> positions)
      : ColumnsWhenAskedFor(std::move(schema), columns->num_rows()),
        columns_(std::move(columns)),
        positions_(std::move(positions)) {}

  std::shared_ptr<arrow::ChunkedArray> column(int i) const override {
    return columns_->column(positions_.at(static_cast<std::size_t>(i)));
  }
  std::shared_ptr<arrow::Table> again(const std::vector<int>& among_these,
                                      std::shared_ptr<arrow::Schema> schema) const {
    std::vector<int> positions;
    for (const int each : among_these) positions.push_back(positions_.at(static_cast<std::size_t>(each)));
    return std::make_shared<ChosenColumns>(columns_, std::move(schema), std::move(positions));
  }
  bool has_batches() const override { return come_in_batches(*columns_); }
  NextBatch batches(const std::vector<int>& positions) const override {
    std::vector<int> of_all;
    for (const int each : positions) of_all.push_back(positions_.at(static_cast<std::size_t>(each)));
    return static_cast<const ColumnsWhenAskedFor&>(*columns_).batches(of_all);
  }

 private:
  std::shared_ptr<arrow::Table> columns_;
  std::vector<int> positions_;
};

std::int64_t rows_of_ranges(const std::vector<RangeOfRows>& ranges) {
  std::int64_t rows = 0;
  for (const RangeOfRows& each : ranges) rows += each.size();
  return rows;
}

bool are_in_order(const std::vector<RangeOfRows>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end) return false;
  return true;
}

class RangesOfRows : public ColumnsWhenAskedFor {
 public:
  RangesOfRows(std::shared_ptr<arrow::Table> columns, std::vector<RangeOfRows> ranges)
      : ColumnsWhenAskedFor(columns->schema(), rows_of_ranges(ranges)),
        columns_(std::move(columns)),
        ranges_(std::move(ranges)) {}

  std::shared_ptr<arrow::ChunkedArray> column(int i) const override {
    const auto all = columns_->column(i);
    arrow::ArrayVector chunks;
    for (const RangeOfRows& each : ranges_)
      std::ranges::copy(all->Slice(each.begin, each.size())->chunks(), std::back_inserter(chunks));
    return std::make_shared<arrow::ChunkedArray>(std::move(chunks), all->type());
  }

  bool has_batches() const override { return come_in_batches(*columns_) && are_in_order(ranges_); }
  NextBatch batches(const std::vector<int>& positions) const override {
    return [this, all = static_cast<const ColumnsWhenAskedFor&>(*columns_).batches(positions),
            next = ranges_.begin(), batch = std::shared_ptr<arrow::RecordBatch>(),
            first = std::int64_t{0}]() mutable -> std::shared_ptr<arrow::RecordBatch> {
      while (next != ranges_.end()) {
        const std::int64_t end = first + (batch == nullptr ? 0 : batch->num_rows());
        if (batch == nullptr || next->begin >= end) {  // it begins behind this batch
          first = end;
          if (batch = all(); batch == nullptr) return nullptr;
          continue;
        }
        const std::int64_t begin = std::max(next->begin, first);
        const auto rows = batch->Slice(begin - first, std::min(next->end, end) - begin);
        if (next->end > end) {  // it goes on in the next
          first = end;
          batch = all();
          if (batch == nullptr) return rows->num_rows() > 0 ? rows : nullptr;
        } else {
          ++next;
        }
        if (rows->num_rows() > 0) return rows;
      }
      return nullptr;
    };
  }

 private:
  std::shared_ptr<arrow::Table> columns_;
  std::vector<RangeOfRows> ranges_;
};

class SelectedRows : public ColumnsWhenAskedFor {
 public:
  SelectedRows(std::shared_ptr<arrow::Table> columns, std::shared_ptr<const std::vector<std::int64_t>> rows)
      : ColumnsWhenAskedFor(columns->schema(), static_cast<std::int64_t>(rows->size())),
        columns_(std::move(columns)),
        rows_(std::move(rows)) {}

  std::shared_ptr<arrow::ChunkedArray> column(int i) const override {
    const auto indices = std::make_shared<arrow::Int64Array>(num_rows_, arrow::Buffer::Wrap(*rows_));
    // Small columns come from where Arrow has the rest.
    arrow::compute::ExecContext memory(come_when_asked_for(*columns_) ? page_memory() : reading_memory());
    return or_fail(arrow::compute::Take(columns_->column(i), arrow::Datum(indices),
                                        arrow::compute::TakeOptions::NoBoundsCheck(), &memory),
                   "taking rows of a table")
        .chunked_array();
  }

  bool has_batches() const override { return come_in_batches(*columns_) && std::ranges::is_sorted(*rows_); }
  NextBatch batches(const std::vector<int>& positions) const override {
    return [this, all = static_cast<const ColumnsWhenAskedFor&>(*columns_).batches(positions),
            next = rows_->begin(), first = std::int64_t{0}]() mutable -> std::shared_ptr<arrow::RecordBatch> {
      std::vector<std::int64_t> chosen;
      while (next != rows_->end()) {
        const auto batch = all();
        if (batch == nullptr) return nullptr;
        for (; next != rows_->end() && *next < first + batch->num_rows(); ++next)
          chosen.push_back(*next - first);
        first += batch->num_rows();
        if (chosen.empty()) continue;
        const auto indices =
            std::make_shared<arrow::Int64Array>(std::ssize(chosen), arrow::Buffer::Wrap(chosen));
        arrow::compute::ExecContext memory(page_memory());
        return or_fail(arrow::compute::Take(batch, arrow::Datum(indices),
                                            arrow::compute::TakeOptions::NoBoundsCheck(), &memory),
                       "taking rows of a table")
            .record_batch();
      }
      return nullptr;
    };
  }

 private:
  std::shared_ptr<arrow::Table> columns_;
  std::shared_ptr<const std::vector<std::int64_t>> rows_;
};

}  // namespace

bool come_when_asked_for(const arrow::Table& columns) {
  return dynamic_cast<const ColumnsWhenAskedFor*>(&columns) != nullptr;
}

void give_back_unused_memory() {
  arrow::default_memory_pool()->ReleaseUnused();
  malloc_trim(0);
}

std::shared_ptr<arrow::Table> in_memory(const std::shared_ptr<arrow::Table>& columns) {
  const auto* kept = dynamic_cast<const ColumnsWhenAskedFor*>(columns.get());
  return kept == nullptr ? columns : kept->whole();
}

std::shared_ptr<arrow::Table> columns_in_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  File file = mapped_file(path);
  const Reader reader = reader_of(file, name, {});
  const std::int64_t rows = or_fail(reader->CountRows(), name);
  std::vector<int> fields(static_cast<std::size_t>(reader->schema()->num_fields()));
  std::iota(fields.begin(), fields.end(), 0);
  return std::make_shared<ColumnsInFile>(std::move(file), name, std::move(fields), reader->schema(), rows);
}

std::shared_ptr<arrow::Table> chosen_columns(const std::shared_ptr<arrow::Table>& columns,
                                             const std::vector<int>& positions) {
  if (!come_when_asked_for(*columns)) return or_fail(columns->SelectColumns(positions), "choosing columns");
  arrow::FieldVector fields;
  for (const int position : positions) fields.push_back(columns->field(position));
  // Of some chosen before, those of the whole: who copies them then sees the file that they lie in.
  if (const auto* chosen = dynamic_cast<const ChosenColumns*>(columns.get()))
    return chosen->again(positions, arrow::schema(std::move(fields)));
  return std::make_shared<ChosenColumns>(columns, arrow::schema(std::move(fields)), positions);
}

std::shared_ptr<arrow::Table> ranges_of_rows(const std::shared_ptr<arrow::Table>& columns,
                                             std::vector<RangeOfRows> ranges) {
  if (!come_when_asked_for(*columns) && ranges.size() == 1)
    return columns->Slice(ranges.front().begin, ranges.front().size());
  constexpr std::int64_t fewest_rows_of_a_chunk = 256;  // of fewer, a copy takes less than the chunks do
  if (rows_of_ranges(ranges) >= fewest_rows_of_a_chunk * std::ssize(ranges))
    return std::make_shared<RangesOfRows>(columns, std::move(ranges));
  auto rows = std::make_shared<std::vector<std::int64_t>>();
  for (const RangeOfRows& each : ranges)
    for (std::int64_t row = each.begin; row < each.end; ++row) rows->push_back(row);
  return selected_rows(columns, std::move(rows));
}

bool come_in_batches(const arrow::Table& columns) {
  const auto* kept = dynamic_cast<const ColumnsWhenAskedFor*>(&columns);
  return kept != nullptr && kept->has_batches();
}

NextBatch batches_of(const arrow::Table& columns) {
  std::vector<int> positions(static_cast<std::size_t>(columns.num_columns()));
  std::iota(positions.begin(), positions.end(), 0);
  const auto* kept = dynamic_cast<const ColumnsWhenAskedFor*>(&columns);
  if (kept == nullptr) fail("columns that lie in memory were to come piece by piece");
  return kept->batches(positions);
}

void each_batch(const arrow::Table& columns,
                const std::function<void(const std::shared_ptr<arrow::RecordBatch>&)>& take) {
  const auto next = batches_of(columns);
  while (const std::shared_ptr<arrow::RecordBatch> batch = next()) take(batch);
}

std::shared_ptr<arrow::Table> selected_rows(std::shared_ptr<arrow::Table> columns,
                                            std::shared_ptr<const std::vector<std::int64_t>> rows) {
  return std::make_shared<SelectedRows>(std::move(columns), std::move(rows));
}

}  // namespace stoker
