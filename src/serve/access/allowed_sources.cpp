#include "serve/access/allowed_sources.h"

#include <algorithm>

#include "base/error.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "pipeline/card/card.h"
#include "serve/access/allowed_variables.h"
#include "store/dataset_store.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;

std::string text_at(const config::Value& settings, const std::string& name) {
  const config::Value* found = settings.find(name);
  const auto* text = found == nullptr ? nullptr : found->get_if<std::string>();
  return text == nullptr ? "" : *text;
}

}  // namespace

fs::path AllowedPath::operator()(const std::string& path) const {
  std::error_code none;
  const fs::path own = folder_of_project(data, ProjectScope::or_default());
  const fs::path root = fs::weakly_canonical(own, none);
  const fs::path whole =
      fs::weakly_canonical(fs::path(path).is_absolute() ? fs::path(path) : own / path, none);
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), whole.begin(), whole.end());
  if (none || end != root.end())
    refuse("'{}' is not in the data folder of the project: upload the file, or put it on record as a dataset",
           printable(path));
  const fs::path inside = whole.lexically_relative(root);
  // Records, tokens and the like are there too.
  const std::string first = inside.empty() ? "" : inside.begin()->string();
  if (first != "uploads" && first != "datasets" && first != "runs" && first != "models")
    refuse(
        "'{}' is no file that documents may read: they read what is below uploads/, datasets/, runs/ and "
        "models/ "
        "of the data folder",
        printable(path));
  return whole;
}

std::string no_such_dataset(const std::string& id) {
  return fmt::format("there is no dataset '{}'{}", printable(id),
                     did_you_mean(id, DatasetStore().known_ids()));
}

void refuse_datasets_not_there(const Document& document) {
  DatasetStore store;
  for (const Card& card : document.cards) {
    if (text_at(card.config, "source") != "datasets") continue;
    const config::Value* found = card.config.find("dataset_ids");
    const auto* ids = found == nullptr ? nullptr : found->get_if<config::Value::List>();
    if (ids == nullptr) continue;
    for (const config::Value& each : *ids)
      if (const auto* id = each.get_if<std::string>(); id != nullptr && !store.is_known(*id))
        refuse("card {}: {}", card.id, no_such_dataset(*id));
  }
}

void refuse_sources_not_allowed(const Document& document, const ServiceConfig& config) {
  const AllowedPath allowed{config.data};
  for (const Card& card : document.cards) {
    const std::string source = text_at(card.config, "source");
    for (const std::string& setting : card.kind->file_settings)
      if (const std::string path = text_at(card.config, setting); !path.empty()) allowed(path);
    if (source == "url" && !config.allows_urls)
      refuse("card {}: this service fetches nothing from addresses; its operator can allow it (--allow-urls)",
             card.id);
    if (source == "postgres" && !config.allows_databases)
      refuse(
          "card {}: this service reads no databases by their address; its operator can allow it "
          "(--allow-databases)",
          card.id);
    const config::Value* follows = card.config.find("follow_external");
    if (follows != nullptr && follows->get_if<bool>() != nullptr && *follows->get_if<bool>())
      refuse("card {}: follow_external: this service reads no files that other files point to", card.id);
    for (const char* setting : {"url", "uri"}) {
      try {
        refuse_variables_not_allowed(text_at(card.config, setting), config.variables);
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("card {}: {}", card.id, error.what()), error.cause());
      }
    }
  }
}

}  // namespace stoker::serve
