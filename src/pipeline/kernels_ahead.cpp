#include "pipeline/kernels_ahead.h"

#include <exception>
#include <optional>
#include <system_error>

#include "data/split.h"
#include "pipeline/cards/card_settings.h"
#include "train/compile_ahead.h"

namespace stoker {
namespace {

// The card that the rows at the connection come from, through any splits; their group_column is the
// nearest's.
const Card& origin_of(const Document& document, const Connection& connection, std::string& group_column) {
  const Card* card = &card_named(document, connection.card);
  while (card->type == "data_split") {
    if (group_column.empty()) group_column = settings_of<SplitConfig>(card->config).group_column;
    card = &card_named(document, card->inputs.at("dataset").card);
  }
  return *card;
}

}  // namespace

std::map<std::string, std::vector<TrainingToCome>> trainings_to_come(const Document& document,
                                                                     const std::set<std::string>& running) {
  std::map<std::string, std::vector<TrainingToCome>> trainings;
  for (const Card& card : document.cards) {
    const auto data = card.inputs.find("train_dataset");
    const auto model = card.inputs.find("model_spec");
    if (!running.contains(card.id) || data == card.inputs.end() || model == card.inputs.end()) continue;
    const Card& definition = card_named(document, model->second.card);
    const CardType& type = *find_card_type(definition.type);
    if (type.spec == nullptr) continue;
    TrainingToCome training{card.id, {}, {}, {}};
    const std::string& reader = origin_of(document, data->second, training.group_column).id;
    training.spec = type.spec(definition.config);
    if (training.spec.is_solved()) continue;
    training.settings = settings_of<cards::TrainSettings>(card.config);
    trainings[reader].push_back(std::move(training));
  }
  return trainings;
}

void KernelsAhead::begin(std::vector<TrainingToCome> trainings, const CardType& reader,
                         const Outside& opened) {
  if (trainings.empty()) return;
  try {
    threads_.emplace_back([this, trainings = std::move(trainings), &reader, opened] {
      try {
        compile(trainings, reader, opened);
      } catch (const std::exception&) {
        // Rows that cannot be read or learnt from are told of by the card that reads or trains on them.
      }
    });
  } catch (const std::system_error&) {
    // Without a thread to spare, the training compiles its kernel itself.
  }
}

void KernelsAhead::compile(const std::vector<TrainingToCome>& trainings, const CardType& reader,
                           const Outside& opened) const {
  std::optional<Table> rows;
  for (const TrainingToCome& training : trainings) {
    if (stop_.reason() != StopReason::none) return;
    const cards::TrainSettings& settings = training.settings;
    if (!instead_ && !compiles_ahead(training.spec, settings.fit)) continue;
    if (!rows) rows = reader.first_rows(opened);
    if (!rows) return;
    rows->group_column = training.group_column;
    const FitRequest request{.training = *rows,
                             .spec = training.spec,
                             .preparation = settings.preparation,
                             .config = settings.fit,
                             .checkpoints = {}};
    instead_ ? instead_(request, stop_) : compile_ahead(request, stop_);
  }
}

}  // namespace stoker
