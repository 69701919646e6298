#include "data/windows/join_as_of.h"

#include "pipeline/cards/cards.h"
#include "pipeline/cards/slower_tables.h"

namespace stoker::cards {
namespace {

struct JoinSettings {
  std::string time_column;
  std::string group_column;
  SlowerConfig slower;
};

config::Fields fields(JoinSettings& c) {
  config::Fields all{
      config::field("time_column", c.time_column, "Column of the times, in all tables")
          .required()
          .not_empty(),
      config::field(
          "group_column", c.group_column,
          "Column that tells several series apart; a slower table without it is joined to all of them")
          .optional(),
  };
  for (config::Field& each : fields(c.slower)) all.push_back(std::move(each));
  return all;
}

PortValues join_slower(const CardContext& context) {
  const auto settings = settings_of<JoinSettings>(context.config);
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  return {
      {"dataset", join_slower_tables(input<Table>(context, "dataset"), slower_tables(context),
                                     settings.slower, settings.time_column, settings.group_column, notes)}};
}

}  // namespace

CardType join_as_of() {
  return {.name = "join_as_of",
          .version = 2,
          .title = "Join time frames",
          .help =
              "Gives each row of a series what was known of slower ones at its time, such as hours and days "
              "beside quarters of an hour; no row sees the future.",
          .inputs = {{"dataset", PortType::table, "The series whose rows are kept"},
                     slower_input(Takes::at_least_one)},
          .outputs = {{"dataset", PortType::table, "Its rows with the columns of the slower tables"}},
          .file_settings = {},
          .column_settings = {"time_column", "group_column"},
          .describe = described<JoinSettings>,
          .check = checked<JoinSettings>,
          .run = join_slower};
}

}  // namespace stoker::cards
