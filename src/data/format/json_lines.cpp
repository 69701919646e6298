#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/json/api.h>
#include <arrow/table.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "data/format/json_rows.h"
#include "data/format/table_files.h"
#include "data/memory/arrow_result.h"
#include "data/memory/arrow_threads.h"
#include "data/memory/packed_text.h"
#include "data/memory/reading_memory.h"
#include "data/table/column_values.h"

// One object of plain values to a line, or in an array. Arrow reads it; what it cannot read is looked through
// once more, line by line, for the place to name.
namespace stoker {
namespace {

constexpr std::int32_t most_json_bytes = 1 << 26;  // of one line

enum class JsonKind { missing, truth, number, text, nested };

JsonKind kind_of_value(const nlohmann::json& value) {
  if (value.is_null()) return JsonKind::missing;
  if (value.is_boolean()) return JsonKind::truth;
  if (value.is_number()) return JsonKind::number;
  return value.is_string() ? JsonKind::text : JsonKind::nested;
}

const char* name_of_kind(JsonKind kind) {
  switch (kind) {
    case JsonKind::missing:
      return "null";
    case JsonKind::truth:
      return "true or false";
    case JsonKind::number:
      return "a number";
    case JsonKind::text:
      return "text";
    default:
      return "a list or an object";
  }
}

class LineChecker {
 public:
  LineChecker(std::string name, bool is_array) : name_(std::move(name)), is_array_(is_array) {}

  void check(std::string_view line) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_discarded() && is_array_) refuse("{}: this row is not JSON", place());
    if (object.is_discarded())
      refuse("{}: this line is not JSON; a file of rows has one object to a line, or an array of objects",
             place());
    if (!object.is_object())
      refuse("{}: a {} must be one object, such as {{\"rooms\": 3, \"price\": 250}}", place(), unit());
    for (const auto& [key, value] : object.items()) check_value(key, kind_of_value(value));
  }

 private:
  const char* unit() const { return is_array_ ? "row" : "line"; }
  std::string place() const {
    return is_array_ ? fmt::format("{}: row {}", name_, line_) : fmt::format("{}:{}", name_, line_);
  }

  void check_value(const std::string& key, JsonKind kind) {
    if (kind == JsonKind::nested)
      refuse("{}: '{}' holds a list or an object; only plain values can be columns", place(), shortened(key));
    if (kind == JsonKind::missing) return;
    const auto [known, is_new] = kinds_.try_emplace(key, Seen{kind, line_});
    if (is_new || known->second.kind == kind) return;
    refuse("{}: '{}' holds {}, but {} in {} {}; a column has one type", place(), shortened(key),
           name_of_kind(kind), name_of_kind(known->second.kind), unit(), known->second.line);
  }

  struct Seen {
    JsonKind kind;
    std::int64_t line;
  };
  std::string name_;
  bool is_array_;
  std::int64_t line_ = 0;
  std::map<std::string, Seen> kinds_;
};

void refuse_faulty_lines(const std::filesystem::path& path, bool is_array) {
  const std::string name = path.string();
  const auto text = or_refuse(open_json_rows(path, is_array, ArrayEnd::required), name);
  LineChecker checker(name, is_array);
  std::string rest;
  while (true) {
    const auto block = or_refuse(text->Read(1 << 20), name);
    rest += std::string_view(*block);
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      checker.check(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (block->size() == 0) return checker.check(rest);
    if (rest.size() > static_cast<std::size_t>(most_json_bytes))
      refuse("{}: a {} is longer than {}", name, is_array ? "row" : "line", human_bytes(most_json_bytes));
  }
}

arrow::Result<std::shared_ptr<arrow::Table>> read_json_columns(
    const std::shared_ptr<arrow::io::InputStream>& text, const std::vector<std::string>& text_columns,
    std::int32_t bytes_at_once, bool use_threads) {
  auto reading = arrow::json::ReadOptions::Defaults();
  reading.block_size = bytes_at_once;
  reading.use_threads = use_threads;
  auto parsing = arrow::json::ParseOptions::Defaults();
  arrow::FieldVector texts;
  for (const std::string& column : text_columns) texts.push_back(arrow::field(column, arrow::utf8()));
  if (!texts.empty()) parsing.explicit_schema = arrow::schema(texts);
  ARROW_ASSIGN_OR_RAISE(const auto reader,
                        arrow::json::TableReader::Make(reading_memory(), text, reading, parsing));
  return reader->Read();
}

// Names that the file lacks would be columns of nothing.
std::vector<std::string> columns_there(const arrow::Table& table, const std::vector<std::string>& names) {
  std::vector<std::string> there;
  std::copy_if(names.begin(), names.end(), std::back_inserter(there),
               [&](const std::string& name) { return table.GetColumnByName(name) != nullptr; });
  return there;
}

bool has_nested_columns(const arrow::Table& table) {
  return std::ranges::any_of(table.schema()->fields(), [](const auto& field) {
    return kind_of(*field->type()) == ColumnKind::unsupported;
  });
}

}  // namespace

Table read_json_lines(const std::filesystem::path& path, const std::vector<std::string>& text_columns) {
  const std::string name = path.string();
  const bool use_threads = !or_refuse(is_packed(path), name) && reads_in_threads(path);
  const bool is_array = is_json_array(path);
  const auto read = [&](const std::vector<std::string>& texts, std::int32_t bytes_at_once) {
    auto columns = read_json_columns(or_refuse(open_json_rows(path, is_array, ArrayEnd::required), name),
                                     texts, bytes_at_once, use_threads);
    fail_for_machine(columns.status(), name);
    if (columns.status().IsCapacityError()) or_refuse(columns.status(), name);
    return columns;
  };
  auto columns = read({}, 1 << 20);
  if (!columns.ok() || has_nested_columns(**columns)) refuse_faulty_lines(path, is_array);
  if (!columns.ok()) columns = read({}, most_json_bytes);
  const std::shared_ptr<arrow::Table> table = or_refuse(std::move(columns), name);
  // Texts that look like times would be such, unless they are asked for as they are; numbers stay numbers.
  const std::vector<std::string> there = columns_there(*table, text_columns);
  if (there.empty()) return {table};
  std::vector<std::string> times;
  std::copy_if(there.begin(), there.end(), std::back_inserter(times), [&](const std::string& column) {
    return kind_of(*table->GetColumnByName(column)->type()) == ColumnKind::time;
  });
  if (times.empty()) return {table};
  return {or_refuse(read(times, most_json_bytes), name)};
}

}  // namespace stoker
