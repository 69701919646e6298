#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "pipeline/cache.h"
#include "pipeline/document.h"
#include "pipeline/port.h"

namespace stoker {

// The outputs of cards for those that read them. Each is let go of when the last reader is done, so that a
// long pipeline does not hold all its tables.
class Outputs {
 public:
  Outputs(const Document& document, const std::set<std::string>& needed);

  // Under the identity by which the cards that follow are found in the cache.
  void add(const std::string& card, std::string identity, PortValues values);
  const PortValue& get(const std::string& card, const std::string& output) const;
  const std::string& identity(const std::string& card) const { return cards_.at(card).identity; }
  bool are_there(const std::string& card) const;

  // A large table that the cache keeps need not be in memory as well, and rows of another table need not be
  // looked for there again.
  enum class Tables { rows_of_others, all };
  void leave_in_cache(const Cache& cache, Tables tables, const std::string& card, const CardType& type);
  void let_go_after(const Card& card);

 private:
  struct Entry {
    std::string identity;
    PortValues values;
    std::size_t readers_left = 0;
  };
  std::map<std::string, Entry> cards_;
};

// A training that ran out of time keeps its best model.
bool is_partial(const CardType& type, const PortValues& values);

// By which the cards that follow are found in the cache. What ran out of time is not what its settings
// promise, and another time it would be something else: its report, with its losses and times, says what.
std::string identity_of_outputs(const std::string& identity, const CardType& type, const PortValues& values);

}  // namespace stoker
