#include "data/table/table_to_database.h"

#include <cmath>
#include <vector>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/chrono.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/table/whole_times.h"
#include "database/selection.h"

namespace stoker {
namespace {

using database::WrittenRow;
using database::WrittenValue;

constexpr std::string_view comment_begin = "/* ";
constexpr std::string_view comment_end = " */";

// How values of one database are written.
struct Spelling {
  bool is_postgres = false;

  std::string number(double value, std::string shortest) const {
    if (std::isfinite(value)) return shortest;
    if (std::isnan(value)) return "NaN";
    return value < 0 ? "-Infinity" : "Infinity";
  }
  const char* opening() const { return is_postgres ? "{" : "["; }
  const char* closing() const { return is_postgres ? "}" : "]"; }
  const char* nothing() const { return is_postgres ? "NULL" : "null"; }
};

std::string moment_text(const arrow::TimestampArray& values, std::int64_t row) {
  const auto& type = static_cast<const arrow::TimestampType&>(*values.type());
  const std::int64_t parts = parts_of_second(type.unit());
  const std::int64_t value = values.Value(row);
  const std::int64_t below = (value % parts + parts) % parts;
  const std::int64_t seconds = (value - below) / parts;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06}{}", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     below * 1'000'000 / parts, type.timezone().empty() ? "" : "+00");
}

std::string value_text(const arrow::Array& array, std::int64_t row, const Spelling& spelling);

std::string list_text(const arrow::FixedSizeListArray& lists, std::int64_t row, const Spelling& spelling) {
  std::string text = spelling.opening();
  const std::int64_t first = lists.value_offset(row);
  for (std::int64_t i = 0; i < lists.value_length(); ++i) {
    if (i > 0) text += ",";
    text += lists.values()->IsNull(first + i) ? spelling.nothing()
                                              : value_text(*lists.values(), first + i, spelling);
  }
  return text + spelling.closing();
}

template <class ArrowArray>
std::string plain_text(const arrow::Array& array, std::int64_t row, const Spelling& spelling) {
  const auto value = static_cast<const ArrowArray&>(array).Value(row);
  return spelling.number(static_cast<double>(value), fmt::format("{}", value));
}

std::string value_text(const arrow::Array& array, std::int64_t row, const Spelling& spelling) {
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "1" : "0";
    case arrow::Type::INT8:
      return plain_text<arrow::Int8Array>(array, row, spelling);
    case arrow::Type::UINT8:
      return plain_text<arrow::UInt8Array>(array, row, spelling);
    case arrow::Type::UINT16:
      return plain_text<arrow::UInt16Array>(array, row, spelling);
    case arrow::Type::UINT32:
      return plain_text<arrow::UInt32Array>(array, row, spelling);
    case arrow::Type::INT16:
      return plain_text<arrow::Int16Array>(array, row, spelling);
    case arrow::Type::INT32:
      return plain_text<arrow::Int32Array>(array, row, spelling);
    case arrow::Type::INT64:
      return plain_text<arrow::Int64Array>(array, row, spelling);
    case arrow::Type::FLOAT:
      return plain_text<arrow::FloatArray>(array, row, spelling);
    case arrow::Type::DOUBLE:
      return plain_text<arrow::DoubleArray>(array, row, spelling);
    case arrow::Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetString(row);
    case arrow::Type::TIMESTAMP:
      return moment_text(static_cast<const arrow::TimestampArray&>(array), row);
    case arrow::Type::FIXED_SIZE_LIST:
      return list_text(static_cast<const arrow::FixedSizeListArray&>(array), row, spelling);
    default:
      fail("a value of type {} was written to a database", array.type()->ToString());
  }
}

// "" where a database has no such type.
std::string declared_type(const arrow::DataType& type, bool is_postgres) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return "BOOLEAN";
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
      return "BIGINT";
    case arrow::Type::FLOAT:
      return "REAL";
    case arrow::Type::DOUBLE:
      return "DOUBLE PRECISION";
    case arrow::Type::STRING:
      return "TEXT";
    case arrow::Type::TIMESTAMP:
      if (!is_postgres) return "TEXT";
      return static_cast<const arrow::TimestampType&>(type).timezone().empty() ? "TIMESTAMP" : "TIMESTAMPTZ";
    case arrow::Type::FIXED_SIZE_LIST: {
      const arrow::DataType* of = &type;
      while (of->id() == arrow::Type::FIXED_SIZE_LIST)
        of = static_cast<const arrow::FixedSizeListType*>(of)->value_type().get();
      const std::string element = declared_type(*of, is_postgres);
      if (element.empty() || of->id() == arrow::Type::STRING) return "";
      if (is_postgres) return element + "[]";
      return of->id() == arrow::Type::FLOAT ? "REAL ARRAY" : "ARRAY";
    }
    default:
      return "";
  }
}

// SQLite has no NaN but NULL, and infinity as a number that is too large.
WrittenValue written_value(const arrow::Array& array, std::int64_t row, const Spelling& spelling) {
  if (array.IsNull(row)) return std::nullopt;
  std::string text = value_text(array, row, spelling);
  const bool is_real = array.type_id() == arrow::Type::FLOAT || array.type_id() == arrow::Type::DOUBLE;
  if (!spelling.is_postgres && is_real && text == "NaN") return std::nullopt;
  if (!spelling.is_postgres && is_real && text.ends_with("Infinity"))
    text = text.front() == '-' ? "-9e999" : "9e999";
  return text;
}

// The origin stands in a comment, in PostgreSQL one on the table, in SQLite one inside of its declaration,
// which the file keeps as it was written.
void make_table(const arrow::Table& columns, database::WritableDatabase& database, const std::string& name,
                const std::string& origin) {
  std::vector<std::string> declared;
  for (const auto& field : columns.schema()->fields()) {
    const std::string type = declared_type(*field->type(), database.is_postgres());
    if (type.empty())
      refuse("column '{}' has the type {}, which cannot be written to a database", field->name(),
             field->type()->ToString());
    declared.push_back(database::quoted_name(field->name()) + " " + type);
  }
  const std::string text = join(declared, ", ");
  if (!database.is_postgres()) {
    database.run(fmt::format("CREATE TABLE {} ({}{}{} {})", database::quoted_name(name), comment_begin,
                             origin, comment_end, text));
    return;
  }
  database.run(fmt::format("CREATE TABLE {} ({})", database::quoted_name(name), text));
  database.run(fmt::format("COMMENT ON TABLE {} IS '{}'", database::quoted_name(name), origin));
}

void refuse_unless_plain(const std::string& origin) {
  if (origin.find_first_of("'*/\\") != std::string::npos)
    fail("the origin of a table has a character that ends a comment: {}", origin);
}

}  // namespace

std::string origin_of_table(database::WritableDatabase& database, const std::string& name) {
  const auto found =
      database.run(database.is_postgres()
                       ? "SELECT obj_description(to_regclass(quote_ident($1)), 'pg_class')"
                       : "SELECT sql FROM sqlite_master WHERE type = 'table' AND lower(name) = lower($1)",
                   {{name}});
  const std::string text = found.empty() ? "" : found[0].at(0).value_or("");
  if (database.is_postgres()) return text;
  const std::size_t begin = text.find(comment_begin);
  const std::size_t end = text.find(comment_end, begin);
  if (end == std::string::npos) return "";
  return text.substr(begin + comment_begin.size(), end - begin - comment_begin.size());
}

void write_to_database(const Table& table, database::WritableDatabase& database, const std::string& name,
                       const std::string& origin) {
  refuse_unless_plain(origin);
  if (database.has_table(name))
    refuse("the database has a table '{}' already; name another with --table, or remove it first", name);
  const std::shared_ptr<arrow::Table> columns = in_memory(table.columns);
  make_table(*columns, database, name, origin);
  const Spelling spelling{database.is_postgres()};
  constexpr std::int64_t rows_at_a_time = 4'096;
  arrow::TableBatchReader reader(*columns);
  reader.set_chunksize(rows_at_a_time);
  std::shared_ptr<arrow::RecordBatch> batch;
  for (;;) {
    or_fail(reader.ReadNext(&batch), "writing a table to a database");
    if (batch == nullptr) return;
    std::vector<WrittenRow> rows(static_cast<std::size_t>(batch->num_rows()));
    for (int c = 0; c < batch->num_columns(); ++c)
      for (std::int64_t row = 0; row < batch->num_rows(); ++row)
        rows[static_cast<std::size_t>(row)].push_back(written_value(*batch->column(c), row, spelling));
    database::insert_rows(database, name, table.column_names(), rows);
  }
}

}  // namespace stoker
