#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "predict/predictions.h"

namespace stoker::cards {
namespace {

struct InferenceSettings {
  bool include_features = true;
  std::string target_column = "prediction";
};

config::Fields fields(InferenceSettings& c) {
  return {
      config::field("include_features", c.include_features,
                    "Put the columns of the dataset before the prediction"),
      config::field("target_column", c.target_column, "Name of the prediction's column").not_empty(),
  };
}

PortValues infer(const CardContext& context) {
  const auto settings = settings_of<InferenceSettings>(context.config);
  const Table& table = input<Table>(context, "dataset");
  const Predictions predictions = predict(input_model(context, "trained_model"), table);
  return {{"predictions",
           predictions_table(predictions, table, settings.include_features, settings.target_column)}};
}

}  // namespace

CardType inference() {
  return {
      .name = "inference",
      .version = 3,
      .title = "Predict",
      .help =
          "Predicts each row of a table with a trained model, in the order of the rows and in real units. "
          "The run folder keeps the predictions as predictions-CARD.csv.",
      .inputs = {{"trained_model", PortType::model, "The model to predict with"},
                 {"dataset", PortType::table, "Rows to predict; the target column is not needed"}},
      .outputs = {{"predictions", PortType::table, "The prediction of each row", Keep::predictions}},
      .file_settings = {},
      .describe = described<InferenceSettings>,
      .check = checked<InferenceSettings>,
      .run = infer};
}

}  // namespace stoker::cards
