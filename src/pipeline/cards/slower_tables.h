#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "data/join_as_of.h"
#include "pipeline/cards/card_settings.h"

// What the cards that join slower time frames have in common.
namespace stoker::cards {

struct SlowerSettings {
  std::vector<std::string> slower_names;
  Stamp slower_stamp = Stamp::open;
};

inline config::Fields fields(SlowerSettings& c) {
  return {
      config::field("slower_names", c.slower_names,
                    "Names of the tables connected to slower, in their order: h1 makes h1_close of a column "
                    "close; empty: slower1, slower2, …"),
      config::field("slower_stamp", c.slower_stamp,
                    "What the times of slower rows say. open: when each begins, so that a row is known only "
                    "once the next has begun. close: when it is over, so that it is known from then on"),
  };
}

inline Input slower_input(Takes takes) {
  return {{"slower", PortType::table,
           "Tables of longer steps, such as hours beside quarters of an hour, joined as they were known at "
           "the time of each row"},
          Rows::read,
          takes};
}

// The table with all that is connected to `slower`.
inline Table with_slower_tables(const CardContext& context, const SlowerSettings& settings, Table table,
                                const std::string& time_column, const std::string& group_column) {
  const std::vector<Table> slower = all_inputs<Table>(context, "slower");
  if (slower.empty()) return table;
  if (time_column.empty()) refuse("slower tables are joined by time; set time_column");
  if (!settings.slower_names.empty() && settings.slower_names.size() != slower.size())
    refuse("slower_names has {} for {}", counted(settings.slower_names.size(), "name"),
           counted(slower.size(), "slower table"));
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  for (std::size_t i = 0; i < slower.size(); ++i) {
    const std::string name =
        settings.slower_names.empty() ? "slower" + std::to_string(i + 1) : settings.slower_names[i];
    table = join_as_of(table, slower[i],
                       {.time_column = time_column,
                        .group_column = group_column,
                        .prefix = name,
                        .stamp = settings.slower_stamp},
                       notes);
  }
  return table;
}

}  // namespace stoker::cards
