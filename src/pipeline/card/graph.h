#pragma once

#include <set>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "pipeline/document/document.h"

namespace stoker {

// Every connection must lead from an output that exists to an input of the same type, and every input that
// must have one has one. Cards of unknown type are passed over: that they are unknown has been said.
void check_connections(const std::vector<Card>& cards, config::Diagnostics& diagnostics);

// Inputs that a model is measured by and that have rows in common with those that it was trained on: nothing
// is wrong with that, but the metrics then say how well the model remembers.
std::vector<config::Diagnostic> tests_on_training_rows(const std::vector<Card>& cards);

// The cards so that each comes after those it reads from, otherwise in the given order. A cycle is reported
// with its cards by name.
std::vector<Card> in_running_order(const std::vector<Card>& cards, config::Diagnostics& diagnostics);

// The card and everything that it reads from, directly or not. Refuses an unknown card with the nearest name.
std::set<std::string> needed_for(const Document& document, const std::string& id);

// The cards that pass on the rows at the connection, in the order in which rows go through them; before them
// stands the card that the rows come from.
std::vector<const Card*> way_of_rows(const Document& document, const Connection& connection);

}  // namespace stoker
