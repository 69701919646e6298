#include "data/prepare/set_columns.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "pipeline/cards/slower_tables.h"
#include "predict/rows/predictions.h"
#include "predict/rows/rows_to_predict.h"

namespace stoker::cards {
namespace {

struct InferenceSettings {
  bool include_features = true;
  std::string target_column = "prediction";
  bool every_window = false;
};

config::Fields fields(InferenceSettings& c) {
  return {
      config::field("include_features", c.include_features,
                    "Put the columns of the dataset before the prediction"),
      config::field("target_column", c.target_column, "Name of the prediction's column").not_empty(),
      config::field("every_window", c.every_window,
                    "Of a series, predict after each of its windows instead of after its end alone"),
  };
}

PortValues infer(const CardContext& context) {
  const auto settings = settings_of<InferenceSettings>(context.config);
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  const Table& given = input<Table>(context, "dataset");
  const Model& model = input_model(context, "trained_model");
  const Table table =
      rows_to_predict(model, given, settings.every_window ? FramedRows::every : FramedRows::last, notes,
                      slower_tables(context));
  if (const SetColumns* set = model.preparation.set())
    for (const std::string& warning : warnings_of_sets(table, *set)) notes(Severity::warning, warning);
  return {{"predictions", predictions_table(predict(model, table), table, settings.include_features,
                                            settings.target_column)}};
}

}  // namespace

CardType inference() {
  return {.name = "inference",
          .version = 4,
          .title = "Predict",
          .help =
              "Predicts each row of a table with a trained model, in the order of the rows and in real "
              "units; of a "
              "series, what comes after its end. "
              "The run folder keeps the predictions as predictions-CARD.csv.",
          .inputs = {{"trained_model", PortType::model, "The model to predict with"},
                     {"dataset", PortType::table, "Rows to predict; the target column is not needed"},
                     slower_input(Takes::any_number)},
          .outputs = {{"predictions", PortType::table, "The prediction of each row", Keep::predictions}},
          .file_settings = {},
          .describe = described<InferenceSettings>,
          .check = checked<InferenceSettings>,
          .run = infer};
}

}  // namespace stoker::cards
