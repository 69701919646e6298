#include "database/postgres/array_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace stoker::database {
namespace {

bool has_word(const std::string& declared, std::string_view word) {
  std::string upper;
  for (const char c : declared) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper.find(word) != std::string::npos;
}

// What is wrong with a text, for RowProblem.
struct TextProblem {
  std::string message;
};

// One array of a row, all its numbers one behind the other.
class ArrayText {
 public:
  explicit ArrayText(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {
    skip_blanks();
    if (at_ == end_ || *at_ != '[') throw TextProblem{"is not an array such as [1, 2]"};
    take_array(0);
    skip_blanks();
    if (at_ != end_) throw TextProblem{"holds more than one array"};
  }

  std::vector<std::int64_t> shape;
  std::vector<double> numbers;
  std::vector<std::int64_t> missing;  // of them

 private:
  static constexpr std::size_t most_dimensions = 8;

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }

  // The first array of each depth says how long the others are.
  void take_array(std::size_t depth) {
    if (depth == most_dimensions)
      throw TextProblem{fmt::format("is an array of more than {} dimensions", most_dimensions)};
    const bool is_first = depth == shape.size();
    if (is_first && is_deepest_known_) throw TextProblem{"holds arrays where others hold numbers"};
    if (is_first) shape.push_back(-1);
    std::int64_t count = 0;
    ++at_;
    skip_blanks();
    if (at_ != end_ && *at_ == ']') throw TextProblem{"holds an empty array"};
    for (;;) {
      skip_blanks();
      if (at_ == end_) throw TextProblem{"is cut short"};
      if (*at_ == '[') {
        take_array(depth + 1);
      } else {
        if (depth + 1 < shape.size()) throw TextProblem{"holds numbers where others hold arrays"};
        is_deepest_known_ = true;
        take_number();
      }
      ++count;
      skip_blanks();
      if (at_ == end_) throw TextProblem{"is cut short"};
      if (*at_ == ']') break;
      if (*at_ != ',') throw TextProblem{"is not an array of numbers"};
      ++at_;
    }
    ++at_;
    if (shape[depth] >= 0 && shape[depth] != count)
      throw TextProblem{fmt::format("holds arrays of {} and of {} values", shape[depth], count)};
    shape[depth] = count;
  }

  void take_number() {
    constexpr std::string_view null = "null";
    if (std::string_view(at_, end_).starts_with(null)) {
      missing.push_back(static_cast<std::int64_t>(numbers.size()));
      numbers.push_back(0);
      at_ += null.size();
      return;
    }
    double number = 0;
    const auto [rest, error] = std::from_chars(at_, end_, number);
    if (error == std::errc::result_out_of_range) {
      throw TextProblem{"holds a number that is too large or too small"};
    }
    if (error != std::errc()) throw TextProblem{"holds something else than numbers"};
    numbers.push_back(number);
    at_ = rest;
  }

  const char* at_;
  const char* end_;
  bool is_deepest_known_ = false;
};

template <class T>
void lay_numbers_of_array(const ArrayText& array, std::byte* place) {
  for (const double number : array.numbers) {
    const auto value = static_cast<T>(number);
    std::memcpy(place, &value, sizeof(T));
    place += sizeof(T);
  }
}

bool has_array(const ColumnValues& values, std::int64_t row) {
  return values.present.size() == 0 ||
         (values.present.data()[row / 8] & (std::byte{1} << static_cast<unsigned>(row % 8))) != std::byte{0};
}

std::string_view text_of_row(const ColumnValues& values, std::int64_t row) {
  std::int32_t ends[2] = {0, 0};
  std::memcpy(ends, values.values.data() + static_cast<std::size_t>(row) * sizeof(std::int32_t),
              sizeof(ends));
  return {reinterpret_cast<const char*>(values.text.data()) + ends[0],
          static_cast<std::size_t>(ends[1] - ends[0])};
}

}  // namespace

bool is_array_type(const std::string& declared) {
  return has_word(declared, "ARRAY");
}

void read_array_texts(Rows& rows, std::size_t column, const std::string& declared) {
  ColumnForm& form = rows.forms[column];
  if (form.type == ValueType::nothing) return;
  const std::string name = form.name;
  if (form.type != ValueType::text)
    throw RowProblem{0, fmt::format("column '{}' is declared as {} and holds numbers", name, declared)};
  form.type = has_word(declared, "REAL") ? ValueType::float32 : ValueType::float64;
  form.is_array = true;
  std::int64_t before = 0;
  for (Block& block : rows.blocks) {
    RowWriter writer({form});
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const ColumnValues& texts = block.columns[column];
      try {
        if (!has_array(texts, row)) {
          writer.put_missing(0);
        } else {
          const ArrayText array(text_of_row(texts, row));
          std::byte* const place = writer.place_array(0, array.shape);
          form.type == ValueType::float32 ? lay_numbers_of_array<float>(array, place)
                                          : lay_numbers_of_array<double>(array, place);
          for (const std::int64_t at : array.missing) writer.put_missing_in_array(0, at);
        }
      } catch (const TextProblem& problem) {
        throw RowProblem{before + row, fmt::format("column '{}' {}", name, problem.message)};
      } catch (const RowProblem& problem) {
        throw RowProblem{before + row, problem.message};
      }
      writer.end_row();
    }
    before += block.rows;
    std::vector<Block> made = writer.finish();
    if (!made.empty()) block.columns[column] = std::move(made.front().columns.front());
  }
}

}  // namespace stoker::database
