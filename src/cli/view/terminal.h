#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Results go to standard output, all else to standard error. Names, cells and paths come from outside and may
// hold commands to the terminal, so whatever is for people goes through printable() here.
namespace stoker::cli {

enum class Colour { red, yellow, green, grey, bold };
// In that colour where it is written to a terminal and NO_COLOR is not set.
struct Piece {
  std::string text;
  std::optional<Colour> colour = std::nullopt;
};
using Pieces = std::vector<Piece>;

// Writes text for people to standard output. A reader that has gone away is no error; a full disk is.
void print(std::string_view text);
void print(const Pieces& text);
// Writes as it is what programs read: JSON, and CSV unless standard output is a terminal.
void print_json(const nlohmann::json& json);
void print_data(std::string_view data);

// A line on standard error.
void tell(std::string_view line);
void tell(const Pieces& line);

bool error_is_terminal();
bool output_is_terminal();
// Columns of the terminal behind standard error; 80 when it does not say.
std::size_t terminal_width();
// Columns that the text takes up, for UTF-8 without wide characters.
std::size_t shown_width(std::string_view text);
// At most `columns` of it.
std::string cut_to_width(std::string_view text, std::size_t columns);

// Columns side by side, two spaces apart; cells that read as numbers are set to the right. A cell is one
// line.
std::string aligned(std::vector<std::vector<std::string>> rows, std::string_view indent = "");

// A metric or loss for people: six significant digits, "32,577.3".
std::string number(double value);

}  // namespace stoker::cli
