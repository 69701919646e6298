#include "pipeline/training/kernels_ahead.h"

#include <exception>
#include <optional>
#include <system_error>

#include "pipeline/card/graph.h"
#include "pipeline/training/training_card.h"
#include "train/group/compile_ahead.h"

namespace stoker {

KernelsAhead::KernelsAhead(const Document& document, const std::set<std::string>& running, Compile instead)
    : instead_(std::move(instead)) {
  for (const Card& card : document.cards) {
    if (!running.contains(card.id) || !trains(card)) continue;
    std::optional<ModelSpec> spec = spec_to_train(document, card);
    if (!spec || spec->is_solved()) continue;
    std::vector<const Card*> way = way_of_rows(document, rows_to_train_on(card));
    const std::string& reader = way.front()->id;
    way.erase(way.begin());
    to_come_[reader].push_back({&card, std::move(*spec), std::move(way)});
  }
}

void KernelsAhead::begin(const Card& reader, const Outside& opened,
                         const std::function<bool(const Card& training)>& is_kept) {
  const auto found = to_come_.find(reader.id);
  if (found == to_come_.end() || reader.kind->first_rows == nullptr) return;
  std::vector<TrainingToCome> trainings = std::move(found->second);
  to_come_.erase(found);
  std::erase_if(trainings, [&](const TrainingToCome& each) { return is_kept(*each.card); });
  if (trainings.empty()) return;
  try {
    threads_.emplace_back([this, trainings = std::move(trainings), &type = *reader.kind, opened] {
      try {
        compile(trainings, type, opened);
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
    const cards::TrainSettings settings = training.card->kind->training(training.card->config);
    if (!instead_ && !compiles_ahead(training.spec, settings.fit)) continue;
    if (!rows) rows = reader.first_rows(opened);
    if (!rows) return;
    Table marked = *rows;
    for (const Card* card : training.way)
      if (card->kind->mark_rows != nullptr) card->kind->mark_rows(card->config, marked);
    const FitRequest request{.training = marked,
                             .spec = training.spec,
                             .preparation = settings.preparation,
                             .config = settings.fit,
                             .checkpoints = {}};
    instead_ ? instead_(request, stop_) : compile_ahead(request, stop_);
  }
}

}  // namespace stoker
