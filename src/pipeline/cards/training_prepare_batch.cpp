#include "pipeline/cards/training_parts.h"
#include "train/explain/explain_step.h"

namespace stoker::cards {
namespace {

struct PrepareBatchSettings {
  std::int64_t batch_index = 0;
  std::int64_t batch_size = 32;
  std::string target_column;
  std::vector<std::string> feature_columns;
};

config::Fields fields(PrepareBatchSettings& c) {
  return {config::field("batch_index", c.batch_index, "Which batch, from 0; rows are taken in their order")
              .within(0, 1e9),
          config::field("batch_size", c.batch_size, "Rows of a batch").within(1, 4096),
          config::field("target_column", c.target_column, "Column to predict; empty: the last one"),
          config::field("feature_columns", c.feature_columns, "Columns to predict from; empty: all others")};
}

std::vector<std::int64_t> rows_of_batch(const PrepareBatchSettings& settings, std::int64_t rows) {
  const std::int64_t batches = (rows + settings.batch_size - 1) / settings.batch_size;
  if (settings.batch_index >= batches)
    refuse("batch_index {} is behind the last batch: {} rows make {} of {} rows, from 0 on",
           settings.batch_index, rows, batches, settings.batch_size);
  std::vector<std::int64_t> places;
  const std::int64_t first = settings.batch_index * settings.batch_size;
  for (std::int64_t row = first; row < std::min(rows, first + settings.batch_size); ++row)
    places.push_back(row);
  return places;
}

// Columns become numbers as fitted on all of the rows, as in training.
PortValues prepare_batch(const CardContext& context) {
  const auto settings = settings_of<PrepareBatchSettings>(context.config);
  const auto& table = input<Table>(context, "train_dataset");
  const std::vector<std::string> names = table.column_names();
  if (names.size() < 2)
    refuse("a batch needs a column to predict and one to predict from, but the table has {}", names.size());
  PreparationConfig preparation;
  preparation.target_column = settings.target_column.empty() ? names.back() : settings.target_column;
  preparation.feature_columns = settings.feature_columns;
  const std::vector<std::int64_t> rows = rows_of_batch(settings, table.rows());
  const PreparedData data =
      stoker::prepare(table, nullptr, preparation, InputForm(Scaling::standard), notes_of(context));
  const StepBatch batch = step_batch(data, table, rows);
  return {{"batch_data", part_of_step(batch)}, {"batch_info", report_of_step(batch_report(batch))}};
}

}  // namespace

CardType training_prepare_batch() {
  return {
      .name = "training_prepare_batch",
      .title = "Prepare a batch",
      .help =
          "The first of eight cards that take one training step apart, for people who learn how training "
          "works. "
          "Takes a few rows and makes numbers of their columns, scaled as fitted on all rows. The cards hand "
          "on the "
          "real numbers, and show them in the previews of the run; a train card trains.",
      .inputs = {{"train_dataset", PortType::table, "Rows to take the batch from"}},
      .outputs = {{"batch_data", PortType::batch, "The rows of the batch as numbers"},
                  {"batch_info", PortType::report, "Rows, columns and targets of the batch", Keep::report}},
      .file_settings = {},
      .column_settings = {"target_column", "feature_columns"},
      .describe = described<PrepareBatchSettings>,
      .check = checked<PrepareBatchSettings>,
      .run = prepare_batch};
}

}  // namespace stoker::cards
