#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/quote.h"
#include "data/source/standard_input.h"
#include "data/url/url_secrets.h"
#include "model/experts/expert_shape.h"
#include "pipeline/card/card.h"
#include "pipeline/card/graph.h"
#include "pipeline/document/document.h"
#include "pipeline/document/document_keys.h"
#include "pipeline/document/seed_form.h"
#include "pipeline/run/space.h"
#include "pipeline/training/combined_models.h"
#include "pipeline/training/training_card.h"
#include "train/fit/variants.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::Entry;
using config::in_quotes;
using config::Value;

constexpr std::size_t longest_id = 64;
constexpr std::size_t longest_name = 200;

// Ids become parts of file names and of dotted paths.
bool is_valid_id(const std::string& id) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !id.empty() && id.size() <= longest_id && is_letter_or_digit(id.front()) &&
         std::all_of(id.begin(), id.end(), [&](char c) { return is_letter_or_digit(c) || c == '-'; });
}

// A document keeps the defaults of its version, so that it trains the same model again.
void set_defaults_of_version_1(Value& settings) {
  const Value* type = settings.find("model_type");
  const auto* name = type == nullptr ? nullptr : type->get_if<std::string>();
  if (name == nullptr || *name != experts_family || settings.find("load_balance") != nullptr) return;
  settings.set("load_balance", Value(0.0, type->line()));
}

class DocumentReader {
 public:
  DocumentReader(const CardTypes& types, Diagnostics& diagnostics)
      : types_(types), diagnostics_(diagnostics) {}

  Document read(const Value& value) {
    const auto keys = config::read<DocumentKeys>(value, "", diagnostics_);
    check_version(value);
    Document document;
    document.types = &types_;
    document.name = keys.name;
    if (keys.name.size() > longest_name) {
      diagnostics_.add(
          value.find("name")->line(), "name",
          fmt::format("must have at most {} characters, has {}", longest_name, keys.name.size()));
    }
    document.cards = read_cards(keys.cards);
    document.layout = keys.layout;
    check_layout(document);
    config::read<SweepConfig>(keys.sweep, "sweep", diagnostics_);  // says what is wrong with it
    check_connections(document.cards, diagnostics_);
    if (diagnostics_.empty()) {
      check_validation_of(document.cards, keys.cards);
      check_variants(document.cards);
      check_combined_models(document.cards, diagnostics_);
    }
    document.cards = in_running_order(document.cards, diagnostics_);
    document.notes = diagnostics_.notes();
    if (diagnostics_.empty())
      for (const config::Diagnostic& each : tests_on_training_rows(document.cards))
        document.notes.push_back(fmt::format("{}: {}", each.path, each.message));
    return document;
  }

 private:
  void check_version(const Value& document) {
    const Value* version = document.find("version");
    const auto* number = version == nullptr ? nullptr : version->get_if<std::int64_t>();
    if (number == nullptr) return;
    version_ = *number;
    if (version_ >= oldest_document_version && version_ <= document_version) return;
    diagnostics_.add(version->line(), "version",
                     fmt::format("{} is unknown; this program reads the versions {} to {}", version_,
                                 oldest_document_version, document_version));
  }

  std::vector<Card> read_cards(const Value& map) {
    std::vector<Card> cards;
    const auto* entries = map.get_if<Value::Map>();
    if (entries == nullptr) return cards;
    if (entries->empty()) diagnostics_.add(map.line(), "cards", "contains no cards");
    if (entries->size() > most_cards) {
      diagnostics_.add(map.line(), "cards",
                       fmt::format("contains {} cards; the maximum is {}", entries->size(), most_cards));
      return cards;
    }
    for (const Entry& entry : *entries) cards.push_back(read_card(entry));
    return cards;
  }

  Card read_card(const Entry& entry) {
    const std::string path = "cards." + config::shown(entry.key);
    if (!is_valid_id(entry.key)) {
      diagnostics_.add(entry.line, path,
                       fmt::format("is not a valid id for a card: use at most {} letters, digits, _ and -, "
                                   "and do not begin with -",
                                   longest_id));
    }
    const auto keys = config::read<CardKeys>(entry.value, path, diagnostics_);
    Card card{entry.key, keys.type, find_card_type(types_, keys.type), {}, {}, keys.time_limit, entry.line};
    read_inputs(keys.inputs, path + ".inputs", card);
    if (card.kind != nullptr) {
      Value settings = keys.config;
      if (settings.is_null()) settings = Value(Value::Map{}, entry.line);
      if (version_ == 1) set_defaults_of_version_1(settings);
      card.config = card.kind->check(settings, path + ".config", diagnostics_);
    } else if (!keys.type.empty()) {
      report_unknown_type(keys.type, entry.value.find("type")->line(), path + ".type");
    }
    return card;
  }

  void report_unknown_type(const std::string& type, int line, const std::string& path) {
    const std::vector<std::string> known = type_names(types_);
    const auto is_command = [](const std::string& name) { return name.starts_with("command:"); };
    std::string hint = did_you_mean(type, known);
    if (is_command(type) && std::ranges::none_of(known, is_command))
      hint = "; no commands are allowed here: their folder is named by --commands or STOKER_COMMANDS";
    if (hint.empty()) hint = "; available: " + join(known, ", ");
    diagnostics_.add(line, path, fmt::format("{} is not a card type{}", in_quotes(type), hint));
  }

  void read_inputs(const Value& map, const std::string& path, Card& card) {
    const auto* entries = map.get_if<Value::Map>();
    if (entries == nullptr) return;
    for (const Entry& entry : *entries) {
      const std::string inner = path + "." + config::shown(entry.key);
      const auto* list = entry.value.get_if<Value::List>();
      if (list == nullptr) {
        card.inputs.push_back(read_connection(entry.key, entry.value, entry.line, inner));
      } else if (check_list(*list, entry, inner, card)) {
        for (std::size_t i = 0; i < list->size(); ++i) {
          const Value& item = (*list)[i];
          card.inputs.push_back(read_connection(entry.key, item, item.line() > 0 ? item.line() : entry.line,
                                                fmt::format("{}.{}", inner, i)));
        }
      }
    }
    std::ranges::stable_sort(card.inputs, {}, &Connection::input);
  }

  bool check_list(const Value::List& list, const Entry& entry, const std::string& path, Card& card) {
    const Input* input = card.kind == nullptr ? nullptr : find_port(card.kind->inputs, entry.key);
    if (input != nullptr && !takes_several(input->takes)) {
      diagnostics_.add(
          entry.line, path,
          fmt::format("takes one connection, written as CARD.OUTPUT; found a list of {}", list.size()));
      card.inputs.push_back({entry.key, "", "", entry.line});  // so that it is not told to be missing as well
      return false;
    }
    if (!list.empty()) return true;
    diagnostics_.add(entry.line, path,
                     "is an empty list; name a card's output as CARD.OUTPUT, or leave it out");
    card.inputs.push_back({entry.key, "", "", entry.line});
    return false;
  }

  Connection read_connection(const std::string& input, const Value& value, int line,
                             const std::string& path) {
    const auto* text = value.get_if<std::string>();
    const std::size_t dot = text == nullptr ? std::string::npos : text->find('.');
    if (dot != std::string::npos && dot > 0 && dot + 1 < text->size())
      return {input, text->substr(0, dot), text->substr(dot + 1), line};
    diagnostics_.add(line, path,
                     fmt::format("must name a card's output as CARD.OUTPUT, such as load.dataset; found {}",
                                 value.describe()));
    return {input, "", "", line};
  }

  // What a model's card cannot know alone: whether the training has validation rows.
  void check_validation_of(const std::vector<Card>& cards, const Value& written) {
    for (const Card& card : cards) {
      if (card.kind->spec == nullptr || is_only_in_ensembles(cards, card)) continue;
      const ModelSpec spec = card.kind->spec(card.config);
      if (spec.is_solved()) continue;
      const std::string path = "cards." + card.id + ".config";
      check_validation(spec.training, path, diagnostics_, written.find(card.id)->find("config"));
    }
  }

  // What a card that trains cannot know alone: which settings the model has.
  void check_variants(const std::vector<Card>& cards) {
    for (const Card& card : cards) {
      if (!trains(card)) continue;
      const auto model = std::ranges::find(cards, model_to_train(card).card, &Card::id);
      if (model == cards.end() || model->kind->spec == nullptr) continue;
      const cards::TrainSettings settings = card.kind->training(card.config);
      variants_of({model->kind->spec(model->config), settings.preparation}, settings.fit.ensemble,
                  "cards." + card.id + ".config.ensemble.variants", diagnostics_);
    }
  }

  void check_layout(const Document& document) {
    const auto* entries = document.layout.get_if<Value::Map>();
    if (entries == nullptr) return;
    std::vector<std::string> ids;
    for (const Card& card : document.cards) ids.push_back(card.id);
    for (const Entry& entry : *entries) {
      const std::string path = "layout." + config::shown(entry.key);
      if (std::find(ids.begin(), ids.end(), entry.key) == ids.end()) {
        diagnostics_.add(entry.line, path, "no card has this id" + did_you_mean(entry.key, ids));
      }
      if (!is_place(entry.value)) {
        diagnostics_.add(entry.line, path,
                         "must be a position such as [260, 0], found " + entry.value.describe());
      }
    }
  }

  static bool is_place(const Value& value) {
    const auto* list = value.get_if<Value::List>();
    if (list == nullptr || list->size() != 2) return false;
    return std::all_of(list->begin(), list->end(), [](const Value& each) {
      const auto* number = each.get_if<double>();
      return each.get_if<std::int64_t>() != nullptr || (number != nullptr && std::isfinite(*number));
    });
  }

  std::int64_t version_ = document_version;
  const CardTypes& types_;
  Diagnostics& diagnostics_;
};

// A file that is named from the document's folder must be found from wherever the text is kept, and nobody
// who reads that text should learn what an address alone may know.
Value settings_to_keep(const Card& card, const std::filesystem::path& folder) {
  Value settings = card.config;
  for (const std::string& name : card.kind->file_settings) {
    Value* value = settings.find(name);
    const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
    if (text == nullptr || text->empty() || *text == standard_input_path) continue;
    *value = Value(std::filesystem::absolute(folder / *text).lexically_normal().string());
  }
  for (const std::string& name : card.kind->address_settings) {
    Value* value = settings.find(name);
    const auto* text = value == nullptr ? nullptr : value->get_if<std::string>();
    if (text != nullptr) *value = Value(kept_url(*text, card.id));
  }
  return settings;
}

Value card_value(const Card& card, const std::filesystem::path& folder) {
  Value value(Value::Map{});
  value.set("type", Value(card.type));
  Value inputs(Value::Map{});
  for (const Connection& each : card.inputs) {
    const Value text(each.card + "." + each.output);
    const bool in_list = takes_several(find_port(card.kind->inputs, each.input)->takes);
    if (in_list && inputs.find(each.input) != nullptr) {
      inputs.find(each.input)->get_if<Value::List>()->push_back(text);
    } else {
      inputs.set(each.input, in_list ? Value(Value::List{text}) : text);
    }
  }
  if (!card.inputs.empty()) value.set("inputs", std::move(inputs));
  value.set("config", settings_to_keep(card, folder));
  value.set("time_limit", Value(card.time_limit));
  return value;
}

}  // namespace

std::string Document::to_yaml() const {
  Value document(Value::Map{});
  document.set("version", Value(document_version));
  document.set("name", Value(name));
  Value all(Value::Map{});
  for (const Card& card : cards) all.set(card.id, card_value(card, folder));
  document.set("cards", std::move(all));
  if (!layout.is_null()) document.set("layout", layout);
  return config::to_yaml(document);
}

const Card& card_named(const Document& document, const std::string& id) {
  for (const Card& card : document.cards) {
    if (card.id == id) return card;
  }
  fail("there is no card {}", id);
}

Document read_document(const Value& value, const CardTypes& types, Diagnostics& diagnostics) {
  return DocumentReader(types, diagnostics).read(value);
}

void finish_reading(Document& document, const std::string& file_name, const std::filesystem::path& folder) {
  document.folder = folder;
  if (document.name.empty()) document.name = std::filesystem::path(file_name).stem().string();
  if (document.name.empty()) document.name = "pipeline";
}

Document read_document(const Value& written, const std::string& file_name,
                       const std::filesystem::path& folder, const CardTypes& types) {
  Diagnostics diagnostics(file_name);
  Value value = in_todays_form(written, types, diagnostics);
  for (const auto& [path, line] : take_space_out(value)) {
    diagnostics.add(
        line, path,
        fmt::format("is a searched setting; run the document with: stoker sweep {}, or give a single value",
                    file_name.empty() ? "DOC" : file_name));
  }
  Document document = read_document(value, types, diagnostics);
  diagnostics.refuse_if_any();
  finish_reading(document, file_name, folder);
  return document;
}

Document load_pipeline(const std::filesystem::path& path, const std::vector<std::string>& assignments,
                       const CardTypes& types) {
  Diagnostics diagnostics(path.string());
  const Value value = load_with(assignments, path, types, diagnostics);
  Document document = read_document(value, path.string(), path.parent_path(), types);
  const std::vector<std::string> notes = diagnostics.notes();
  document.notes.insert(document.notes.begin(), notes.begin(), notes.end());
  return document;
}

}  // namespace stoker
