#pragma once

#include <cstdint>
#include <string>

#include "config/field.h"
#include "config/usual_bounds.h"

// The keys of a document and of a card, declared like any other setting.
namespace stoker {

// Version 2 balances the router of a mixture of experts by default.
constexpr std::int64_t document_version = 2;
constexpr std::int64_t oldest_document_version = 1;
constexpr std::size_t most_cards = 1000;

struct DocumentKeys {
  std::int64_t version = 0;
  std::string name;
  config::Value cards;
  config::Value layout;
  config::Value sweep;
};

inline config::Fields fields(DocumentKeys& c) {
  return {
      config::field("version", c.version,
                    "Version of the document format: 2. In version 1, load_balance is 0 unless set; all else "
                    "is the same")
          .required(),
      config::field("name", c.name, "Name of the pipeline and of its runs; the file's name if not set")
          .optional(),
      config::field("cards", c.cards, "The cards, by id").required(),
      config::field("layout", c.layout,
                    "Positions of the cards on a canvas, as id: [x, y]; they change nothing else"),
      config::field("sweep", c.sweep, "How `stoker sweep` searches; see below"),
  };
}

struct CardKeys {
  std::string type;
  config::Value inputs;
  config::Value config;
  double time_limit = 0;
};

inline config::Fields fields(CardKeys& c) {
  return {
      config::field("type", c.type, "Type of the card").required(),
      config::field(
          "inputs", c.inputs,
          "Where each input comes from, as input: card.output; a list for an input that takes several"),
      config::field("config", c.config, "Settings of the card"),
      config::field("time_limit", c.time_limit,
                    "Seconds that the card may take; 0: no limit. When they are over, training keeps its "
                    "best model so far and any other card fails")
          .within(0, config::most_seconds),
  };
}

}  // namespace stoker
