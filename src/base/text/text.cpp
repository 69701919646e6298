#include "base/text/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <numeric>
#include <set>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/time.h>

namespace stoker {
namespace {

// Edits (insert, delete, replace, swap of neighbours) between two names, case aside.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// A character of UTF-8 at the start of `text`.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

Character character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
  char32_t code = byte(0) & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[bytes] || code > 0x10ffff || is_surrogate) return {};
  return {code, bytes};
}

// Control characters, and those that change the direction or the lines of the text around them.
bool commands_a_terminal(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string spelt_out(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  const auto number = static_cast<std::uint32_t>(code);
  return code < 0x100 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

std::string spelt_out_but(std::string_view text, std::string_view kept) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character next = character_at(text);
    if (next.bytes == 0) {
      result += spelt_out(static_cast<unsigned char>(text.front()));
    } else if (commands_a_terminal(next.code) && kept.find(text.front()) == std::string_view::npos) {
      result += spelt_out(next.code);
    } else {
      result += text.substr(0, next.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, next.bytes));
  }
  return result;
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 200;  // nobody mistypes a longer one, and the table is quadratic
  if (name.empty() || name.size() > longest) return "";
  std::string best;
  // One slip in a short name, two in a word, more in long ones.
  const std::size_t slips = name.size() < 4 ? 1 : std::max<std::size_t>(2, name.size() / 3);
  std::size_t best_distance = slips + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

namespace {

// "num_experts" has the word "expert": plurals, and words that only say that something is counted, do not
// matter.
std::set<std::string> meaningful_words(std::string_view name) {
  static const std::set<std::string> counting{"count", "n", "no", "nr", "num", "number", "of", "the"};
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    constexpr std::size_t shortest_plural = 4;
    if (word.size() >= shortest_plural && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
    if (!word.empty() && !counting.contains(word)) words.insert(word);
    word.clear();
  };
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else {
      finish();
    }
  }
  finish();
  return words;
}

// The candidate all of whose words the name has, or that has all words of the name, with the fewest words
// beside them; of several the first. "": there is none.
std::string nearest_by_words(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 200;
  constexpr std::size_t most_other_words = 2;
  if (name.size() > longest) return "";
  const std::set<std::string> given = meaningful_words(name);
  std::string best;
  std::size_t fewest = most_other_words + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::set<std::string> words = meaningful_words(candidate);
    if (given.empty() || words.empty()) continue;
    if (!std::ranges::includes(given, words) && !std::ranges::includes(words, given)) continue;
    const std::size_t others = std::max(given.size(), words.size()) - std::min(given.size(), words.size());
    if (others >= fewest) continue;
    best = candidate;
    fewest = others;
  }
  return best;
}

}  // namespace

// A name with the same words is more likely to be meant than one that is spelled alike: "gpu" is not a slip
// of "cpu" where there is "single_gpu". But one wrong letter in a long name is a slip.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t long_name = 8;
  const std::string spelled_alike = nearest_name(name, candidates);
  const bool is_slip =
      name.size() >= long_name && !spelled_alike.empty() && edit_distance(name, spelled_alike) == 1;
  std::string nearest = is_slip ? spelled_alike : nearest_by_words(name, candidates);
  if (nearest.empty()) nearest = spelled_alike;
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, start)) {
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.emplace_back(text.substr(start));
  return parts;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string printable(std::string_view text) {
  return spelt_out_but(text, "");
}

std::string printable_lines(std::string_view text) {
  return spelt_out_but(text, "\n");
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", human_count(count), noun, count == 1 ? "" : "s");
}

std::string time_stamp_for_names() {
  return fmt::format("{:%Y-%m-%d_%H-%M-%S}", fmt::localtime(std::time(nullptr)));
}

std::string time_stamp_utc() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(now.tv_sec), now.tv_usec / 1000);
}

std::string moment_utc(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace stoker
