#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"
#include "data/dates/date_order.h"
#include "data/split/split.h"
#include "data/split/split_from_time.h"
#include "data/split/time_order.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"

namespace stoker::cards {
namespace {

config::Value check_split(const config::Value& config, const std::string& path,
                          config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.found().size();
  const auto settings = config::read<SplitConfig>(config, path, diagnostics);
  // A ratio that is refused by itself is not among the settings, and there is nothing to add up.
  const bool are_ratios = std::none_of(
      diagnostics.found().begin() + static_cast<std::ptrdiff_t>(before), diagnostics.found().end(),
      [](const config::Diagnostic& each) { return each.path.ends_with("_ratio"); });
  if (std::string problem = problem_of_ratios(settings); are_ratios && !problem.empty()) {
    const std::string setting = config.find("test_ratio") != nullptr ? "test_ratio" : "train_ratio";
    diagnostics.add(line_of(config, setting), path + "." + setting, std::move(problem));
  }
  if (std::string problem = problem_of(settings); !problem.empty()) {
    const std::string setting = settings.goes_by_ids()
                                    ? (settings.test_ids.empty() ? "train_ids" : "test_ids")
                                : settings.goes_by_time()       ? "test_from"
                                : !settings.time_column.empty() ? "time_column"
                                                                : "group_column";
    diagnostics.add(line_of(config, setting), path + "." + setting, std::move(problem));
  }
  return config::write(settings);
}

void mark_groups(const config::Value& config, Table& rows) {
  const auto settings = settings_of<SplitConfig>(config);
  if (!settings.group_column.empty()) rows.group_column = settings.group_column;
}

config::Value with_nothing_held_back(const config::Value& config) {
  auto settings = settings_of<SplitConfig>(config);
  settings.train_ratio = 1;
  settings.test_ratio = 0;
  settings.test_from = "";
  settings.train_ids.insert(settings.train_ids.end(), settings.test_ids.begin(), settings.test_ids.end());
  settings.test_ids = {};
  if (settings.goes_by_ids()) {
    settings.train_ratio = SplitConfig{}.train_ratio;
    settings.test_ratio = SplitConfig{}.test_ratio;
  }
  return config::write(settings);
}

// Ratios may add up to less than 1 on purpose, or by a slip.
void note_unused_rows(const CardContext& context, std::int64_t all, const SplitRows& rows) {
  const auto settings = settings_of<SplitConfig>(context.config);
  constexpr double rounding = 1e-9;
  const double sum = settings.train_ratio + settings.test_ratio;
  const auto used = static_cast<std::int64_t>(rows.first.size() + rows.second.size()) + rows.purged;
  if (settings.goes_by_ids()) {
    if (used < all)
      context.listener.note(
          Severity::info,
          fmt::format("{} of {} rows are in neither part: train_ids and test_ids do not name them",
                      human_count(static_cast<std::uint64_t>(all - used)),
                      human_count(static_cast<std::uint64_t>(all))));
    return;
  }
  if (settings.goes_by_time() || sum > 1 - rounding) return;
  context.listener.note(
      Severity::info,
      fmt::format("{} of {} rows are in neither part: train_ratio {} and test_ratio {} add "
                  "up to less than 1",
                  human_count(static_cast<std::uint64_t>(all - used)),
                  human_count(static_cast<std::uint64_t>(all)), settings.train_ratio, settings.test_ratio));
}

bool is_random(const Table& table, const SplitConfig& settings) {
  return !settings.goes_by_ids() && !settings.goes_by_time() && !table.time_order &&
         !takes_given_rows(table, settings) && settings.test_ratio > 0 && settings.group_column.empty();
}

// A model can look up what was there an hour before and after, which nobody can who predicts later times.
void warn_of_dates_in_order(const CardContext& context, const Table& table, const SplitConfig& settings) {
  if (!is_random(table, settings) || table.cubes != nullptr) return;
  const std::string column = column_of_dates_in_order(table);
  if (column.empty()) return;
  context.listener.note(
      Severity::warning,
      fmt::format(
          "the split is random, but the rows are in the order of '{0}': rows close in time are in both "
          "parts, so the metrics say nothing of later times. For predictions of later times use "
          "time_column and test_from (--time-column {0} --test-from TIME), or windows of the series "
          "(--windows)",
          column));
}

PortValues split_table(const CardContext& context) {
  const Table& table = input<Table>(context, "dataset");
  const auto settings = settings_of<SplitConfig>(context.config);
  SplitRows rows = settings.goes_by_time() ? split_from_time(table, settings.time_column, settings.test_from)
                                           : split_rows(table, settings);
  if (const std::string purged = purge_text(rows); !purged.empty())
    context.listener.note(Severity::info, purged);
  if (takes_given_rows(table, settings))
    context.listener.note(
        Severity::info,
        fmt::format("{} to test with are those that the source has for it, beside {} to train on",
                    counted(rows.second.size(), "row"), counted(rows.first.size(), "row")));
  note_unused_rows(context, table.rows(), rows);
  warn_of_dates_in_order(context, table, settings);
  Table train = take_rows(table, std::move(rows.first));
  Table test = take_rows(table, std::move(rows.second));
  for (Table* part : {&train, &test}) {
    mark_groups(context.config, *part);
    part->first_test_row.reset();  // a part may be split again, by other means
  }
  return {{"train_dataset", std::move(train)}, {"test_dataset", std::move(test)}};
}

}  // namespace

CardType data_split() {
  return {
      .name = "data_split",
      .version = 4,
      .title = "Split data",
      .help =
          "Shuffles the rows and splits them into a part to train on and a part to test with. Windows of a "
          "series are split by time instead: the latest are the part to test with. Where the source has rows "
          "to test with, these are taken.",
      .inputs = {{"dataset", PortType::table, "The rows to split", Rows::passed_on}},
      .outputs = {{"train_dataset", PortType::table, "Rows to train on"},
                  {"test_dataset", PortType::table, "Rows held back for evaluation"}},
      .file_settings = {},
      .column_settings = {"stratify_column", "group_column", "time_column"},
      .first_settings = {"train_ratio", "test_ratio", "random_seed"},
      .describe = described<SplitConfig>,
      .check = check_split,
      .run = split_table,
      .mark_rows = mark_groups,
      .with_all_rows = with_nothing_held_back};
}

}  // namespace stoker::cards
