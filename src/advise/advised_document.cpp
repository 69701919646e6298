#include "advise/advised_document.h"

#include <nlohmann/json.hpp>

#include "advise/way.h"
#include "base/error.h"
#include "base/files/new_file.h"
#include "pipeline/card/card.h"
#include "pipeline/document/document.h"
#include "pipeline/document/seed_form.h"

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

// As documents are.
bool is_utf8(const fs::path& path) {
  try {
    return !nlohmann::json(path.string()).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
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
  if (is_in_another_folder(document, target) && !is_utf8(fs::absolute(document).parent_path()))
    refuse(
        "--apply {}: files are named there by the folder of the document, whose name is not UTF-8; name a "
        "file "
        "in the same folder",
        target.string());
}

void write_advised(const Question& question, const Prediction& way, const fs::path& target) {
  const Document& checked = question.document;
  config::Diagnostics diagnostics(question.file.string());
  config::Value value =
      in_todays_form(load_with(question.assignments, question.file, *checked.types, diagnostics),
                     *checked.types, diagnostics);
  diagnostics.refuse_if_any();
  const std::string placement = way.is_usual ? "auto" : way.placement;
  for (const std::string& each : assignments_of_way(checked, {way.device, way.engine, placement}))
    config::set_path(value, each);
  if (is_in_another_folder(question.file, target)) make_paths_absolute(checked, value);
  const bool is_json = target.extension() == ".json";
  const std::string text = is_json ? config::to_json(value).dump(2) + "\n" : config::to_yaml(value);
  if (!write_new_file(target, text)) refuse_target(question.file, target);
}

}  // namespace stoker::advise
