#include "pipeline/run/continued_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/training/training_card.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using config::Value;

// Where the settings of a model stand among those of its card; null where there are no epochs among them.
Value* settings_with_epochs(Value& config) {
  if (config.find("epochs") != nullptr) return &config;
  Value* inner = config.find("hyperparameters");
  return inner != nullptr && inner->find("epochs") != nullptr ? inner : nullptr;
}

void refuse_unless_one_network(const Document& document, const Card& card) {
  const auto spec = spec_to_train(document, card);
  if (!spec || spec->is_solved())
    refuse("card {}: its model is not trained in epochs, so there is nothing to go on with", card.id);
  const cards::TrainSettings settings = card.kind->training(card.config);
  if (settings.fit.ensemble.is_wanted() || settings.fit.walk_forward.is_wanted() ||
      settings.fit.stages.is_wanted())
    refuse("card {}: it trains several models, of which none goes on alone; start a new training", card.id);
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code ended;
  for (fs::directory_iterator each(folder, ended), end; !ended && each != end; each.increment(ended))
    if (fs::exists(each->path() / "DONE")) return true;
  return false;
}

}  // namespace

Document with_more_epochs(const Document& document, std::int64_t epochs,
                          std::optional<double> learning_rate) {
  Value value = config::parse_yaml(document.to_yaml(), "document");
  std::vector<std::string> changed;
  for (const Card& card : document.cards) {
    if (!trains(card)) continue;
    refuse_unless_one_network(document, card);
    const std::string model = model_to_train(card).card;
    if (std::ranges::find(changed, model) != changed.end()) continue;
    changed.push_back(model);
    Value* settings = settings_with_epochs(*value.find("cards")->find(model)->find("config"));
    const auto* trained = settings == nullptr ? nullptr : settings->find("epochs")->get_if<std::int64_t>();
    if (trained == nullptr) refuse("card {}: it has no epochs to add to", model);
    settings->set("epochs", *trained + epochs);
    if (learning_rate) settings->set("learning_rate", *learning_rate);
  }
  if (changed.empty()) refuse("the document trains nothing");
  return read_document(value, document.name, document.folder, *document.types);
}

std::string why_not_continued(const Document& document, const fs::path& run_folder) {
  const RunPaths paths{run_folder};
  const RunRecord record = read_record(paths);
  for (const RunRecord::Training& training : record.trainings)
    if (training.end == "stopped_early")
      return fmt::format(
          "the training {} stopped early after epoch {}: it had its patience, and more epochs would stop at "
          "once; start a new one with more patience",
          training.card, training.epochs);
  for (const Card& card : document.cards)
    if (trains(card) && !has_checkpoint(paths.checkpoints() / card.id))
      return fmt::format(
          "the run has no checkpoint of {}: its model was there already, from an earlier run of the same "
          "training; go on from that one",
          card.id);
  return "";
}

void make_continued_run(const fs::path& from, const std::string& name, const Document& document) {
  const std::unique_ptr<RunFolder> run = RunFolder::make(from.parent_path(), document, {}, name);
  try {
    throwing_errors([&] {
      fs::copy(RunPaths{from}.checkpoints(), run->paths().checkpoints(),
               fs::copy_options::recursive | fs::copy_options::skip_symlinks);
      run->end(RunStatus::interrupted,
               fmt::format("is yet to go on from the checkpoints of {}", from.filename().string()), 0);
    });
  } catch (const Error&) {
    run->remove();
    throw;
  }
}

}  // namespace stoker
