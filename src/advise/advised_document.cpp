#include "advise/advised_document.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "pipeline/document.h"
#include "pipeline/seed_form.h"
#include "pipeline/training_card.h"

namespace stoker::advise {
namespace {

namespace fs = std::filesystem;

config::Value* setting_of(config::Value& document, const std::string& card, const std::string& setting) {
  config::Value* place = &document;
  for (const std::string& part : {std::string("cards"), card, std::string("config"), setting})
    if (place != nullptr) place = place->find(part);
  return place;
}

bool is_in_another_folder(const fs::path& document, const fs::path& target) {
  return fs::weakly_canonical(fs::absolute(document)).parent_path() !=
         fs::weakly_canonical(fs::absolute(target)).parent_path();
}

void make_paths_absolute(const Document& checked, config::Value& value) {
  config::Value kept = config::parse_yaml(checked.to_yaml(), "the document");
  for (const Card& card : checked.cards)
    for (const std::string& setting : card.kind->file_settings) {
      config::Value* written = setting_of(value, card.id, setting);
      const config::Value* absolute = setting_of(kept, card.id, setting);
      if (written != nullptr && absolute != nullptr) *written = *absolute;
    }
}

}  // namespace

void refuse_target(const fs::path& document, const fs::path& target) {
  std::error_code ignored;
  if (fs::equivalent(document, target, ignored))
    refuse("--apply {}: that is the document itself, which is never changed; name another file",
           target.string());
  if (fs::exists(fs::symlink_status(target, ignored)))
    refuse("--apply {}: there is such a file already, and it is not overwritten; name another one",
           target.string());
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored))
    refuse("--apply {}: there is no folder {}", target.string(), folder.string());
}

void write_advised(const fs::path& document, const std::vector<std::string>& assignments,
                   const Prediction& way, const fs::path& target) {
  const Document checked = load_pipeline(document, assignments);
  config::Value value = config::load_document(document);
  if (is_seed_form(value)) {
    config::Diagnostics diagnostics(document.string());
    value = from_seed_form(value, *checked.types, diagnostics);
    diagnostics.refuse_if_any();
  }
  for (const std::string& each : assignments) config::set_path(value, each);
  for (const Card& card : checked.cards) {
    if (!trains(card)) continue;
    const std::string settings = "cards." + card.id + ".config.";
    config::set_path(value, settings + "device=" + way.device);
    const std::optional<ModelSpec> spec = spec_to_train(checked, card);
    if (spec && spec->is_solved()) continue;
    config::set_path(value, settings + "engine=" + way.engine);
    config::set_path(value, settings + "placement=" + (way.is_usual ? std::string("auto") : way.placement));
  }
  if (is_in_another_folder(document, target)) make_paths_absolute(checked, value);
  refuse_target(document, target);
  const bool is_json = target.extension() == ".json";
  write_file(target, is_json ? config::to_json(value).dump(2) + "\n" : config::to_yaml(value));
}

WrittenChoice written_choice(const fs::path& document, const std::vector<std::string>& assignments) {
  const Document checked = load_pipeline(document, assignments);
  for (const Card& card : checked.cards) {
    if (!trains(card)) continue;
    const FitConfig config = card.kind->training(card.config).fit;
    return {config.device, std::string(config::name_of(config.engine)),
            std::string(config::name_of(config.placement.placement))};
  }
  return {};
}

}  // namespace stoker::advise
