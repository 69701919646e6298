#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/interfaces.h>
#include <arrow/table.h>
#include <arrow/util/utf8.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/format/table_files.h"
#include "data/memory/arrow_result.h"
#include "data/memory/packed_text.h"
#include "data/table/column_values.h"

// Weka's attribute-relation files, and KEEL's, which are much the same: the columns and their types, then
// rows with commas. https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/
namespace stoker {
namespace {

constexpr std::string_view arff_blanks = " \t\r";

void skip_arff_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(arff_blanks), text.size()));
}

struct ArffValue {
  std::string text;
  bool is_quoted = false;
};

// Up to one of `ends` or, in quotes of either kind, to the quote that closes it. None where a quote is open.
std::optional<ArffValue> take_value(std::string_view& text, std::string_view ends) {
  skip_arff_blanks(text);
  ArffValue value;
  if (text.starts_with('\'') || text.starts_with('"')) {
    const char quote = text.front();
    value.is_quoted = true;
    std::size_t at = 1;
    for (; at < text.size() && text[at] != quote; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value.text += text[at];
    }
    if (at == text.size()) return std::nullopt;
    text.remove_prefix(at + 1);
    return value;
  }
  const std::string_view plain = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(plain.size());
  value.text = plain.substr(0, plain.find_last_not_of(arff_blanks) + 1);
  return value;
}

struct ArffColumn {
  std::string name;
  bool is_text = false;
  bool is_whole = true;  // each of its numbers, and none is declared to be real
  std::vector<double> numbers = {};
  arrow::StringBuilder texts = {};
};

class ArffReader {
 public:
  explicit ArffReader(std::string name) : name_(std::move(name)) {}

  Table read(std::string_view text) {
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      ++line_;
      skip_arff_blanks(line);
      line = line.substr(0, line.find_last_not_of(arff_blanks) + 1);
      if (line.empty() || line.front() == '%') continue;
      if (is_in_rows_) {
        take_row(line);
      } else {
        take_declaration(line);
      }
    }
    if (!is_in_rows_) refuse("{}: there is no @data, behind which an ARFF file has its rows", name_);
    return table();
  }

 private:
  void take_declaration(std::string_view line) {
    const std::string_view word = line.substr(0, line.find_first_of(arff_blanks));
    const std::string keyword = lower_case(word);
    line.remove_prefix(word.size());
    if (keyword == "@data") {
      if (columns_.empty()) refuse("{}:{}: there is no @attribute before @data", name_, line_);
      is_in_rows_ = true;
    } else if (keyword == "@attribute") {
      take_attribute(line);
    }
    // The rest: the name of the relation, what KEEL would predict, comments that lack their mark.
  }

  void take_attribute(std::string_view line) {
    auto name = take_value(line, " \t{");
    if (!name) refuse("{}:{}: a quote is never closed", name_, line_);
    skip_arff_blanks(line);
    const std::string type = lower_case(line.substr(0, line.find_first_of(" \t[{")));
    auto column = std::make_unique<ArffColumn>();
    column->name = std::move(name->text);
    column->is_text = line.starts_with('{') || type == "string" || type == "date";
    column->is_whole = type != "real";
    if (!column->is_text && type != "real" && type != "numeric" && type != "integer") {
      refuse(
          "{}:{}: attribute '{}' has the type '{}'; those that are read are numeric, real, integer, string, "
          "date and lists of values in braces",
          name_, line_, shortened(column->name), shortened(type));
    }
    columns_.push_back(std::move(column));
  }

  void take_row(std::string_view line) {
    if (line.front() == '{')
      refuse("{}:{}: sparse rows in braces are not read; save the table as CSV", name_, line_);
    std::size_t values = 0;
    for (;; line.remove_prefix(1)) {
      const auto value = take_value(line, ",");
      if (!value) refuse("{}:{}: a quote is never closed", name_, line_);
      if (values < columns_.size()) keep(*columns_[values], *value);
      ++values;
      skip_arff_blanks(line);
      if (!line.starts_with(',')) break;
    }
    if (values != columns_.size() || !line.empty()) {
      refuse("{}:{}: this row has {}, but there {} declared", name_, line_,
             line.empty() ? counted(values, "value") : "something behind a value",
             columns_.size() == 1 ? "is 1 attribute" : fmt::format("are {} attributes", columns_.size()));
    }
  }

  void keep(ArffColumn& column, const ArffValue& value) {
    const bool is_missing = !value.is_quoted && (value.text == "?" || value.text == "<null>");
    if (column.is_text) {
      or_refuse(is_missing ? column.texts.AppendNull() : column.texts.Append(value.text), name_);
      return;
    }
    constexpr double whole_numbers_end = 9007199254740992.0;  // 2^53
    const auto number = is_missing ? missing_number : number_in(value.text);
    if (!number) {
      refuse("{}:{}: '{}' is not a number, but attribute '{}' holds numbers", name_, line_,
             shortened(value.text), shortened(column.name));
    }
    column.numbers.push_back(*number);
    if (!std::isnan(*number))
      column.is_whole = column.is_whole && *number == std::trunc(*number) &&
                        std::abs(*number) < whole_numbers_end && value.text.find('.') == std::string::npos;
  }

  template <class Builder>
  static std::shared_ptr<arrow::Array> finish_numbers(const std::vector<double>& numbers) {
    Builder builder;
    for (const double number : numbers) {
      or_fail(std::isnan(number) ? builder.AppendNull()
                                 : builder.Append(static_cast<typename Builder::value_type>(number)),
              "reading numbers");
    }
    return or_fail(builder.Finish(), "reading numbers");
  }

  Table table() {
    arrow::FieldVector fields;
    arrow::ChunkedArrayVector columns;
    for (const auto& column : columns_) {
      const std::shared_ptr<arrow::Array> values =
          column->is_text    ? or_fail(column->texts.Finish(), name_)
          : column->is_whole ? finish_numbers<arrow::Int64Builder>(column->numbers)
                             : finish_numbers<arrow::DoubleBuilder>(column->numbers);
      columns.push_back(std::make_shared<arrow::ChunkedArray>(values));
      fields.push_back(arrow::field(column->name, values->type()));
    }
    return {arrow::Table::Make(arrow::schema(fields), columns)};
  }

  std::string name_;
  std::int64_t line_ = 0;
  bool is_in_rows_ = false;
  std::vector<std::unique_ptr<ArffColumn>> columns_;  // builders do not move
};

std::string whole_text(const std::filesystem::path& path) {
  const auto file = or_refuse(open_text(path), path.string());
  std::string text;
  while (true) {
    const auto block = or_refuse(file->Read(1 << 20), path.string());
    if (block->size() == 0) return text;
    text += std::string_view(*block);
  }
}

}  // namespace

bool is_arff(std::string_view start) {
  if (start.starts_with("\xef\xbb\xbf")) start.remove_prefix(3);
  while (!start.empty()) {
    std::string_view line = start.substr(0, start.find('\n'));
    start.remove_prefix(std::min(line.size() + 1, start.size()));
    skip_arff_blanks(line);
    if (line.empty() || line.front() == '%') continue;
    return lower_case(line.substr(0, 9)) == "@relation";
  }
  return false;
}

Table read_arff(const std::filesystem::path& path) {
  arrow::util::InitializeUTF8();
  const std::string text = whole_text(path);
  if (!arrow::util::ValidateUTF8(text))
    refuse("{} is not UTF-8 text; convert it, for example with: iconv -f latin1 -t utf-8", path.string());
  std::string_view rows = text;
  if (rows.starts_with("\xef\xbb\xbf")) rows.remove_prefix(3);
  return ArffReader(path.string()).read(rows);
}

}  // namespace stoker
