#include "data/csv/number_spelling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <arrow/array/builder_primitive.h>
#include <arrow/chunked_array.h>

#include "data/csv/missing_words.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

constexpr std::size_t longest_spelling = 64;
constexpr double whole_numbers_end = 9007199254740992.0;  // 2^53

struct Lookalike {
  std::string_view character;
  char plain;
};
constexpr std::array<Lookalike, 4> lookalikes{{{"\xc2\xa0", ' '},         // no-break space
                                               {"\xe2\x80\xaf", ' '},     // narrow no-break space
                                               {"\xe2\x80\x89", ' '},     // thin space
                                               {"\xe2\x80\x99", '\''}}};  // right single quotation mark

bool is_numeral(char c) {
  return c >= '0' && c <= '9';
}

// Without blanks around it, in ASCII; none for what is too long for a number or begins like none.
std::optional<std::string> plain_spelling(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos || text.size() - begin > longest_spelling) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  if (!is_numeral(text.front()) && std::string_view("+-.,").find(text.front()) == std::string_view::npos)
    return std::nullopt;
  std::string plain;
  while (!text.empty()) {
    const auto found = std::find_if(lookalikes.begin(), lookalikes.end(),
                                    [&](const Lookalike& each) { return text.starts_with(each.character); });
    plain += found == lookalikes.end() ? text.front() : found->plain;
    text.remove_prefix(found == lookalikes.end() ? 1 : found->character.size());
  }
  return plain;
}

// The digits and what stands between them: without the sign and the exponent.
std::string_view mantissa_of(std::string_view plain) {
  if (plain.starts_with('+') || plain.starts_with('-')) plain.remove_prefix(1);
  const std::size_t exponent = plain.find_first_of("eE");
  if (exponent == std::string_view::npos) return plain;
  std::string_view power = plain.substr(exponent + 1);
  if (power.starts_with('+') || power.starts_with('-')) power.remove_prefix(1);
  if (power.empty() || !std::all_of(power.begin(), power.end(), is_numeral)) return {};
  return plain.substr(0, exponent);
}

// 1, 12 or 123, then groups of three; 0,123 has a point and no thousands.
bool is_grouped(std::string_view whole, char group) {
  const std::size_t first = std::min(whole.find(group), whole.size());
  if (first == 0 || first > 3 || (whole.front() == '0' && first < whole.size())) return false;
  if ((whole.size() - first) % 4 != 0) return false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool is_separator = i >= first && (i - first) % 4 == 0;
    if (is_separator ? whole[i] != group : !is_numeral(whole[i])) return false;
  }
  return true;
}

std::optional<Separators> of_one_kind(std::string_view digits, char separator, std::size_t times) {
  const bool grouped = is_grouped(digits, separator);
  if (times > 1 || separator == ' ' || separator == '\'')
    return grouped ? std::optional(Separators{'\0', separator, '\0'}) : std::nullopt;
  return grouped ? Separators{'\0', '\0', separator} : Separators{separator, '\0', '\0'};
}

}  // namespace

std::optional<Separators> separators_in(std::string_view text) {
  const auto plain = plain_spelling(text);
  if (!plain) return std::nullopt;
  const std::string_view digits = mantissa_of(*plain);
  if (std::none_of(digits.begin(), digits.end(), is_numeral)) return std::nullopt;
  if (digits.find_first_not_of("0123456789,.' ") != std::string_view::npos) return std::nullopt;
  std::string kinds;
  std::size_t times = 0;
  for (const char c : digits) {
    if (is_numeral(c)) continue;
    ++times;
    if (kinds.find(c) == std::string::npos) kinds += c;
  }
  if (kinds.empty()) return Separators{};
  if (kinds.size() == 1) return of_one_kind(digits, kinds.front(), times);
  const std::size_t point = digits.find_last_not_of("0123456789");
  const char group = kinds.front();
  if (kinds.size() > 2 || (digits[point] != '.' && digits[point] != ',') || digits[point] == group ||
      digits.find(digits[point]) != point || !is_grouped(digits.substr(0, point), group))
    return std::nullopt;
  return Separators{digits[point], group, '\0'};
}

std::optional<double> number_spelled(std::string_view text, NumberSpelling spelling) {
  if (spelling.is_plain()) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(begin);
    const bool begins_like_one =
        !text.empty() &&
        (is_numeral(text.front()) || std::string_view("+-.").find(text.front()) != std::string_view::npos);
    if (!begins_like_one) return std::nullopt;
    return number_in(text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text);
  }
  auto plain = plain_spelling(text);
  if (!plain) return std::nullopt;
  const std::string_view digits = mantissa_of(*plain);
  if (digits.empty()) return std::nullopt;
  const std::string_view whole = digits.substr(0, digits.find(spelling.point));
  const bool has_groups = spelling.group != '\0' && whole.find(spelling.group) != std::string_view::npos;
  if (has_groups && !is_grouped(whole, spelling.group)) return std::nullopt;
  if (spelling.point != '.' && !has_groups && digits.find('.') != std::string_view::npos) return std::nullopt;
  if (has_groups) {
    const auto first = plain->begin() + (digits.data() - plain->data());
    const auto last = first + static_cast<std::ptrdiff_t>(whole.size());
    plain->erase(std::remove(first, last, spelling.group), last);
  }
  const std::size_t point = plain->find(spelling.point);
  if (point != std::string::npos) (*plain)[point] = '.';
  return number_in(plain->starts_with('+') ? std::string_view(*plain).substr(1) : std::string_view(*plain));
}

std::shared_ptr<arrow::ChunkedArray> as_spelled_numbers(const std::shared_ptr<arrow::ChunkedArray>& texts,
                                                        NumberSpelling spelling, bool words_may_be_missing) {
  const TextValues values = read_texts(texts);
  std::vector<double> numbers(values.values.size());
  std::vector<bool> present(values.values.size());
  bool whole = true;
  bool any = false;
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const std::string_view text = values.values[row];
    if (values.missing[row] != 0 || text.find_first_not_of(" \t") == std::string_view::npos) continue;
    const auto number = number_spelled(text, spelling);
    if (!number && words_may_be_missing && is_missing_word(text)) continue;
    if (!number) return nullptr;
    numbers[row] = *number;
    present[row] = any = true;
    whole = whole && text.find(spelling.point) == std::string_view::npos && *number == std::trunc(*number) &&
            std::abs(*number) < whole_numbers_end;
  }
  if (!any) return nullptr;
  const auto finish = [&](auto builder, auto as_value) {
    for (std::size_t row = 0; row < numbers.size(); ++row)
      or_fail(present[row] ? builder.Append(as_value(numbers[row])) : builder.AppendNull(),
              "reading numbers");
    return std::make_shared<arrow::ChunkedArray>(or_fail(builder.Finish(), "reading numbers"));
  };
  if (whole)
    return finish(arrow::Int64Builder(), [](double number) { return static_cast<std::int64_t>(number); });
  return finish(arrow::DoubleBuilder(), [](double number) { return number; });
}

}  // namespace stoker
