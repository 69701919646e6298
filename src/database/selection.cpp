#include "database/selection.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker::database {

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string shown_selection(const Selection& selection) {
  return selection.query.empty() ? "table " + selection.table : "query";
}

std::string statement_of(const std::string& query) {
  const std::size_t last = query.find_last_not_of(" \t\r\n;");
  if (last == std::string::npos && !query.empty()) refuse("the query is empty; it must be one SELECT");
  return last == std::string::npos ? "" : query.substr(0, last + 1);
}

std::string select_text(const std::string& rows, const std::vector<std::string>& columns,
                        const std::vector<std::string>& conditions) {
  std::vector<std::string> names;
  for (const std::string& name : columns) names.push_back(quoted_name(name));
  std::string text = "SELECT " + (names.empty() ? "*" : join(names, ", ")) + " FROM " + rows;
  const char* before = " WHERE (\n";
  for (const std::string& condition : conditions) {
    if (condition.empty()) continue;
    text += before + condition + "\n)";
    before = " AND (\n";
  }
  return text;
}

void refuse_missing_columns(const Selection& selection, const std::vector<std::string>& there) {
  for (const std::string& name : selection.columns) {
    if (std::ranges::find(there, name) != there.end()) continue;
    const std::string meant = did_you_mean(name, there);
    if (!meant.empty()) refuse("the {} has no column '{}'{}", shown_selection(selection), name, meant);
    refuse("the {} has no column '{}'; it has {}", shown_selection(selection), name, join(there, ", "));
  }
}

}  // namespace stoker::database
