#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "pipeline/cache/cache.h"
#include "pipeline/card/port.h"
#include "pipeline/document/document.h"

namespace stoker {

// The outputs of cards for those that read them. Each is let go of when the last reader is done, so that a
// long pipeline does not hold all its tables.
class Outputs {
 public:
  // The document must live as long.
  Outputs(const Document& document, const std::set<std::string>& needed);

  // Under the identity by which the cards that follow are found in the cache.
  void add(const std::string& card, std::string identity, PortValues values);
  const PortValue& get(const std::string& card, const std::string& output) const;
  bool are_there(const std::string& card) const;

  // Of a card whose inputs are all there.
  std::string identity_of(const Card& card, const std::string& outside) const;
  // What the card's identity will be, given that of one that has been opened; none where more must be opened.
  std::optional<std::string> identity_to_come(const Card& card, const std::string& opened,
                                              const std::string& opened_identity) const;

  // A large table that the cache keeps need not be in memory as well, and rows of another table need not be
  // looked for there again.
  enum class Tables { rows_of_others, all };
  void leave_in_cache(const Cache& cache, Tables tables, const Card& card);
  void let_go_after(const Card& card);

 private:
  struct Entry {
    std::string identity;
    PortValues values;
    std::size_t readers_left = 0;
  };
  const Document& document_;
  std::map<std::string, Entry> cards_;
};

// A training that ran out of time keeps its best model.
bool is_partial(const CardType& type, const PortValues& values);

// By which the cards that follow are found in the cache. What ran out of time is not what its settings
// promise, and another time it would be something else: its report, with its losses and times, says what.
std::string identity_of_outputs(const std::string& identity, const CardType& type, const PortValues& values);

}  // namespace stoker
