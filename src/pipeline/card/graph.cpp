#include "pipeline/card/graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/quote.h"
#include "pipeline/card/card.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::in_quotes;

std::vector<std::string> ids_of(const std::vector<Card>& cards) {
  std::vector<std::string> ids;
  for (const Card& card : cards) ids.push_back(card.id);
  return ids;
}

std::map<std::string, std::size_t> positions_of(const std::vector<Card>& cards) {
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < cards.size(); ++i) positions.emplace(cards[i].id, i);
  return positions;
}

std::string with_article(PortType type) {
  const std::string name(config::name_of(type));
  if (type == PortType::arrays) return name;
  return (type == PortType::optimizer ? "an " : "a ") + name;
}

class Connections {
 public:
  Connections(const std::vector<Card>& cards, Diagnostics& diagnostics)
      : cards_(cards), positions_(positions_of(cards)), diagnostics_(diagnostics) {}

  void check(const Card& card) const {
    const CardType* type = card.kind;
    if (type == nullptr) return;
    for (const Connection& connection : card.inputs) {
      const Input* input = find_port(type->inputs, connection.input);
      if (input == nullptr) {
        report_unknown_input(card, connection);
      } else {
        check_source(*input, connection, path_of(card, *input, connection));
      }
    }
    if (const Input* chosen = input_of_rows(*type, Rows::chosen_by)) check_choice(card, *chosen);
    for (const Input& input : type->inputs) {
      if (!must_be_connected(input.takes) || !connections_to(card, input.name).empty()) continue;
      diagnostics_.add(card.line, fmt::format("cards.{}.inputs.{}", card.id, input.name),
                       fmt::format("missing; {} needs {} here", type->name, with_article(input.type)));
    }
  }

  // Of a card that measures a model.
  void check_test(const Card& card) const {
    if (card.kind == nullptr) return;
    const Input* tested = input_of_rows(*card.kind, Rows::tested_on);
    if (tested == nullptr) return;
    for (const Connection& rows : connections_to(card, tested->name)) report_test(card, *tested, rows);
  }

 private:
  // Null where there is none, or its type is unknown.
  const Card* card_at(const Connection& connection) const {
    const auto position = positions_.find(connection.card);
    if (position == positions_.end() || cards_[position->second].kind == nullptr) return nullptr;
    return &cards_[position->second];
  }

  // The cards that trained the models that a card takes, also those that others combined.
  std::vector<const Card*> trainings_before(const Card& card) const {
    std::vector<const Card*> trainings;
    std::vector<const Card*> met{&card};
    for (std::size_t i = 0; i < met.size(); ++i) {
      const Input* models = input_of_type(*met[i]->kind, PortType::model);
      if (models == nullptr) continue;
      for (const Connection& model : connections_to(*met[i], models->name)) {
        const Card* source = card_at(model);
        if (source == nullptr || std::ranges::find(met, source) != met.end()) continue;
        met.push_back(source);
        if (input_of_rows(*source->kind, Rows::trained_on) != nullptr) trainings.push_back(source);
      }
    }
    return trainings;
  }

  // The connections that rows come along, from the last one upwards.
  std::vector<const Connection*> way_up(const Connection& last) const {
    std::vector<const Connection*> way{&last};
    while (way.size() <= cards_.size()) {  // more are a cycle, which is told elsewhere
      const Card* source = card_at(*way.back());
      const Input* passed = source == nullptr ? nullptr : input_of_rows(*source->kind, Rows::passed_on);
      if (passed == nullptr) break;
      const auto connected = connections_to(*source, passed->name);
      if (connected.size() != 1) break;
      way.push_back(&connected.front());
    }
    return way;
  }

  static bool is_same(const Connection& one, const Connection& other) {
    return one.card == other.card && one.output == other.output;
  }

  // Whether the rows at one are a part of those at the other.
  bool have_rows_in_common(const Connection& one, const Connection& other) const {
    const auto comes_from = [this](const Connection& part, const Connection& whole) {
      return std::ranges::any_of(way_up(part), [&](const Connection* each) { return is_same(*each, whole); });
    };
    return comes_from(one, other) || comes_from(other, one);
  }

  // Whether a card makes several tables of one: which rows are in which is a matter of its settings.
  static bool divides_rows(const Card& card) {
    return std::ranges::count(card.kind->outputs, PortType::table, &Output::type) > 1;
  }

  // Whether both come from the same rows by different cards, at least one of which divides them in its own
  // way: then nobody knows which rows they have in common. Cards of equal settings divide alike.
  bool are_divided_twice(const Connection& one, const Connection& other) const {
    const auto ways = std::pair(way_up(one), way_up(other));
    for (std::size_t i = 1; i < ways.first.size(); ++i) {
      for (std::size_t k = 1; k < ways.second.size(); ++k) {
        if (!is_same(*ways.first[i], *ways.second[k])) continue;
        const Card* first = card_at(*ways.first[i - 1]);
        const Card* second = card_at(*ways.second[k - 1]);
        if (first == second || (!divides_rows(*first) && !divides_rows(*second))) return false;
        const bool are_alike =
            first->type == second->type && config::to_yaml(first->config) == config::to_yaml(second->config);
        return !are_alike || ways.first[i - 1]->output == ways.second[k - 1]->output;
      }
    }
    return false;
  }

  // Rows that a model was trained on say nothing about how good it is.
  void check_choice(const Card& card, const Input& chosen) const {
    if (card.kind->chooses != nullptr && !card.kind->chooses(card.config)) return;
    for (const Connection& rows : connections_to(card, chosen.name)) {
      for (const Card* training : trainings_before(card)) {
        const Input* trained = input_of_rows(*training->kind, Rows::trained_on);
        for (const Connection& on : connections_to(*training, trained->name)) {
          if (are_divided_twice(rows, on)) {
            diagnostics_.add(
                rows.line, path_of(card, chosen, rows),
                fmt::format(
                    "{}.{} and {}.{}, which the card {} is trained on, come from the same rows, divided "
                    "in two ways, so that they may have some in common; take both from one card",
                    rows.card, rows.output, on.card, on.output, training->id));
            return;
          }
          if (!have_rows_in_common(rows, on)) continue;
          const std::string shared = is_same(rows, on) ? ""
                                                       : fmt::format(", which has rows in common with {}.{}",
                                                                     rows.card, rows.output);
          diagnostics_.add(rows.line, path_of(card, chosen, rows),
                           fmt::format("the card {} is trained on {}.{}{}; use rows that it does not know",
                                       training->id, on.card, on.output, shared));
          return;
        }
      }
    }
  }

  void report_test(const Card& card, const Input& tested, const Connection& rows) const {
    for (const Card* training : trainings_before(card)) {
      const Input* trained = input_of_rows(*training->kind, Rows::trained_on);
      for (const Connection& on : connections_to(*training, trained->name)) {
        if (!have_rows_in_common(rows, on)) continue;
        const std::string other = other_part_of(rows);
        diagnostics_.add(rows.line, path_of(card, tested, rows),
                         fmt::format("{}.{} has rows that the card {} is trained on, so that the metrics say "
                                     "how well the model remembers them, not how well it predicts{}",
                                     rows.card, rows.output, training->id,
                                     other.empty() ? "" : "; connect " + other + " to measure that"));
        return;
      }
    }
  }

  // "split.test_dataset" for split.train_dataset: rows of the same card that are not these; else "".
  std::string other_part_of(const Connection& rows) const {
    const Card* source = card_at(rows);
    if (source == nullptr || !divides_rows(*source)) return "";
    for (const Output& output : source->kind->outputs)
      if (output.type == PortType::table && output.name != rows.output) return rows.card + "." + output.name;
    return "";
  }

  void report_unknown_input(const Card& card, const Connection& connection) const {
    const std::vector<std::string> known = port_names(card.kind->inputs);
    std::string hint = did_you_mean(connection.input, known);
    if (hint.empty()) hint = known.empty() ? "; it takes none" : "; it takes " + join(known, ", ");
    diagnostics_.add(connection.line,
                     fmt::format("cards.{}.inputs.{}", card.id, config::shown(connection.input)),
                     fmt::format("{} has no such input{}", card.kind->name, hint));
  }

  static std::string path_of(const Card& card, const Input& input, const Connection& connection) {
    const std::string path = fmt::format("cards.{}.inputs.{}", card.id, input.name);
    if (!takes_several(input.takes)) return path;
    return fmt::format("{}.{}", path, &connection - connections_to(card, input.name).data());
  }

  void check_source(const Port& input, const Connection& connection, const std::string& path) const {
    if (connection.card.empty()) return;  // not CARD.OUTPUT, which has been said
    const auto position = positions_.find(connection.card);
    if (position == positions_.end()) {
      diagnostics_.add(connection.line, path,
                       fmt::format("there is no card {}{}", in_quotes(connection.card),
                                   did_you_mean(connection.card, ids_of(cards_))));
      return;
    }
    const CardType* source = cards_[position->second].kind;
    if (source == nullptr) return;
    const Port* output = find_port(source->outputs, connection.output);
    if (output == nullptr) {
      const std::vector<std::string> known = port_names(source->outputs);
      std::string hint = did_you_mean(connection.output, known);
      if (hint.empty()) hint = "; it has " + join(known, ", ");
      diagnostics_.add(connection.line, path,
                       fmt::format("the card {} ({}) has no output {}{}", connection.card, source->name,
                                   in_quotes(connection.output), hint));
    } else if (output->type != input.type) {
      diagnostics_.add(connection.line, path,
                       fmt::format("needs {}, but {}.{} is {}", with_article(input.type), connection.card,
                                   connection.output, with_article(output->type)));
    }
  }

  const std::vector<Card>& cards_;
  std::map<std::string, std::size_t> positions_;
  Diagnostics& diagnostics_;
};

// Positions of the cards that each card reads from; connections that lead nowhere are left out.
std::vector<std::vector<std::size_t>> sources_of(const std::vector<Card>& cards) {
  const auto positions = positions_of(cards);
  std::vector<std::vector<std::size_t>> sources(cards.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    for (const Connection& connection : cards[i].inputs) {
      const auto found = positions.find(connection.card);
      if (found != positions.end()) sources[i].push_back(found->second);
    }
  }
  return sources;
}

// `left` holds cards that each have a source among them, so walking up from any one must come round.
std::vector<std::size_t> cycle_among(const std::vector<bool>& left,
                                     const std::vector<std::vector<std::size_t>>& sources) {
  std::vector<std::size_t> walked;
  auto at = static_cast<std::size_t>(std::find(left.begin(), left.end(), true) - left.begin());
  while (std::find(walked.begin(), walked.end(), at) == walked.end()) {
    walked.push_back(at);
    at = *std::find_if(sources[at].begin(), sources[at].end(),
                       [&](std::size_t source) { return left[source]; });
  }
  walked.erase(walked.begin(), std::find(walked.begin(), walked.end(), at));
  // Walked against the flow; told from the card that comes first in the document, with the flow.
  std::reverse(walked.begin(), walked.end());
  std::rotate(walked.begin(), std::min_element(walked.begin(), walked.end()), walked.end());
  return walked;
}

void report_cycle(const std::vector<Card>& cards, const std::vector<std::size_t>& cycle,
                  Diagnostics& diagnostics) {
  std::vector<std::string> ids;
  for (const std::size_t position : cycle) ids.push_back(cards[position].id);
  ids.push_back(ids.front());
  diagnostics.add(cards[cycle.front()].line, "cards." + ids.front(),
                  fmt::format("the cards feed each other in a cycle: {}", join(ids, " -> ")));
}

class RunningOrder {
 public:
  RunningOrder(const std::vector<Card>& cards, Diagnostics& diagnostics)
      : cards_(cards),
        diagnostics_(diagnostics),
        sources_(sources_of(cards)),
        readers_(cards.size()),
        waiting_for_(cards.size()),
        left_(cards.size(), true) {
    for (std::size_t i = 0; i < cards.size(); ++i) {
      waiting_for_[i] = sources_[i].size();
      for (const std::size_t source : sources_[i]) readers_[source].push_back(i);
      if (sources_[i].empty()) ready_.push(i);
    }
  }

  std::vector<Card> ordered() {
    std::vector<Card> result;
    while (result.size() < cards_.size()) {
      if (ready_.empty()) break_cycle();
      const std::size_t next = ready_.top();
      ready_.pop();
      left_[next] = false;
      result.push_back(cards_[next]);
      for (const std::size_t reader : readers_[next]) {
        if (waiting_for_[reader] > 0 && --waiting_for_[reader] == 0) ready_.push(reader);
      }
    }
    return result;
  }

 private:
  // Reports a cycle and lets its cards pass, so that the next one is found too.
  void break_cycle() {
    const std::vector<std::size_t> cycle = cycle_among(left_, sources_);
    report_cycle(cards_, cycle, diagnostics_);
    for (const std::size_t position : cycle) {
      waiting_for_[position] = 0;
      ready_.push(position);
    }
  }

  const std::vector<Card>& cards_;
  Diagnostics& diagnostics_;
  std::vector<std::vector<std::size_t>> sources_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> waiting_for_;
  std::vector<bool> left_;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready_;  // earliest first
};

}  // namespace

void check_connections(const std::vector<Card>& cards, Diagnostics& diagnostics) {
  const Connections connections(cards, diagnostics);
  for (const Card& card : cards) connections.check(card);
}

std::vector<config::Diagnostic> tests_on_training_rows(const std::vector<Card>& cards) {
  Diagnostics found("");
  const Connections connections(cards, found);
  for (const Card& card : cards) connections.check_test(card);
  return found.found();
}

std::vector<Card> in_running_order(const std::vector<Card>& cards, Diagnostics& diagnostics) {
  return RunningOrder(cards, diagnostics).ordered();
}

std::set<std::string> needed_for(const Document& document, const std::string& id) {
  const auto positions = positions_of(document.cards);
  if (!positions.contains(id)) {
    refuse("there is no card {} in this document{}; its cards: {}", in_quotes(id),
           did_you_mean(id, ids_of(document.cards)), join(ids_of(document.cards), ", "));
  }
  const auto sources = sources_of(document.cards);
  std::set<std::string> needed;
  std::vector<std::size_t> open{positions.at(id)};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (!needed.insert(document.cards[at].id).second) continue;
    open.insert(open.end(), sources[at].begin(), sources[at].end());
  }
  return needed;
}

std::vector<const Card*> way_of_rows(const Document& document, const Connection& connection) {
  std::vector<const Card*> way{&card_named(document, connection.card)};
  while (const Input* passed = input_of_rows(*way.back()->kind, Rows::passed_on)) {
    const auto connected = connections_to(*way.back(), passed->name);
    if (connected.size() != 1) break;  // rows of several cards come from the one that joins them
    way.push_back(&card_named(document, connected.front().card));
  }
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace stoker
