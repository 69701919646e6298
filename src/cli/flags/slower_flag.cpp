#include "cli/flags/slower_flag.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/flags/reading_settings.h"
#include "data/source/source.h"
#include "data/windows/join_as_of.h"
#include "store/open_source.h"

namespace stoker::cli {

SlowerFile slower_file(const std::string& word) {
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos || sign == 0) return {"", word};
  const bool is_name = std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(sign),
                                   [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name ? SlowerFile{word.substr(0, sign), word.substr(sign + 1)} : SlowerFile{"", word};
}

std::vector<std::string> files_by_name(const std::vector<std::string>& words,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> files(names.size());
  const std::string trained_with = "the model was trained with " + join(names, ", ");
  for (const std::string& word : words) {
    const SlowerFile given = slower_file(word);
    const auto place = given.name.empty() ? std::ranges::find(files, "") - files.begin()
                                          : std::ranges::find(names, given.name) - names.begin();
    if (place == static_cast<std::ptrdiff_t>(names.size()) && given.name.empty())
      refuse("--slower {} is one table too many; {}", word, trained_with);
    if (place == static_cast<std::ptrdiff_t>(names.size()))
      refuse("--slower {}: there is no slower table '{}'{}; {}", word, given.name,
             did_you_mean(given.name, names), trained_with);
    std::string& file = files[static_cast<std::size_t>(place)];
    if (!file.empty()) refuse("--slower gives {} twice: {} and {}", given.name, file, given.data);
    file = given.data;
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (files[i].empty()) missing.push_back(names[i]);
  if (!missing.empty())
    refuse("--slower {}=FILE is missing; {}", join(missing, "=FILE and --slower "), trained_with);
  return files;
}

namespace {

constexpr std::array<std::string_view, 3> settings_of_columns{"text_columns", "number_columns",
                                                              "date_columns"};

bool is_of_columns(const std::string& setting) {
  return std::ranges::find(settings_of_columns, setting) != settings_of_columns.end();
}

// Which rows of a database are read: of the series, not of what is joined to it.
constexpr std::array<std::string_view, 6> settings_of_one_table{"table",   "query",      "where",
                                                                "columns", "partitions", "partition_column"};

bool is_of_one_table(const std::string& setting) {
  return std::ranges::find(settings_of_one_table, setting) != settings_of_one_table.end();
}

std::vector<std::string> columns_of(const std::string& data, const config::Value& reading) {
  const Source source = open_source(source_named(data, reading), std::filesystem::current_path());
  const std::optional<Table> start = source.first_rows();
  return (start ? *start : source.read()).column_names();
}

// What the table calls the column; "" where it has none of the name.
std::string name_in_table(const std::string& column, const std::string& slower,
                          const std::vector<std::string>& columns) {
  const auto has = [&](const std::string& name) { return std::ranges::find(columns, name) != columns.end(); };
  if (!slower.empty())
    if (std::string own = name_in_slower(slower, column); has(own)) return own;
  return has(column) ? column : "";
}

// One setting of one table, as far as it is given.
struct PartOfSetting {
  config::Value::List list;
  config::Value::Map map;

  void put(config::Value& reading, const std::string& setting) && {
    if (!list.empty()) reading.set(setting, std::move(list));
    if (!map.empty()) reading.set(setting, std::move(map));
  }
};

// A setting that lists columns, or has a value for each.
void divide(const config::Entry& setting, const std::vector<SlowerFile>& tables,
            const std::vector<std::vector<std::string>>& columns, std::vector<config::Value>& readings) {
  std::vector<PartOfSetting> parts(tables.size());
  const auto hand_out = [&](const std::string& column, const auto& put) {
    bool is_known = false;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::string own = name_in_table(column, tables[i].name, columns[i]);
      if (own.empty()) continue;
      put(parts[i], own);
      is_known = true;
    }
    if (!is_known) put(parts.front(), column);
  };
  if (const auto* list = setting.value.get_if<config::Value::List>())
    for (const config::Value& each : *list)
      if (const auto* column = each.get_if<std::string>())
        hand_out(*column, [](PartOfSetting& part, const std::string& own) { part.list.emplace_back(own); });
  if (const auto* map = setting.value.get_if<config::Value::Map>())
    for (const config::Entry& each : *map)
      hand_out(each.key, [&](PartOfSetting& part, const std::string& own) {
        config::Entry entry = each;
        entry.key = own;
        part.map.push_back(std::move(entry));
      });
  for (std::size_t i = 0; i < tables.size(); ++i) std::move(parts[i]).put(readings[i], setting.key);
}

}  // namespace

std::vector<config::Value> readings_of(const std::vector<SlowerFile>& tables, const config::Value& given) {
  const auto* settings = given.get_if<config::Value::Map>();
  if (settings == nullptr || tables.size() < 2) return std::vector<config::Value>(tables.size(), given);
  std::vector<config::Value> readings(tables.size());
  for (const config::Entry& each : *settings)
    for (std::size_t i = 0; i < tables.size(); ++i)
      if (!is_of_columns(each.key) && (i == 0 || !is_of_one_table(each.key)))
        readings[i].set(each.key, each.value);
  const bool has_columns =
      std::ranges::any_of(*settings, [](const config::Entry& each) { return is_of_columns(each.key); });
  if (!has_columns) return readings;
  std::vector<std::vector<std::string>> columns;
  for (std::size_t i = 0; i < tables.size(); ++i) columns.push_back(columns_of(tables[i].data, readings[i]));
  for (const config::Entry& each : *settings)
    if (is_of_columns(each.key)) divide(each, tables, columns, readings);
  return readings;
}

}  // namespace stoker::cli
