#include "pipeline/run/keep_outputs.h"

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

// A card such as data_filter passes on some of the rows that it receives.
void keep_dropped_rows(const Card& card, const Outputs& outputs, RunFolder& folder) {
  const Input* input = input_of_rows(*card.kind, Rows::passed_on);
  if (input == nullptr) return;
  std::int64_t received = 0;
  for (const Connection& connection : connections_to(card, input->name))
    received += std::get<Table>(outputs.get(connection.card, connection.output)).rows();
  std::int64_t passed_on = 0;
  for (const Output& output : card.kind->outputs)
    if (output.type == PortType::table)
      passed_on += std::get<Table>(outputs.get(card.id, output.name)).rows();
  if (passed_on < received) folder.keep_dropped_rows({card.id, received - passed_on, received});
}

}  // namespace

void keep_outputs(const Card& card, const Outputs& outputs, bool reused, RunFolder& folder,
                  RunSummary& summary) {
  for (const Output& output : card.kind->outputs) {
    const PortValue& value = outputs.get(card.id, output.name);
    if (output.type == PortType::table) folder.keep_preview(card.id, output.name, std::get<Table>(value));
    keep_output(card, output, value, reused, folder, summary);
  }
  keep_dropped_rows(card, outputs, folder);
}

}  // namespace stoker
