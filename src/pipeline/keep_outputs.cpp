#include "pipeline/keep_outputs.h"

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

using Report = std::shared_ptr<const nlohmann::json>;

// The card whose model this one reads; "" where it reads none.
std::string trained_by(const Card& card) {
  const Input* model = input_of_type(*card.kind, PortType::model);
  if (model == nullptr) return "";
  const auto connected = connections_to(card, model->name);
  return connected.empty() ? "" : connected.front().card;
}

void keep_output(const Card& card, const Output& output, const PortValue& value, bool reused,
                 RunFolder& folder, RunSummary& summary) {
  switch (output.keep) {
    case Keep::nothing:
      return;
    case Keep::model:
      return folder.keep_model(card.id, *std::get<std::shared_ptr<const Model>>(value));
    case Keep::training:
      summary.trainings.push_back(folder.keep_training(card.id, *std::get<Report>(value), !reused));
      return;
    case Keep::evaluation:
      summary.evaluations.emplace_back(card.id, Evaluation::from_json(*std::get<Report>(value)));
      folder.keep_evaluation(card.id, summary.evaluations.back().second, trained_by(card));
      if (const auto cubes = std::get<Report>(value)->find("cubes"); cubes != std::get<Report>(value)->end())
        folder.keep_cubes(card.id, *cubes);
      return;
    case Keep::predictions:
      return folder.keep_predictions(card.id, std::get<Table>(value));
    case Keep::report:
      return folder.keep_report(card.id, output.name, *std::get<Report>(value));
  }
}

}  // namespace

void keep_outputs(const Card& card, const Outputs& outputs, bool reused, RunFolder& folder,
                  RunSummary& summary) {
  for (const Output& output : card.kind->outputs) {
    const PortValue& value = outputs.get(card.id, output.name);
    if (output.type == PortType::table) folder.keep_preview(card.id, output.name, std::get<Table>(value));
    keep_output(card, output, value, reused, folder, summary);
  }
}

}  // namespace stoker
