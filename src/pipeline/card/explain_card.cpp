#include "pipeline/card/explain_card.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "pipeline/run/outputs_on_demand.h"
#include "pipeline/training/training_card.h"
#include "train/explain/explain_step.h"
#include "train/fit/fit.h"

namespace stoker {
namespace {

const Card& card_to_explain(const Document& document, const std::string& id) {
  std::vector<std::string> trained;
  const Card* chosen = nullptr;
  for (const Card& card : document.cards) {
    if (!trains(card)) continue;
    trained.push_back(card.id);
    if (id.empty() || card.id == id) chosen = &card;
  }
  if (trained.empty()) refuse("no card of the document trains, so there is no training step to look into");
  if (chosen == nullptr)
    refuse("'{}' is not a card that trains; these are: {}{}", id, join(trained, ", "),
           did_you_mean(id, trained));
  if (id.empty() && trained.size() > 1)
    refuse("several cards of the document train: {}; say which one (--card)", join(trained, ", "));
  return *chosen;
}

}  // namespace

nlohmann::json explain_card(const Document& document, const std::string& id, std::int64_t rows,
                            const std::filesystem::path& cache, const Notes& notes, const StopSignal& stop) {
  const Card& card = card_to_explain(document, id);
  const cards::TrainSettings settings = card.kind->training(card.config);
  OutputsOnDemand outputs(notes, stop, cache);
  const auto spec = std::get<ModelSpec>(outputs.value_at(document, model_to_train(card)));
  refuse_without_steps(spec);
  const Table table = trainable_rows(std::get<Table>(outputs.value_at(document, rows_to_train_on(card))),
                                     spec, settings.preparation, notes);
  const FitRequest request{.training = table,
                           .spec = spec,
                           .preparation = settings.preparation,
                           .config = settings.fit,
                           .checkpoints = {}};
  nlohmann::json explained = explain_step(request, rows, notes);
  explained["card"] = card.id;
  explained["document"] = document.name;
  return explained;
}

}  // namespace stoker
