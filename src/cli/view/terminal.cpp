#include "cli/view/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/human_number.h"
#include "base/text/text.h"

namespace stoker::cli {
namespace {

bool colours_wanted(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (term != nullptr && std::strcmp(term, "dumb") == 0) return false;
  return isatty(descriptor) != 0;
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::red:
      return "31";
    case Colour::yellow:
      return "33";
    case Colour::green:
      return "32";
    case Colour::grey:
      return "90";
    case Colour::bold:
      return "1";
  }
  return "0";
}

std::string made_printable(const Pieces& pieces, bool colours,
                           std::string (*printable_text)(std::string_view)) {
  std::string text;
  for (const Piece& piece : pieces) {
    const std::string safe = printable_text(without_hidden_values(piece.text));
    text += colours && piece.colour ? fmt::format("\033[{}m{}\033[0m", code_of(*piece.colour), safe) : safe;
  }
  return text;
}

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

bool reads_as_number(std::string_view cell) {
  const bool has_digit = cell.find_first_of("0123456789") != std::string_view::npos;
  return has_digit && cell.find_first_not_of("0123456789.,+-e %") == std::string_view::npos;
}

}  // namespace

void print_data(std::string_view data) {
  std::fwrite(data.data(), 1, data.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (errno == EPIPE) std::_Exit(static_cast<int>(ExitCode::done));
  refuse("cannot write to standard output: {}", std::strerror(errno));
}

void print(std::string_view text) {
  print_data(printable_lines(without_hidden_values(std::string(text))));
}

void print(const Pieces& text) {
  static const bool colours = colours_wanted(STDOUT_FILENO);
  print_data(made_printable(text, colours, printable_lines));
}

void print_json(const nlohmann::json& json) {
  // Text from files may not be UTF-8: what cannot be shown is replaced, never an error at the very end.
  print_data(json_without_hidden_values(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) +
             "\n");
}

void tell(std::string_view line) {
  tell(Pieces{{std::string(line)}});
}

void tell(const Pieces& line) {
  static const bool colours = colours_wanted(STDERR_FILENO);
  const std::string whole = made_printable(line, colours, printable) + "\n";
  // Nothing can be done when even this fails.
  std::fwrite(whole.data(), 1, whole.size(), stderr);
  std::fflush(stderr);
}

bool error_is_terminal() {
  static const bool is = isatty(STDERR_FILENO) != 0;
  return is;
}

bool output_is_terminal() {
  static const bool is = isatty(STDOUT_FILENO) != 0;
  return is;
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut_to_width(std::string_view text, std::size_t columns) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i]) && ++shown > columns) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

std::string aligned(std::vector<std::vector<std::string>> rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (auto& row : rows) std::transform(row.begin(), row.end(), row.begin(), printable);
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - shown_width(row[i]), ' ');
      line += reads_as_number(row[i]) ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string number(double value) {
  return human_number(value);
}

}  // namespace stoker::cli
