#include "data/csv/csv_header.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "data/csv/missing_words.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

bool is_number(const std::string& cell, NumberSpelling spelling) {
  return number_spelled(cell, spelling).has_value();
}

// Plain whole numbers that count up or down are names too: 0, 1, 2, … as pandas writes them, or years. So is
// a single one.
bool count_on(const CsvCells& cells) {
  std::vector<double> numbers;
  for (const std::string& cell : cells) {
    const auto number = number_in(cell);
    if (!number || cell.find_first_not_of("0123456789") != std::string::npos) return false;
    numbers.push_back(*number);
  }
  const auto none = [&](auto compare) {
    return std::adjacent_find(numbers.begin(), numbers.end(), compare) == numbers.end();
  };
  return none(std::greater_equal<>()) || none(std::less_equal<>());
}

// Below the first row there is nothing but numbers, some of them at least.
bool holds_numbers(const std::vector<CsvCells>& rows, std::size_t column, NumberSpelling spelling) {
  bool any = false;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    const std::string& cell = rows[row][column];
    if (is_number(cell, spelling)) {
      any = true;
    } else if (!is_missing_word(cell)) {
      return false;
    }
  }
  return any;
}

bool stands_again(const std::vector<CsvCells>& rows, std::size_t column) {
  return std::any_of(rows.begin() + 1, rows.end(),
                     [&](const CsvCells& row) { return row[column] == rows.front()[column]; });
}

// What the cells of the first row are, compared with those below them.
struct FirstRow {
  CsvCells numbers = {};     // that stand above numbers
  bool has_names = false;    // something else stands above numbers
  bool has_missing = false;  // as the name of a column would not be
  bool has_words = false;    // above words
  bool all_words_stand_again = true;
};

FirstRow look_at_first(const std::vector<CsvCells>& rows, NumberSpelling spelling) {
  FirstRow found;
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    const std::string& cell = rows.front()[column];
    if (holds_numbers(rows, column, spelling)) {
      if (is_number(cell, spelling)) {
        found.numbers.push_back(cell);
      } else if (!is_missing_word(cell)) {
        found.has_names = true;
      } else if (!cell.empty()) {
        found.has_missing = true;
      }
    } else {
      found.has_words = true;
      found.all_words_stand_again = found.all_words_stand_again && stands_again(rows, column);
    }
  }
  return found;
}

// Of a row that stands twice nobody knows whether files were put together, header and all.
bool words_are_values(const std::vector<CsvCells>& rows, const FirstRow& first) {
  return rows.front().size() > 1 && first.has_words && first.all_words_stand_again &&
         std::find(rows.begin() + 1, rows.end(), rows.front()) == rows.end();
}

}  // namespace

bool lacks_header(const std::vector<CsvCells>& rows, HeaderChoice choice, NumberSpelling spelling,
                  const Notes& notes) {
  constexpr std::size_t fewest_rows_to_compare = 3;
  if (choice != HeaderChoice::automatic) return choice == HeaderChoice::no;
  if (rows.size() < 2) return false;
  const CsvCells& first = rows.front();
  const auto note_values = [&](const char* reason) {
    notes(Severity::info, fmt::format("{}, so the columns are named c0, c1, …; set header to yes (--header "
                                      "yes) if it holds names",
                                      reason));
    return true;
  };
  const auto note_names = [&] {
    notes(Severity::info,
          "the first row holds numbers that count up or down, which are taken as the names of the columns; "
          "set header to no (--header no) if they are values");
    return false;
  };
  if (std::ranges::all_of(first, [&](const std::string& cell) { return is_number(cell, spelling); }))
    return count_on(first) ? note_names() : note_values("the first row holds nothing but numbers");
  if (rows.size() < fewest_rows_to_compare || width_of(rows) == 0) return false;
  const FirstRow found = look_at_first(rows, spelling);
  if (found.has_names) return false;
  if (words_are_values(rows, found)) return note_values("the words of the first row stand again below it");
  if (found.numbers.empty()) return false;
  return count_on(found.numbers) && !found.has_missing
             ? note_names()
             : note_values("the first row has numbers where the rows below have them");
}

}  // namespace stoker
