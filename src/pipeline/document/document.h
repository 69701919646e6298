#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/value.h"

namespace stoker {

struct CardType;  // card.h
using CardTypes = std::vector<CardType>;
// Those of the program, in the order in which a pipeline uses them.
const CardTypes& built_in_card_types();
// These and one for each of the operator's own programs in a folder (command_declaration.h). Refuses a folder
// with a declaration that is wrong.
CardTypes with_commands(const std::filesystem::path& folder);
// Those with the commands of the folder that STOKER_COMMANDS names, if it does: read once, when they are
// first asked for.
const CardTypes& card_types();

struct Connection {
  std::string input;  // of the card that reads
  std::string card;   // that it reads from
  std::string output;
  int line = 0;
};

struct Card {
  std::string id;
  std::string type;
  const CardType* kind = nullptr;  // the type of that name; null only while a document is being checked
  std::vector<Connection> inputs;  // by their inputs; those of one in the order of the document
  config::Value config;            // checked, defaults written out
  double time_limit = 0;           // seconds; 0: none
  int line = 0;
};

// A pipeline that has been checked: known types and settings, connections that fit, no cycle.
struct Document {
  std::string name;
  std::vector<Card> cards;           // in an order in which they can run
  config::Value layout;              // canvas only
  std::filesystem::path folder;      // relative paths are taken from here
  const CardTypes* types = nullptr;  // that there are for its cards
  std::vector<std::string> notes;    // of names in it that are others', and what they mean here

  // As YAML, with every default written out, paths made absolute and variables in place of the values in an
  // address's query (data/url/url_secrets.h); reads back as the same document wherever it is kept.
  std::string to_yaml() const;
};

const Card& card_named(const Document& document, const std::string& id);

// Checks everything and reports all errors at once. Takes seed 000's {nodes, edges} form too. Refuses a
// document of which settings are searched: that is for read_sweep(). The types must live as long as it.
Document read_document(const config::Value& value, const std::string& file_name,
                       const std::filesystem::path& folder, const CardTypes& types = card_types());
// The two halves of it, for whoever has more to say about the document: errors are collected, then the
// document gets its folder and, where it has none, a name.
Document read_document(const config::Value& value, const CardTypes& types, config::Diagnostics& diagnostics);
void finish_reading(Document& document, const std::string& file_name, const std::filesystem::path& folder);
// Loads, applies "cards.model.config.epochs=5" assignments, then checks.
Document load_pipeline(const std::filesystem::path& path, const std::vector<std::string>& assignments = {},
                       const CardTypes& types = card_types());

// JSON Schema of a whole document, for editors.
nlohmann::json document_schema(const CardTypes& types = card_types());
// docs/reference.md: every card with its ports and settings.
std::string reference_page(const CardTypes& types = card_types());

}  // namespace stoker
