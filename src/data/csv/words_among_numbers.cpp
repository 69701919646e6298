#include "data/csv/words_among_numbers.h"

#include <algorithm>
#include <memory>
#include <set>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/csv/missing_words.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

// The words of a column that is otherwise numbers, as they are written.
struct WordsAmongNumbers {
  bool all_else_is_numbers = true;
  bool has_numbers = false;
  std::set<std::string> words = {};
};

WordsAmongNumbers look_for_words(const TextValues& texts, NumberSpelling spelling) {
  WordsAmongNumbers found;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    const std::string_view text = texts.values[row];
    if (texts.missing[row] != 0) continue;
    if (number_spelled(text, spelling)) {
      found.has_numbers = true;
    } else if (is_missing_word(text)) {
      const std::size_t begin = text.find_first_not_of(" \t");
      if (begin != std::string_view::npos)
        found.words.emplace(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
    } else {
      found.all_else_is_numbers = false;
      return found;
    }
  }
  return found;
}

}  // namespace

Table with_missing_words(Table table, NumberSpelling spelling, const std::vector<std::string>& kept_as_text,
                         const Notes& notes) {
  std::set<std::string> words;
  std::vector<std::string> columns;
  // Put together in the end: one column at a time, wide tables would cost the square of their width.
  arrow::FieldVector fields = table.columns->schema()->fields();
  arrow::ChunkedArrayVector all = table.columns->columns();
  for (int c = 0; c < table.columns->num_columns(); ++c) {
    const std::string name = table.columns->field(c)->name();
    const std::shared_ptr<arrow::ChunkedArray> column = table.columns->column(c);
    if (kind_of(*column->type()) != ColumnKind::text ||
        std::ranges::find(kept_as_text, name) != kept_as_text.end())
      continue;
    const WordsAmongNumbers found = look_for_words(read_texts(column), spelling);
    // Several words and nothing else say something: -, * and ? of a table of marks.
    const bool says_something = !found.has_numbers && found.words.size() > 1;
    if (!found.all_else_is_numbers || found.words.empty() || says_something) continue;
    const auto values = found.has_numbers
                            ? as_spelled_numbers(column, spelling, true)
                            : std::make_shared<arrow::ChunkedArray>(or_fail(
                                  arrow::MakeArrayOfNull(arrow::null(), column->length()), "a column"));
    if (!values) fail("column '{}' holds nothing but numbers and words, but is not read as such", name);
    fields[static_cast<std::size_t>(c)] = arrow::field(name, values->type());
    all[static_cast<std::size_t>(c)] = values;
    words.insert(found.words.begin(), found.words.end());
    columns.push_back("'" + name + "'");
  }
  if (columns.empty()) return table;
  table.columns = arrow::Table::Make(arrow::schema(fields, table.columns->schema()->metadata()), all,
                                     table.columns->num_rows());
  std::string shown;
  for (const std::string& word : words) shown += (shown.empty() ? "'" : ", '") + word + "'";
  notes(Severity::info,
        fmt::format("{} {} as missing in {} {}, where all else is numbers; name a column in text_columns to "
                    "keep it as text",
                    shown, words.size() == 1 ? "counts" : "count", columns.size() == 1 ? "column" : "columns",
                    shortened(join(columns, ", "))));
  return table;
}

}  // namespace stoker
