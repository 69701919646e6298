#include "database/writable.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "database/selection.h"

namespace stoker::database {

Transaction::Transaction(WritableDatabase& database) : database_(database) {
  database_.begin();
}

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const std::exception&) {
    // Then the database has ended it by itself, or does so when the connection ends.
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  is_open_ = false;
}

void insert_rows(WritableDatabase& database, const std::string& table,
                 const std::vector<std::string>& columns, const std::vector<WrittenRow>& rows) {
  const std::size_t width = columns.size();
  constexpr std::size_t most_rows = 500;
  const std::size_t at_once = std::clamp<std::size_t>(database.parameters_at_once() / width, 1, most_rows);
  if (width > database.most_parameters())
    refuse("a table of {} columns is more than a database takes in one statement", width);
  std::vector<std::string> names;
  for (const std::string& column : columns) names.push_back(quoted_name(column));
  const std::string start = "INSERT INTO " + quoted_name(table) + " (" + join(names, ", ") + ") VALUES ";
  const auto text_for = [&](std::size_t count) {
    std::string text = start;
    for (std::size_t row = 0; row < count; ++row) {
      text += row == 0 ? "(" : ", (";
      for (std::size_t c = 0; c < width; ++c)
        text += fmt::format("{}${}", c == 0 ? "" : ", ", row * width + c + 1);
      text += ")";
    }
    return text;
  };
  const std::string of_many = text_for(at_once);
  for (std::size_t first = 0; first < rows.size(); first += at_once) {
    const std::size_t count = std::min(at_once, rows.size() - first);
    std::vector<WrittenValue> values;
    values.reserve(count * width);
    for (std::size_t row = 0; row < count; ++row)
      values.insert(values.end(), rows[first + row].begin(), rows[first + row].end());
    database.run(count == at_once ? of_many : text_for(count), values);
  }
}

}  // namespace stoker::database
