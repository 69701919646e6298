#include "data/format/table_files.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/csv/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "data/cubes/cubes_files.h"
#include "data/memory/arrow_result.h"
#include "data/memory/arrow_threads.h"
#include "data/memory/kept_columns.h"
#include "data/memory/page_memory.h"
#include "data/memory/reading_memory.h"
#include "data/memory/unpacked_limits.h"
#include "data/windows/windows_files.h"
#include "device/workers.h"

namespace stoker {
namespace {

// Arrow writes through this into a file that appears only once it is whole. An Error thrown by the file (a
// full disk) must not cross Arrow's frames: it is kept, and thrown again by whoever asked for the file.
class AtomicOutput : public arrow::io::OutputStream {
 public:
  explicit AtomicOutput(AtomicFile& file) : file_(&file) {}
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    try {
      file_->write(std::span(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)));
    } catch (const std::exception& error) {
      if (!error_) error_ = std::current_exception();
      return arrow::Status::IOError(error.what());
    }
    position_ += bytes;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }
  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  AtomicFile* file_;
  std::int64_t position_ = 0;
  bool closed_ = false;
  std::exception_ptr error_;
};

template <class Write>
void write_atomically(const std::filesystem::path& path, Write write) {
  AtomicFile file(path);
  const auto output = std::make_shared<AtomicOutput>(file);
  const arrow::Status status = write(output);
  output->rethrow_error();
  or_fail(status, "writing " + path.string());
  file.commit();
}

// Large enough that a column is read in few pieces, small enough to put together in little memory.
std::int64_t rows_of_a_batch(const arrow::Table& columns) {
  constexpr std::int64_t values = std::int64_t{1} << 20;
  return std::clamp<std::int64_t>(values / std::max(1, columns.num_columns()), 1024, 65'536);
}

arrow::Status write_ipc(const arrow::Table& columns, const std::shared_ptr<AtomicOutput>& output) {
  ARROW_ASSIGN_OR_RAISE(const auto writer, arrow::ipc::MakeFileWriter(output, columns.schema()));
  // Of batches of a few rows, however many a chunk has: who copies from the file holds one at a time.
  const std::int64_t rows = rows_of_a_batch(columns);
  const bool has_small_chunks =
      columns.num_columns() > 0 && columns.column(0)->num_chunks() > 1 + columns.num_rows() / rows;
  if (!has_small_chunks) ARROW_RETURN_NOT_OK(writer->WriteTable(columns, rows));
  for (std::int64_t first = 0; has_small_chunks && first < columns.num_rows(); first += rows) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, columns.Slice(first, rows)->CombineChunksToBatch(page_memory()));
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  }
  return writer->Close();
}

// What a kept table knows of its source stands beside its columns: names in the schema's metadata, the rows
// as a last column that the metadata tells from one of the table's own.
constexpr const char* rows_key = "stoker.source_rows";
constexpr const char* group_key = "stoker.group_column";
constexpr const char* test_key = "stoker.first_test_row";

std::shared_ptr<arrow::Field> rows_field() {
  return arrow::field(rows_key, arrow::int64());
}

void tell_of_parts(const Table& table, arrow::KeyValueMetadata& metadata) {
  if (!table.group_column.empty()) metadata.Append(group_key, table.group_column);
  if (table.first_test_row) metadata.Append(test_key, fmt::format("{}", *table.first_test_row));
}

arrow::Result<std::shared_ptr<arrow::Table>> with_origin(const Table& table) {
  const auto metadata = std::make_shared<arrow::KeyValueMetadata>();
  std::shared_ptr<arrow::Table> columns = in_memory(table.columns);
  tell_of_windows(table, *metadata);
  tell_of_cubes(table, *metadata);
  if (table.source_rows) {
    const auto rows = std::make_shared<arrow::Int64Array>(
        table.rows(), arrow::Buffer::FromVector(table.source_rows->laid_out()));
    ARROW_ASSIGN_OR_RAISE(columns, columns->AddColumn(columns->num_columns(), rows_field(),
                                                      std::make_shared<arrow::ChunkedArray>(rows)));
    metadata->Append(rows_key, "last column");
  }
  tell_of_parts(table, *metadata);
  return columns->ReplaceSchemaMetadata(metadata);
}

void take_source_rows(Table& table, const std::string& name) {
  const int last = table.columns->num_columns() - 1;
  auto rows = std::make_shared<NumberRuns<std::int64_t>>();
  const auto kept_rows = table.columns->column(last);
  for (const auto& chunk : kept_rows->chunks()) {
    if (chunk->type_id() != arrow::Type::INT64)
      refuse("{} is damaged: its row numbers are not integers", name);
    const auto* values = static_cast<const arrow::Int64Array&>(*chunk).raw_values();
    for (const std::int64_t row : std::span(values, static_cast<std::size_t>(chunk->length())))
      rows->push_back(row);
  }
  table.columns = or_fail(table.columns->RemoveColumn(last), name);
  table.source_rows = std::move(rows);
}

Table with_origin_told(const Table& read, const std::filesystem::path& path, std::uint64_t large_bytes) {
  const auto metadata = read.columns->schema()->metadata();
  if (!metadata) return read;
  const std::string name = path.string();
  Table table{read.columns->ReplaceSchemaMetadata(nullptr)};
  if (metadata->Contains(group_key)) table.group_column = or_fail(metadata->Get(group_key), name);
  if (metadata->Contains(test_key)) {
    const std::string row = or_fail(metadata->Get(test_key), name);
    std::int64_t first = 0;
    const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), first);
    if (error != std::errc() || end != row.data() + row.size() || first < 0)
      refuse("{} is damaged: it has no row '{}'", name, row);
    table.first_test_row = first;
  }
  if (metadata->Contains(rows_key) && table.columns->num_columns() > 0) take_source_rows(table, name);
  take_windows(table, *metadata, path, large_bytes);
  take_cubes(table, *metadata, path);
  return table;
}

arrow::Status write_text(const Table& table, char delimiter, const std::shared_ptr<AtomicOutput>& output) {
  auto options = arrow::csv::WriteOptions::Defaults();
  options.delimiter = delimiter;
  options.batch_size = 16'384;
  return arrow::csv::WriteCSV(*table.columns, options, output.get());
}

arrow::Status write_parquet(const Table& table, const std::shared_ptr<AtomicOutput>& output) {
  try {
    return parquet::arrow::WriteTable(*table.columns, arrow::default_memory_pool(), output);
  } catch (const parquet::ParquetException& error) {
    return arrow::Status::Invalid(error.what());
  }
}

// Not mapped into memory: someone may change or cut the file while its columns are in use.
std::shared_ptr<arrow::io::ReadableFile> open_file(const std::filesystem::path& path,
                                                   arrow::MemoryPool* memory) {
  return or_refuse(arrow::io::ReadableFile::Open(path.string(), memory), path.string());
}

bool holds_dictionaries(const arrow::FieldVector& fields) {
  return std::ranges::any_of(fields, [](const std::shared_ptr<arrow::Field>& field) {
    return field->type()->id() == arrow::Type::DICTIONARY || holds_dictionaries(field->type()->fields());
  });
}

// Several threads, with a reader each: of a large table, one alone would be busy for as long as copying it
// takes.
arrow::Result<arrow::RecordBatchVector> read_batches(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                     const arrow::ipc::IpcReadOptions& options, int count) {
  constexpr int most_threads = 8;  // more would wait for memory
  arrow::RecordBatchVector batches(static_cast<std::size_t>(count));
  std::vector<arrow::Status> failures(batches.size());
  std::atomic<std::size_t> next{0};
  const int threads = std::min({count, cores_to_share(), most_threads});
  share_among_threads(threads, threads, [&](std::int64_t) {
    const auto reader = arrow::ipc::RecordBatchFileReader::Open(file, options);
    for (std::size_t i = next++; i < batches.size(); i = next++)
      failures[i] =
          reader.ok() ? (*reader)->ReadRecordBatch(static_cast<int>(i)).Value(&batches[i]) : reader.status();
  });
  for (const arrow::Status& each : failures) ARROW_RETURN_NOT_OK(each);
  return batches;
}

arrow::Status check_columns(int columns) {
  if (columns <= most_columns_of_table) return arrow::Status::OK();
  return arrow::Status::CapacityError("it has ", columns, " columns; at most ", most_columns_of_table,
                                      " can be read");
}

arrow::Result<std::shared_ptr<arrow::Table>> read_ipc(
    const std::shared_ptr<arrow::io::RandomAccessFile>& file, bool use_threads, std::uint64_t limit) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = use_threads;
  // Freed pages return to the system at once.
  options.memory_pool = bounded_memory(page_memory(), limit);
  ARROW_ASSIGN_OR_RAISE(const auto magic, file->Read(6));
  ARROW_RETURN_NOT_OK(file->Seek(0));
  if (magic->ToString() == "ARROW1") {
    ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchFileReader::Open(file, options));
    ARROW_RETURN_NOT_OK(check_columns(reader->schema()->num_fields()));
    const bool is_shared = use_threads && !holds_dictionaries(reader->schema()->fields());
    ARROW_ASSIGN_OR_RAISE(
        const arrow::RecordBatchVector batches,
        is_shared ? read_batches(file, options, reader->num_record_batches()) : reader->ToRecordBatches());
    return arrow::Table::FromRecordBatches(reader->schema(), batches);
  }
  ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::ipc::RecordBatchStreamReader::Open(file.get(), options));
  ARROW_RETURN_NOT_OK(check_columns(reader->schema()->num_fields()));
  return reader->ToTable();
}

// Numbers take as many bytes as their type has, however well they are packed. Of text only its lengths are
// known before it is read.
arrow::Status check_size_of_numbers(const parquet::FileMetaData& file, std::uint64_t limit) {
  constexpr double bits_of_byte = 8;
  double bytes = 0;
  for (int group = 0; group < file.num_row_groups(); ++group) {
    const auto rows = file.RowGroup(group);
    for (int column = 0; column < rows->num_columns(); ++column) {
      const auto values = static_cast<double>(rows->ColumnChunk(column)->num_values());
      const parquet::ColumnDescriptor& kind = *file.schema()->Column(column);
      switch (kind.physical_type()) {
        case parquet::Type::BOOLEAN:
          bytes += values / bits_of_byte;
          break;
        case parquet::Type::BYTE_ARRAY:
          bytes += values * sizeof(std::int32_t);
          break;
        case parquet::Type::FIXED_LEN_BYTE_ARRAY:
          bytes += values * kind.type_length();
          break;
        default:
          bytes += values * parquet::GetTypeByteSize(kind.physical_type());
      }
    }
  }
  return bytes <= static_cast<double>(limit) ? arrow::Status::OK() : takes_too_much(limit);
}

// Column by column, of whose packed bytes a few pages are in memory at a time: less than all of them at once,
// and faster, since they stay in the cache.
arrow::Result<std::shared_ptr<arrow::Table>> read_parquet_file(
    const std::shared_ptr<arrow::io::RandomAccessFile>& file, bool use_threads, std::uint64_t limit) {
  constexpr std::int64_t packed_bytes_at_once = std::int64_t{1} << 20;
  try {
    arrow::MemoryPool* const memory = bounded_memory(reading_memory(), limit);
    parquet::ReaderProperties packed(memory);
    packed.enable_buffered_stream();
    packed.set_buffer_size(packed_bytes_at_once);
    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(file, packed));
    builder.memory_pool(memory);
    parquet::ArrowReaderProperties properties(use_threads);
    properties.set_pre_buffer(false);
    ARROW_ASSIGN_OR_RAISE(const auto reader, builder.properties(properties)->Build());
    const auto told = reader->parquet_reader()->metadata();
    ARROW_RETURN_NOT_OK(check_columns(told->num_columns()));
    ARROW_RETURN_NOT_OK(check_size_of_numbers(*told, limit));
    return reader->ReadTable();
  } catch (const parquet::ParquetStatusException& error) {
    return error.status();
  } catch (const parquet::ParquetException& error) {
    return arrow::Status::Invalid(error.what());
  }
}

// Too many columns, and columns that take too much, are no damage.
void or_refuse_file(const arrow::Status& status, const std::string& name, const std::string& complaint) {
  or_refuse(status, name, status.IsCapacityError() ? "" : complaint);
}

// Offsets, dictionary indices and UTF-8 of a file from outside are not to be trusted.
Table validated(const arrow::Result<std::shared_ptr<arrow::Table>>& read, const std::string& name,
                const std::string& complaint, std::uint64_t limit) {
  or_refuse_file(read.status(), name, complaint);
  const std::shared_ptr<arrow::Table>& columns = *read;
  or_refuse(columns->Validate(), name, "is damaged");
  or_refuse_file(check_size_written_out(*columns, limit), name, complaint);
  or_refuse(columns->ValidateFull(), name, "is damaged");
  return {columns};
}

std::uint64_t limit_for(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  return most_bytes_of_rows(unknown ? 0 : bytes);
}

}  // namespace

namespace {

// A table whose rows lie in a file goes from there piece by piece.
bool write_from_file(const Table& table, const std::filesystem::path& path) {
  if (table.windows || table.cubes || !come_in_batches(*table.columns)) return false;
  const std::vector<std::int64_t> rows =
      table.source_rows ? table.source_rows->laid_out() : std::vector<std::int64_t>();
  write_atomically(path, [&](const auto& output) -> arrow::Status {
    std::shared_ptr<arrow::Schema> schema = table.columns->schema();
    const auto metadata = std::make_shared<arrow::KeyValueMetadata>();
    if (table.source_rows) {
      ARROW_ASSIGN_OR_RAISE(schema, schema->AddField(schema->num_fields(), rows_field()));
      metadata->Append(rows_key, "last column");
    }
    tell_of_parts(table, *metadata);
    ARROW_ASSIGN_OR_RAISE(
        const auto writer,
        arrow::ipc::MakeFileWriter(output, schema->WithMetadata(metadata->size() > 0 ? metadata : nullptr)));
    const auto numbers = std::make_shared<arrow::Int64Array>(std::ssize(rows), arrow::Buffer::Wrap(rows));
    std::int64_t first = 0;
    arrow::Status status;
    each_batch(*table.columns, [&](std::shared_ptr<arrow::RecordBatch> batch) {
      const std::int64_t count = batch->num_rows();
      if (status.ok() && table.source_rows)
        status =
            batch->AddColumn(batch->num_columns(), rows_field(), numbers->Slice(first, count)).Value(&batch);
      if (status.ok()) status = writer->WriteRecordBatch(*batch);
      first += count;
    });
    ARROW_RETURN_NOT_OK(status);
    return writer->Close();
  });
  return true;
}

}  // namespace

void write_arrow(const Table& table, const std::filesystem::path& path) {
  if (write_from_file(table, path)) return;
  const auto columns = or_fail(with_origin(table), "writing " + path.string());
  write_atomically(path, [&](const auto& output) { return write_ipc(*columns, output); });
  write_windows_beside(table, path);
  write_cubes_beside(table, path);
}

void write_table(const Table& given, const std::filesystem::path& path) {
  const Table table{in_memory(given.columns)};
  const std::string ending = lower_case(path.extension().string());
  if (ending == ".csv" || ending == ".tsv") {
    const char delimiter = ending == ".csv" ? ',' : '\t';
    write_atomically(path, [&](const auto& output) { return write_text(table, delimiter, output); });
  } else if (ending == ".parquet" || ending == ".pq") {
    write_atomically(path, [&](const auto& output) { return write_parquet(table, output); });
  } else if (ending == ".arrow" || ending == ".feather" || ending == ".ipc") {
    write_atomically(path, [&](const auto& output) { return write_ipc(*table.columns, output); });
  } else {
    refuse(
        "'{}': tables can be written as .csv, .tsv, .parquet, .arrow or .feather; give the file one of these "
        "extensions",
        path.string());
  }
}

Table read_arrow(const std::filesystem::path& path) {
  return with_origin_told(read_arrow_file(path), path, std::numeric_limits<std::uint64_t>::max());
}

Table open_arrow(const std::filesystem::path& path, std::uint64_t large_bytes) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (unknown || size < large_bytes) return with_origin_told(read_arrow_file(path), path, large_bytes);
  const auto columns = columns_in_file(path);
  if (columns->num_columns() > most_kept_columns)
    return with_origin_told(read_arrow_file(path), path, large_bytes);
  return with_origin_told({columns}, path, large_bytes);
}

Table read_arrow_file(const std::filesystem::path& path) {
  const auto file = open_file(path, page_memory());
  const std::uint64_t limit = limit_for(path);
  return validated(read_ipc(file, reads_in_threads(path), limit), path.string(),
                   "is not a readable Arrow IPC file or stream", limit);
}

Table read_parquet(const std::filesystem::path& path) {
  const std::uint64_t limit = limit_for(path);
  const auto file = open_file(path, reading_memory());
  return validated(read_parquet_file(file, reads_in_threads(path), limit), path.string(),
                   "is not a readable Parquet file", limit);
}

Table checked_columns(Table table, const std::string& name) {
  std::vector<std::string> names = table.column_names();
  if (names.empty()) refuse("{} has no columns", name);
  refuse_too_many_columns(std::ssize(names), name);
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = fmt::format("column_{}", i + 1);
    if (!seen.insert(names[i]).second) {
      refuse(
          "{} has two columns named '{}': give each column its own name, or set header to no (--header no) "
          "if "
          "the first row of a csv file holds values",
          name, names[i]);
    }
  }
  if (table.rows() == 0) refuse("{} has columns ({} of them) but no rows", name, names.size());
  // What else a file says of its columns is not this program's.
  arrow::FieldVector fields;
  for (std::size_t i = 0; i < names.size(); ++i)
    fields.push_back(arrow::field(names[i], table.columns->field(static_cast<int>(i))->type()));
  return {arrow::Table::Make(arrow::schema(fields), table.columns->columns(), table.rows())};
}

std::vector<KindOfColumn> kinds_of_columns(const Table& table) {
  std::vector<KindOfColumn> kinds;
  for (const auto& field : table.columns->schema()->fields())
    kinds.push_back({field->name(), kind_of(*field->type()), field->type()->ToString()});
  return kinds;
}

}  // namespace stoker
