#include "pipeline/run/outputs.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "data/cubes/cubes.h"
#include "data/memory/kept_columns.h"
#include "data/windows/windows.h"
#include "pipeline/training/training_report.h"

namespace stoker {
namespace {

// Null where nothing was trained.
const nlohmann::json* training_report(const CardType& type, const PortValues& values) {
  const Output* report = output_to_keep(type, Keep::training);
  if (report == nullptr) return nullptr;
  return std::get<std::shared_ptr<const nlohmann::json>>(values.at(report->name)).get();
}

}  // namespace

Outputs::Outputs(const Document& document, const std::set<std::string>& needed) : document_(document) {
  for (const Card& card : document.cards) {
    if (!needed.contains(card.id)) continue;
    for (const Connection& connection : card.inputs) ++cards_[connection.card].readers_left;
  }
}

void Outputs::add(const std::string& card, std::string identity, PortValues values) {
  cards_[card].identity = std::move(identity);
  cards_[card].values = std::move(values);
}

const PortValue& Outputs::get(const std::string& card, const std::string& output) const {
  return cards_.at(card).values.at(output);
}

bool Outputs::are_there(const std::string& card) const {
  const auto entry = cards_.find(card);
  return entry != cards_.end() && !entry->second.identity.empty();
}

std::string Outputs::identity_of(const Card& card, const std::string& outside) const {
  std::vector<std::string> sources;
  for (const Connection& connection : card.inputs) sources.push_back(cards_.at(connection.card).identity);
  return identity_of_card(card, sources, outside);
}

std::optional<std::string> Outputs::identity_to_come(const Card& card, const std::string& opened,
                                                     const std::string& opened_identity) const {
  if (card.id == opened) return opened_identity;
  if (are_there(card.id)) return cards_.at(card.id).identity;
  if (card.kind->look_outside != nullptr) return std::nullopt;
  std::vector<std::string> sources;
  for (const Connection& connection : card.inputs) {
    auto identity = identity_to_come(card_named(document_, connection.card), opened, opened_identity);
    if (!identity) return std::nullopt;
    sources.push_back(std::move(*identity));
  }
  return identity_of_card(card, sources, "");
}

void Outputs::leave_in_cache(const Cache& cache, Tables tables, const Card& card) {
  Entry& entry = cards_.at(card.id);
  std::vector<std::string> left;
  for (const Output& output : card.kind->outputs) {
    const auto found = entry.values.find(output.name);
    if (output.type != PortType::table || found == entry.values.end()) continue;
    const Table& table = std::get<Table>(found->second);
    const Table& series = has_windows(table) ? table.windows->series : table;
    // Who has it from its own file can pass that on.
    const bool series_is_elsewhere =
        has_windows(table) && come_when_asked_for(*series.columns) && table.windows->series_file.empty();
    // One file is enough for the parts of a split.
    const bool cubes_are_large =
        table.cubes && table.cubes->values_file.empty() && table.cubes->bytes() >= large_table_bytes;
    if (series_is_elsewhere || cubes_are_large ||
        (tables == Tables::all ? is_large(table) || is_large(series) : come_when_asked_for(*table.columns)))
      left.push_back(output.name);
  }
  if (left.empty()) return;
  if (std::optional<KeptOutputs> kept = cache.load(entry.identity, *card.kind)) {
    for (const std::string& name : left) entry.values.at(name) = std::move(kept->values.at(name));
  }  // else somebody removed it, and the tables that are in memory are as good
  give_back_unused_memory();
}

void Outputs::let_go_after(const Card& card) {
  for (const Connection& connection : card.inputs) {
    Entry& entry = cards_.at(connection.card);
    if (--entry.readers_left == 0) entry.values.clear();
  }
  if (cards_.at(card.id).readers_left == 0) cards_.at(card.id).values.clear();
}

bool is_partial(const CardType& type, const PortValues& values) {
  const nlohmann::json* report = training_report(type, values);
  return report != nullptr && ended_by_time_limit(*report);
}

std::string identity_of_outputs(const std::string& identity, const CardType& type, const PortValues& values) {
  if (!is_partial(type, values)) return identity;
  return sha256_of_text(identity + training_report(type, values)->dump());
}

}  // namespace stoker
