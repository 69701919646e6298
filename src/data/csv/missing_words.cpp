#include "data/csv/missing_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stoker {
namespace {

// In small letters. 'none' is not among them: of garages or of children it is as good a value as 1.
constexpr std::array<std::string_view, 29> words_for_missing{
    "?",    "??",      "-",     "--",     "---",     ".",      "..",      "*",       "na",           "n/a",
    "n.a.", "nan",     "null",  "(null)", "<null>",  "nil",    "\\n",     "<na>",    "nat",          "#n/a",
    "#na",  "#value!", "#ref!", "#num!",  "#div/0!", "#name?", "missing", "unknown", "not available"};
constexpr std::size_t longest_word = 13;

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

bool is_missing_word(std::string_view text) {
  const std::string_view word = without_blanks(text);
  if (word.empty() || word == "None") return true;
  if (word.size() > longest_word) return false;
  std::array<char, longest_word> small{};
  std::transform(word.begin(), word.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(words_for_missing, std::string_view(small.data(), word.size())) !=
         words_for_missing.end();
}

}  // namespace stoker
