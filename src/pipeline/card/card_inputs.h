#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pipeline/card/card.h"
#include "pipeline/run/outputs.h"

namespace stoker {

// What the cards of a run are given: the outputs of others, in the form that each needs.
class CardInputs {
 public:
  // All must live as long.
  CardInputs(const Document& document, const std::set<std::string>& running, const Outputs& outputs)
      : document_(document), running_(running), outputs_(outputs) {}

  // What the card reads from outside, in case that another must read it in other types.
  void opened(const std::string& card, Outside outside) { outside_[card] = std::move(outside); }

  InputValues of(const Card& card) const;
  // The rows on which the model that the card trains is to be tested, as far as they are there already.
  std::vector<Table> tests_of(const Card& training) const;

 private:
  const PortValue& at(const Connection& connection) const {
    return outputs_.get(connection.card, connection.output);
  }

  const Document& document_;
  const std::set<std::string>& running_;
  const Outputs& outputs_;
  std::map<std::string, Outside> outside_;  // by card
};

}  // namespace stoker
