#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/table/filter.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"

namespace stoker::cards {
namespace {

struct FilterSettings {
  std::vector<std::string> where;
  std::optional<double> min_snr_db;
  std::optional<double> max_gdop;
};

config::Fields fields(FilterSettings& c) {
  return {
      config::field(
          "where", c.where,
          "Conditions that all have to hold for a row to be kept, each a column, one of >= > <= < = != "
          "and a number, for which a row whose value is missing is left out; or a column of any type and is "
          "not null or is null"),
      config::field("min_snr_db", c.min_snr_db, "The same as where: [snr_db >= NUMBER]"),
      config::field("max_gdop", c.max_gdop, "The same as where: [gdop <= NUMBER]"),
  };
}

std::vector<Condition> conditions_of(const FilterSettings& settings) {
  std::vector<Condition> all;
  for (const std::string& text : settings.where) all.push_back(condition_from(text));
  if (settings.min_snr_db) all.push_back({"snr_db", Condition::Kind::at_least, *settings.min_snr_db});
  if (settings.max_gdop) all.push_back({"gdop", Condition::Kind::at_most, *settings.max_gdop});
  return all;
}

config::Value check_filter(const config::Value& config, const std::string& path,
                           config::Diagnostics& diagnostics) {
  const auto settings = config::read<FilterSettings>(config, path, diagnostics);
  try {
    if (conditions_of(settings).empty() && diagnostics.empty())
      diagnostics.add(config.line(), path, "no condition is given: set where, min_snr_db or max_gdop");
  } catch (const Error& error) {
    diagnostics.add(line_of(config, "where"), path + ".where", error.what());
  }
  return config::write(settings);
}

PortValues filter_rows(const CardContext& context) {
  const Table& table = input<Table>(context, "dataset");
  if (table.windows)
    refuse("rows that are windows of a series cannot be filtered: put this card before the windows card");
  Table kept = rows_with(table, conditions_of(settings_of<FilterSettings>(context.config)));
  if (kept.rows() == 0) refuse("no row is left: the conditions hold for none of the {} rows", table.rows());
  context.listener.note(Severity::info, fmt::format("{} of {} rows are kept",
                                                    human_count(static_cast<std::uint64_t>(kept.rows())),
                                                    human_count(static_cast<std::uint64_t>(table.rows()))));
  return {{"dataset", std::move(kept)}};
}

}  // namespace

CardType data_filter() {
  return {.name = "data_filter",
          .version = 1,
          .title = "Filter rows",
          .help =
              "Keeps the rows for which conditions hold. Rows that are predicted later are not filtered: the "
              "conditions say what a model is trained on and measured by.",
          .inputs = {{"dataset", PortType::table, "The rows to choose from", Rows::passed_on}},
          .outputs = {{"dataset", PortType::table, "The rows for which all conditions hold"}},
          .file_settings = {},
          .condition_settings = {"where"},
          .describe = described<FilterSettings>,
          .check = check_filter,
          .run = filter_rows,
          .with_all_rows = [](const config::Value& config) { return config; }};
}

}  // namespace stoker::cards
