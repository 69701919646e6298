#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Results go to standard output, all else to standard error.
namespace stoker::cli {

// Writes to standard output. A reader that has gone away is no error; a full disk is.
void print(std::string_view text);
void print_json(const nlohmann::json& json);

// A line on standard error.
void tell(std::string_view line);

enum class Colour { red, yellow, green, grey, bold };
// The text in that colour where standard error (or output) is a terminal and NO_COLOR is not set.
std::string coloured_error(Colour colour, std::string_view text);
std::string coloured_output(Colour colour, std::string_view text);

bool error_is_terminal();
// Columns of the terminal behind standard error; 80 when it does not say.
std::size_t terminal_width();
// Columns that the text takes up, for UTF-8 without wide characters.
std::size_t shown_width(std::string_view text);
// At most `columns` of it.
std::string cut_to_width(std::string_view text, std::size_t columns);

// Columns side by side, two spaces apart; cells that read as numbers are set to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::string_view indent = "");

// "1 row", "50,000 rows".
std::string counted(std::uint64_t count, std::string_view noun);

// A metric or loss for people: six significant digits.
std::string number(double value);

}  // namespace stoker::cli
