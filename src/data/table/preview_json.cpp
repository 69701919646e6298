#include "data/table/preview_json.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "data/cubes/cubes.h"
#include "data/table/column_distribution.h"

namespace stoker {
namespace {

using nlohmann::json;

const char* kind_for_programs(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::time:
      return "moment";
    case ColumnKind::text:
      return "text";
    case ColumnKind::boolean:
      return "truth";
    default:
      return "number";
  }
}

}  // namespace

json to_json(const Preview& shown) {
  json columns = json::array();
  for (const Preview::Column& column : shown.columns)
    columns.push_back({{"name", column.name}, {"type", column.type}, {"nulls", column.nulls}});
  json view{{"rows", shown.rows}, {"columns", std::move(columns)}, {"first_rows", shown.first_rows}};
  if (shown.cubes) view["cubes"] = to_json(*shown.cubes);
  return view;
}

json to_json(const ColumnDistribution& found) {
  if (found.present == 0) return nullptr;
  json view{{"kind", kind_for_programs(found.kind)},
            {"count", found.present},
            {"distinct", found.distinct},
            {"more_distinct", found.has_more_distinct}};
  if (!found.frequent.empty()) {
    json values = json::array();
    for (const auto& [value, rows] : found.frequent) values.push_back({{"value", value}, {"rows", rows}});
    view["frequent"] = std::move(values);
    return view;
  }
  view["infinite"] = found.infinite;
  if (found.counts.empty()) return view;
  view.update({{"lowest", found.lowest},
               {"highest", found.highest},
               {"mean", found.mean},
               {"deviation", found.deviation},
               {"quartiles", found.quartiles},
               {"counts", found.counts}});
  if (found.kind == ColumnKind::time)
    view.update({{"lowest_text", found.lowest_text}, {"highest_text", found.highest_text}});
  return view;
}

void add_distributions(const Table& table, json& preview, std::int64_t most_values) {
  constexpr std::int64_t always = 10'000;
  const auto width = static_cast<std::int64_t>(std::max<std::size_t>(1, preview["columns"].size()));
  const std::int64_t rows = std::min(table.rows(), std::max(always, most_values / width));
  preview["distribution_rows"] = rows;
  std::map<std::string, json> by_name;
  for (const ColumnDistribution& found : distributions(table, rows)) by_name[found.column] = to_json(found);
  for (json& column : preview["columns"])
    if (const auto found = by_name.find(column["name"].get<std::string>()); found != by_name.end())
      column["distribution"] = found->second;
}

}  // namespace stoker
