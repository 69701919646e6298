#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "predict/rows/combine_models.h"

namespace stoker::cards {
namespace {

config::Value check_combining(const config::Value& config, const std::string& path,
                              config::Diagnostics& diagnostics) {
  const auto settings = config::read<CombiningConfig>(config, path, diagnostics);
  if (std::string problem = problem_of(settings); !problem.empty())
    diagnostics.add(line_of(config, "combining"), path + ".combining", std::move(problem));
  return config::write(settings);
}

std::vector<double> weights_of(const CombiningConfig& settings, const std::vector<Model>& models,
                               const Table* rows) {
  switch (settings.combining) {
    case Combining::average:
      break;
    case Combining::weighted:
      return settings.weights;
    case Combining::stacked:
      if (rows == nullptr)
        refuse(
            "combining: stacked chooses the weights on rows; connect dataset to rows that none of the models "
            "was trained on");
      return stacked_weights(models, *rows);
  }
  return {};
}

PortValues combine(const CardContext& context) {
  const auto settings = settings_of<CombiningConfig>(context.config);
  std::vector<Model> models;
  for (const auto& each : all_inputs<std::shared_ptr<const Model>>(context, "models"))
    models.push_back(*each);
  for (const Model& each : models)
    if (each.decision != Decision{})
      context.listener.note(
          Severity::info, "calibration and threshold of single models are left out where they are combined");
  const std::vector<double> weights = weights_of(settings, models, optional_input<Table>(context, "dataset"));
  Model whole = combine_models(models, weights);
  nlohmann::json report{{"combining", config::name_of(settings.combining)},
                        {"models", models.size()},
                        {"members", whole.members.size()}};
  std::vector<std::string> shares;
  for (const double weight : weights) shares.push_back(fmt::format("{:.3f}", weight));
  if (settings.combining == Combining::stacked) {
    report["weights"] = weights;
    context.listener.note(Severity::info,
                          "weights of the models, in the order of the document: " + join(shares, ", "));
  }
  return {{"trained_model", std::make_shared<const Model>(std::move(whole))},
          {"combination", std::make_shared<const nlohmann::json>(std::move(report))}};
}

bool is_stacked(const config::Value& config) {
  config::Diagnostics said_already("");
  return config::read<CombiningConfig>(config, "", said_already).combining == Combining::stacked;
}

std::size_t weights_given(const config::Value& config) {
  return settings_of<CombiningConfig>(config).weights.size();
}

}  // namespace

CardType ensemble() {
  return {.name = "ensemble",
          .version = 2,
          .title = "Combine models",
          .help =
              "Makes one model of several trained ones, of whatever families, that predict the same from the "
              "same columns: the mean of what they predict, by weights that are given or chosen on rows that "
              "none of them was trained on.",
          .inputs = {{"models", PortType::model, "The models to combine, two or more", Rows::read,
                      Takes::at_least_one},
                     {"dataset", PortType::table,
                      "combining stacked: rows to choose the weights on, which no model was trained on",
                      Rows::chosen_by, Takes::at_most_one}},
          .outputs = {{"trained_model", PortType::model, "The models as one", Keep::model},
                      {"combination", PortType::report, "How much each counts"}},
          .file_settings = {},
          .describe = described<CombiningConfig>,
          .check = check_combining,
          .run = combine,
          .chooses = is_stacked,
          .weights_given = weights_given};
}

}  // namespace stoker::cards
