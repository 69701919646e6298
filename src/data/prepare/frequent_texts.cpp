#include "data/prepare/frequent_texts.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "data/table/column_values.h"

namespace stoker {
namespace {

constexpr std::size_t longest_kept_text = 1'000;

// Of a long text its beginning and a number that stands for all of it: longer than any text that is kept
// whole, and cut to its beginning where it is shown.
std::string_view kept_form(std::string_view text, std::string& room) {
  if (text.size() <= longest_kept_text) return text;
  room = fmt::format("{}{:016x}", text.substr(0, longest_kept_text), std::hash<std::string_view>()(text));
  return room;
}

}  // namespace

void FrequentTexts::count(std::string_view text) {
  std::string long_form;
  text = kept_form(text, long_form);
  if (const auto found = counts_.find(text); found != counts_.end()) {
    ++found->second;
  } else if (counts_.size() < most_) {
    counts_.emplace(text, 1);
  } else {
    forget_one_of_each();
  }
}

void FrequentTexts::forget_one_of_each() {
  has_forgotten_ = true;
  for (auto each = counts_.begin(); each != counts_.end();)
    each = --each->second == 0 ? counts_.erase(each) : std::next(each);
}

void FrequentTexts::begin_again() {
  for (auto& [text, rows] : counts_) rows = 0;
}

void FrequentTexts::count_again(std::string_view text) {
  std::string long_form;
  const auto found = counts_.find(kept_form(text, long_form));
  if (found != counts_.end()) ++found->second;
}

std::vector<std::pair<std::string, std::int64_t>> FrequentTexts::first(std::size_t number) const {
  std::vector<std::pair<std::string_view, std::int64_t>> all(counts_.begin(), counts_.end());
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), number));
  std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::pair<std::string, std::int64_t>> result;
  for (auto each = all.begin(); each != end; ++each)
    result.emplace_back(shortened(each->first), each->second);
  return result;
}

}  // namespace stoker
