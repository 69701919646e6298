#include "pipeline/run/space.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/quote.h"
#include "pipeline/card/card.h"
#include "predict/measure/metrics.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::Entry;
using config::Value;

std::optional<SearchKind> kind_named(const std::string& name) {
  const auto& names = config::names<SearchKind>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<SearchKind>(found - names.begin());
}

std::vector<std::string> kind_names() {
  return {config::names<SearchKind>.begin(), config::names<SearchKind>.end()};
}

// {gird: [1, 2]}: no setting is a map of one list under such a name.
bool is_slip_of_search(const Value::Map& map) {
  return map.size() == 1 && map.front().value.get_if<Value::List>() != nullptr &&
         !nearest_name(map.front().key, kind_names()).empty();
}

std::optional<double> number_of(const Value& value) {
  if (const auto* whole = value.get_if<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* number = value.get_if<double>(); number != nullptr && std::isfinite(*number))
    return *number;
  return std::nullopt;
}

bool is_whole(double value) {
  return std::floor(value) == value && std::abs(value) < 9007199254740992.0;  // 2^53
}

class SpaceReader {
 public:
  SpaceReader(const Value& document, const CardTypes& types, Diagnostics& diagnostics)
      : document_(document), types_(types), diagnostics_(diagnostics) {}

  std::vector<SearchedSetting> read() {
    const Value* cards = document_.find("cards");
    const auto* entries = cards == nullptr ? nullptr : cards->get_if<Value::Map>();
    if (entries == nullptr) return {};
    for (const Entry& card : *entries) {
      const Value* settings = card.value.find("config");
      if (settings == nullptr) continue;
      const Value* type = card.value.find("type");
      const auto* name = type == nullptr ? nullptr : type->get_if<std::string>();
      type_name_ = name == nullptr ? "" : *name;
      type_ = find_card_type(types_, type_name_);
      walk(*settings, {"cards", card.key, "config"});
    }
    // Candidates are numbered in this order, which must not depend on how the document is written: a sweep
    // that is resumed reads the kept one, where settings stand in another.
    std::sort(space_.begin(), space_.end(), [](const SearchedSetting& one, const SearchedSetting& other) {
      return one.parts < other.parts;
    });
    return std::move(space_);
  }

 private:
  void walk(const Value& map, const std::vector<std::string>& parts) {
    const auto* entries = map.get_if<Value::Map>();
    if (entries == nullptr) return;
    for (const Entry& entry : *entries) {
      std::vector<std::string> inner = parts;
      inner.push_back(entry.key);
      if (is_search(entry.value)) {
        add(entry, std::move(inner));
      } else {
        walk(entry.value, inner);
      }
    }
  }

  void add(const Entry& entry, std::vector<std::string> parts) {
    SearchedSetting setting;
    setting.parts = std::move(parts);
    setting.written = entry.value;
    const auto& map = *entry.value.get_if<Value::Map>();
    path_ = setting.path();
    const config::Described described = type_ == nullptr ? config::Described{} : type_->describe();
    const config::Field* field = field_of(setting, described.fields);
    if (!may_be_searched(entry, field)) return;
    if (field != nullptr) setting.changes = field->changes;
    if (map.size() != 1) {
      complain(entry.line, fmt::format("a searched setting has one key, which is one of {}; found {} keys",
                                       kinds(), map.size()));
      return;
    }
    const std::optional<SearchKind> kind = kind_named(map.front().key);
    if (!kind) {
      complain(map.front().line,
               fmt::format("{} is not a way to search{}; available: {}", config::in_quotes(map.front().key),
                           did_you_mean(map.front().key, kind_names()), kinds()));
      return;
    }
    setting.kind = *kind;
    const bool right = setting.is_list() ? read_list(map.front(), setting) : read_range(map.front(), setting);
    const std::size_t found_before = diagnostics_.found().size();
    if (right && field != nullptr) check_values(setting, *field);
    if (right && diagnostics_.found().size() == found_before) space_.push_back(std::move(setting));
  }

  // A setting inside a map (hyperparameters) has none that is known here: the check of the whole card, when
  // the rest has been read, finds what is wrong.
  static const config::Field* field_of(const SearchedSetting& setting, const config::Fields& fields) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const config::Field& field) {
      return setting.parts.size() == 4 && field.name == setting.parts.back();
    });
    return found == fields.end() ? nullptr : &*found;
  }

  bool may_be_searched(const Entry& entry, const config::Field* field) {
    if (type_ == nullptr || !can_be_searched(*type_)) {
      const bool passes_rows = type_ != nullptr && input_of_rows(*type_, Rows::passed_on) != nullptr;
      complain(
          entry.line,
          fmt::format(
              "a sweep searches the settings of cards that define or train a model ({}); this card is of "
              "type {}{}",
              join(searchable_types(), ", "), config::in_quotes(type_name_),
              passes_rows ? ", and candidates on other rows could not be compared" : ""));
      return false;
    }
    if (field != nullptr && !can_be_searched(*field)) {
      complain(entry.line, "cannot be searched: candidates that differ in it could not be compared");
      return false;
    }
    return true;
  }

  bool read_list(const Entry& entry, SearchedSetting& setting) {
    const auto* list = entry.value.get_if<Value::List>();
    if (list == nullptr || list->empty()) {
      complain(entry.line, fmt::format("{} needs a list of at least one value, found {}", entry.key,
                                       list == nullptr ? entry.value.describe() : "an empty one"));
      return false;
    }
    setting.values = *list;
    for (Value& value : setting.values)
      if (value.line() == 0) value.set_line(entry.line);
    return true;
  }

  bool read_range(const Entry& entry, SearchedSetting& setting) {
    const auto* list = entry.value.get_if<Value::List>();
    const bool two = list != nullptr && list->size() == 2 && number_of((*list)[0]) && number_of((*list)[1]);
    if (!two) {
      complain(entry.line,
               fmt::format("{} needs two finite numbers, the lowest and the highest, such as [{}]; "
                           "found {}",
                           entry.key, setting.kind == SearchKind::int_uniform ? "1, 8" : "0.001, 0.1",
                           entry.value.describe()));
      return false;
    }
    setting.low = *number_of((*list)[0]);
    setting.high = *number_of((*list)[1]);
    return check_range(entry, setting);
  }

  bool check_range(const Entry& entry, const SearchedSetting& setting) {
    if (setting.low > setting.high) {
      complain(entry.line,
               fmt::format("the lowest, {}, is above the highest, {}", setting.low, setting.high));
      return false;
    }
    if (setting.kind == SearchKind::log_uniform && setting.low <= 0) {
      complain(entry.line,
               fmt::format("the lowest of log_uniform must be above 0, found {}; use uniform", setting.low));
      return false;
    }
    if (setting.kind == SearchKind::int_uniform && (!is_whole(setting.low) || !is_whole(setting.high))) {
      complain(entry.line,
               fmt::format("int_uniform needs whole numbers, found {} and {}", setting.low, setting.high));
      return false;
    }
    if (!std::isfinite(setting.high - setting.low)) {
      complain(entry.line, "the range is too wide");
      return false;
    }
    return true;
  }

  // Whether the ends of a range of numbers would do, and what lies between them would not.
  bool takes_whole_numbers_alone(const config::Field& field, const SearchedSetting& setting) const {
    const bool is_range = setting.kind == SearchKind::uniform || setting.kind == SearchKind::log_uniform;
    if (!is_range || !is_whole(setting.low) || !is_whole(setting.high)) return false;
    Diagnostics ends(""), between("");
    for (const double end : {setting.low, setting.high})
      field.read(Value(static_cast<std::int64_t>(end), 0), path_, ends);
    for (const Value& value : setting.samples())
      if (!is_whole(*number_of(value))) field.read(value, path_, between);
    return ends.empty() && !between.empty();
  }

  void check_values(const SearchedSetting& setting, const config::Field& field) {
    if (takes_whole_numbers_alone(field, setting)) {
      complain(setting.written.line(), fmt::format("must be a whole number; use {{int_uniform: [{}, {}]}}",
                                                   setting.low, setting.high));
      return;
    }
    for (const Value& value : setting.samples()) field.read(value, path_, diagnostics_);
  }

  std::vector<std::string> searchable_types() const {
    std::vector<std::string> names;
    for (const CardType& type : types_)
      if (can_be_searched(type)) names.push_back(type.name);
    return names;
  }

  static std::string kinds() { return fmt::format("{}", fmt::join(config::names<SearchKind>, ", ")); }
  void complain(int line, std::string message) { diagnostics_.add(line, path_, std::move(message)); }

  const Value& document_;
  const CardTypes& types_;
  Diagnostics& diagnostics_;
  const CardType* type_ = nullptr;  // of the card at hand
  std::string type_name_;
  std::string path_;
  std::vector<SearchedSetting> space_;
};

void take_out_of(Value& map, const std::string& path, std::vector<std::pair<std::string, int>>& taken) {
  auto* entries = map.get_if<Value::Map>();
  if (entries == nullptr) return;
  for (auto entry = entries->begin(); entry != entries->end();) {
    const std::string inner = path + "." + config::shown(entry->key);
    if (is_search(entry->value)) {
      taken.emplace_back(inner, entry->line);
      entry = entries->erase(entry);
    } else {
      take_out_of(entry->value, inner, taken);
      ++entry;
    }
  }
}

}  // namespace

std::vector<std::string> names_of_sweep_metrics() {
  std::vector<std::string> names{loss_of_training};
  for (const Metric& each : metrics()) names.emplace_back(each.name);
  return names;
}

bool higher_is_better(const std::string& metric) {
  return metric != loss_of_training && find_metric(metric)->higher_is_better;
}

std::string SearchedSetting::path() const {
  std::vector<std::string> shown;
  for (const std::string& part : parts) shown.push_back(config::shown(part));
  return join(shown, ".");
}

std::string SearchedSetting::name() const {
  return config::shown(parts.at(1)) + "." + config::shown(parts.back());
}

std::vector<Value> SearchedSetting::samples() const {
  if (is_list()) return values;
  const int line = written.line();
  if (kind == SearchKind::int_uniform)
    return {Value(static_cast<std::int64_t>(low), line), Value(static_cast<std::int64_t>(high), line)};
  std::vector<Value> ends{Value(low, line), Value(high, line)};
  if (high > low) ends.emplace_back(low + (high - low) * 0.381966, line);
  return ends;
}

Value SearchedSetting::first() const {
  if (is_list()) return values.front();
  if (kind == SearchKind::int_uniform) return Value(static_cast<std::int64_t>(low), written.line());
  return Value(low, written.line());
}

bool can_be_searched(const CardType& type) {
  return type.spec != nullptr || type.training != nullptr;
}

bool can_be_searched(const config::Field& setting) {
  return setting.changes != config::Changes::conditions;
}

bool is_search(const Value& value) {
  const auto* map = value.get_if<Value::Map>();
  if (map == nullptr) return false;
  const bool has_kind = std::any_of(map->begin(), map->end(),
                                    [](const Entry& entry) { return kind_named(entry.key).has_value(); });
  return has_kind || is_slip_of_search(*map);
}

std::vector<SearchedSetting> read_space(const Value& document, const CardTypes& types,
                                        Diagnostics& diagnostics) {
  return SpaceReader(document, types, diagnostics).read();
}

std::vector<std::pair<std::string, int>> take_space_out(Value& document) {
  std::vector<std::pair<std::string, int>> taken;
  Value* cards = document.find("cards");
  auto* entries = cards == nullptr ? nullptr : cards->get_if<Value::Map>();
  if (entries == nullptr) return taken;
  for (Entry& card : *entries) {
    if (Value* settings = card.value.find("config"))
      take_out_of(*settings, "cards." + config::shown(card.key) + ".config", taken);
  }
  return taken;
}

std::optional<std::int64_t> combinations(const std::vector<SearchedSetting>& space) {
  std::int64_t count = 1;
  for (const SearchedSetting& setting : space) {
    if (!setting.is_list()) return std::nullopt;
    const auto size = static_cast<std::int64_t>(setting.values.size());
    if (size > most_candidates / count) return std::nullopt;
    count *= size;
  }
  return count;
}

void put(Value& document, const std::vector<std::string>& parts, Value value) {
  Value* place = &document;
  for (const std::string& part : parts) {
    place = place->find(part);
    if (place == nullptr) fail("there is no {} in the document", join(parts, "."));
  }
  *place = std::move(value);
}

}  // namespace stoker
