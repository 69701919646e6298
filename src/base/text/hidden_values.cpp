#include "base/text/hidden_values.h"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cctype>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker {
namespace {

// A message may show a long value cut off. This many of its characters in a row are hidden too.
constexpr std::size_t bytes_of_window = 12;
// Shorter parts of a value are often ordinary words, such as the name of a folder.
constexpr std::size_t shortest_part = 8;

struct HiddenForm {
  std::string name;
  std::string text;  // in lower case
};

// All runs of so many characters in a long value. Most text is passed over by its first two.
struct HiddenWindows {
  std::bitset<65'536> starts;
  std::unordered_set<std::string> texts;

  static std::size_t start_of(const std::string& text, std::size_t at) {
    constexpr std::size_t values_of_byte = 256;
    return static_cast<unsigned char>(text[at]) * values_of_byte + static_cast<unsigned char>(text[at + 1]);
  }
  void add(const std::string& text, std::size_t at) {
    starts.set(start_of(text, at));
    texts.insert(text.substr(at, bytes_of_window));
  }
  bool has(const std::string& text, std::size_t at) const {
    return at + bytes_of_window <= text.size() && starts.test(start_of(text, at)) &&
           texts.contains(text.substr(at, bytes_of_window));
  }
};

struct HiddenForms {
  std::map<std::string, std::string> values;     // by name and value, as they were given
  std::vector<HiddenForm> forms;                 // the longest first
  std::map<std::string, HiddenWindows> windows;  // by name
};

std::mutex& mutex_of_forms() {
  static std::mutex mutex;
  return mutex;
}

std::shared_ptr<const HiddenForms>& shared_forms() {
  static std::shared_ptr<const HiddenForms> forms = std::make_shared<const HiddenForms>();
  return forms;
}

std::atomic<bool> has_hidden_forms = false;

std::shared_ptr<const HiddenForms> forms_now() {
  const std::lock_guard lock(mutex_of_forms());
  return shared_forms();
}

// ---- Spellings of a value

bool is_unreserved(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
}

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    encoded += is_unreserved(byte) ? std::string(1, each) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

std::string percent_decoded_value(const std::string& text) {
  constexpr int hexadecimal = 16;
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_code = text[at] == '%' && at + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(text[at + 1])) != 0 &&
                         std::isxdigit(static_cast<unsigned char>(text[at + 2])) != 0;
    if (!is_code) {
      decoded += text[at];
      continue;
    }
    decoded += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, hexadecimal));
    at += 2;
  }
  return decoded;
}

std::string with_backslashes(const std::string& text) {
  std::string escaped;
  for (const char each : text) {
    if (each == '"' || each == '\\') escaped += '\\';
    escaped += each;
  }
  return escaped;
}

// ---- Parts of a value

bool is_address_value(const std::string& value) {
  return value.find("://") != std::string::npos;
}

// "anna:PASSWORD@host", or keywords and values such as "password=PASSWORD".
std::vector<std::string> passwords_in(const std::string& value) {
  std::vector<std::string> found;
  const std::size_t begin = is_address_value(value) ? value.find("://") + 3 : value.size();
  const std::string authority = value.substr(begin, value.find_first_of("/?#", begin) - begin);
  const std::size_t colon = authority.find(':');
  const std::size_t at = authority.rfind('@');
  if (at != std::string::npos && colon < at) found.push_back(authority.substr(colon + 1, at - colon - 1));
  for (std::size_t place = value.find("password="); place != std::string::npos;
       place = value.find("password=", place + 1)) {
    const std::size_t first = value.find_first_not_of("'\"", place + std::string_view("password=").size());
    if (first != std::string::npos)
      found.push_back(value.substr(first, value.find_first_of(" &'\"", first) - first));
  }
  return found;
}

// The values in the query of an address.
std::vector<std::string> query_values_in(const std::string& value) {
  std::vector<std::string> found;
  const std::size_t begin = value.find('?');
  if (begin == std::string::npos) return found;
  for (const std::string& pair : split_text(value.substr(begin + 1), '&')) {
    const std::size_t equals = pair.find('=');
    if (equals != std::string::npos) found.push_back(pair.substr(equals + 1));
  }
  return found;
}

bool is_word(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// Readers take a value apart where it becomes part of an address: they show its host, or its file.
std::vector<std::string> telling_parts_of(const std::string& value) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find_first_of("/?#&=:@ '\"", begin), value.size());
    std::string part = value.substr(begin, end - begin);
    if (part.size() >= shortest_part && !is_word(part)) parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> hidden_parts_of(const std::string& value) {
  std::vector<std::string> parts{value};
  const auto add = [&](std::vector<std::string> more) { std::ranges::move(more, std::back_inserter(parts)); };
  add(passwords_in(value));
  if (is_address_value(value)) {
    add(query_values_in(value));
    const std::size_t path = value.find('/', value.find("://") + 3);
    if (path != std::string::npos) add(telling_parts_of(value.substr(path)));
  } else {
    add(telling_parts_of(value));
  }
  return parts;
}

void add_forms(HiddenForms& hidden, const std::string& name, const std::string& part) {
  for (const std::string& spelling : {part, percent_encoded(part), percent_decoded_value(part),
                                      with_backslashes(part), html_escaped(part), printable(part)}) {
    const std::string text = lower_case(spelling);
    const bool is_known =
        std::ranges::any_of(hidden.forms, [&](const HiddenForm& each) { return each.text == text; });
    if (text.size() >= shortest_hidden_value && !is_known) hidden.forms.push_back({name, text});
  }
}

// ---- Places of hidden values in a text

struct HiddenPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string name;
};
using HiddenPlaces = std::map<std::size_t, HiddenPlace>;  // by their begin; they do not overlap

bool is_free(const HiddenPlaces& places, std::size_t begin, std::size_t end) {
  const auto after = places.lower_bound(end);
  return after == places.begin() || std::prev(after)->second.end <= begin;
}

void find_forms(const HiddenForms& hidden, const std::string& lower, HiddenPlaces& places) {
  for (const HiddenForm& form : hidden.forms) {
    for (std::size_t at = lower.find(form.text); at != std::string::npos;
         at = lower.find(form.text, at + 1)) {
      const std::size_t end = at + form.text.size();
      if (is_free(places, at, end)) places[at] = {at, end, form.name};
    }
  }
}

void find_windows(const HiddenForms& hidden, const std::string& lower, HiddenPlaces& places) {
  for (const auto& [name, windows] : hidden.windows) {
    for (std::size_t at = 0; at + bytes_of_window <= lower.size();) {
      std::size_t end = at;
      while (windows.has(lower, end)) ++end;
      if (end == at) {
        ++at;
        continue;
      }
      end += bytes_of_window - 1;
      if (is_free(places, at, end)) places[at] = {at, end, name};
      at = end;
    }
  }
}

HiddenPlaces places_in(const std::string& text) {
  HiddenPlaces places;
  const std::shared_ptr<const HiddenForms> hidden = forms_now();
  const std::string lower = lower_case(text);
  find_forms(*hidden, lower, places);
  find_windows(*hidden, lower, places);
  return places;
}

std::string with_names_at(const std::string& text, const HiddenPlaces& places) {
  std::string shown;
  std::size_t done = 0;
  for (const auto& [begin, place] : places) {
    shown.append(text, done, begin - done).append("${" + place.name + "}");
    done = place.end;
  }
  return shown.append(text, done);
}

// Keys such as "source" are names of Stoker's own.
bool is_own_key(const std::string& json, std::size_t begin, std::size_t end, const HiddenPlace& place) {
  const std::size_t next = json.find_first_not_of(" \t\r\n", end + 1);
  const bool is_key = next != std::string::npos && json[next] == ':';
  return is_key && place.begin == begin && place.end == end && is_word(json.substr(begin, end - begin));
}

bool is_escaped(const std::string& json, std::size_t begin, std::size_t at) {
  std::size_t backslashes = 0;
  while (at - backslashes > begin && json[at - backslashes - 1] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

// A place that begins or ends within an escape, such as that of a line break, takes or leaves all of it.
HiddenPlace beside_escapes(const std::string& json, HiddenPlace place, std::size_t begin, std::size_t end) {
  if (is_escaped(json, begin, place.begin)) ++place.begin;
  if (place.end < end && is_escaped(json, begin, place.end)) ++place.end;
  return place;
}

// Those that are inside of one string.
HiddenPlaces places_in_strings(const std::string& json, const HiddenPlaces& places) {
  HiddenPlaces inside;
  for (std::size_t quote = json.find('"'); quote != std::string::npos; quote = json.find('"', quote + 1)) {
    const std::size_t begin = quote + 1;
    for (quote = begin; quote < json.size() && json[quote] != '"'; ++quote)
      if (json[quote] == '\\') ++quote;
    for (auto each = places.lower_bound(begin); each != places.end() && each->second.end <= quote; ++each)
      if (!is_own_key(json, begin, quote, each->second)) {
        HiddenPlace place = beside_escapes(json, each->second, begin, quote);
        inside.emplace(place.begin, std::move(place));
      }
    if (quote >= json.size()) break;
  }
  return inside;
}

}  // namespace

void hide_value(const std::string& name, const std::string& value) {
  if (value.size() < shortest_hidden_value) return;
  const std::lock_guard lock(mutex_of_forms());
  const auto known = shared_forms()->values.find(name);
  if (known != shared_forms()->values.end() && known->second == value) return;
  auto hidden = std::make_shared<HiddenForms>(*shared_forms());
  hidden->values[name] = value;
  for (const std::string& part : hidden_parts_of(value)) add_forms(*hidden, name, part);
  std::ranges::stable_sort(hidden->forms, std::ranges::greater(),
                           [](const HiddenForm& each) { return each.text.size(); });
  // Any two addresses have parts in common, such as "postgresql://".
  if (!is_address_value(value)) {
    const std::string lower = lower_case(value);
    for (std::size_t at = 0; at + bytes_of_window <= lower.size(); ++at) hidden->windows[name].add(lower, at);
  }
  shared_forms() = std::move(hidden);
  has_hidden_forms = true;
}

std::string without_hidden_values(std::string text) {
  if (!has_hidden_forms) return text;
  const HiddenPlaces places = places_in(text);
  return places.empty() ? text : with_names_at(text, places);
}

std::string json_without_hidden_values(std::string text) {
  if (!has_hidden_forms) return text;
  const HiddenPlaces places = places_in(text);
  if (places.empty()) return text;
  return with_names_at(text, places_in_strings(text, places));
}

}  // namespace stoker
