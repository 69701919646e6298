#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pipeline/card/card.h"
#include "pipeline/document/document.h"

// Rows that a model meets after its training: where they come from, and how they must be read.
namespace stoker {

// The rows on which those of the `running` cards that take the model of this card test it.
std::vector<Connection> tests_of_model(const Document& document, const std::set<std::string>& running,
                                       const std::string& training_card);

// By the models that the card is given.
std::vector<std::string> columns_learnt_as_text(const Card& card, const InputValues& inputs);
DateForms dates_learnt(const Card& card, const InputValues& inputs);
// Their names for the tables that their series was joined with, in order.
std::vector<std::string> joined_names_learnt(const Card& card, const InputValues& inputs);

// The table at this connection with the columns that a model learnt as text as the text they are. A file of
// its own may hold nothing but digits where the training's had words too, so that its reader took 007 for 7:
// then it is read again. `outside` has what each card has read. Text that may be several dates becomes the
// one that it was in training.
Table in_learnt_types(const Table& table, const std::vector<std::string>& learnt_as_text,
                      const DateForms& dates, const Document& document, const Connection& connection,
                      const std::map<std::string, Outside>& outside);

}  // namespace stoker
