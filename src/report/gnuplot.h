#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker {

// A picture to be drawn: gnuplot's commands, and the data files that they name.
struct GnuplotPicture {
  std::string commands;
  std::vector<std::pair<std::string, std::string>> files;  // plain name and content
};

// Where gnuplot is, or an empty path.
std::filesystem::path find_gnuplot();

// A text from outside as a string of a gnuplot script. Between single quotes gnuplot expands nothing (no
// backquotes, no macros, no escapes); a quote is doubled, control characters become spaces, what is too long
// for a label is cut.
std::string gnuplot_text(std::string_view text);

// Draws into a PNG file of 1200 × 800, written as a whole or not at all. gnuplot runs as a child process in a
// temporary folder, without a shell and without the user's own settings. Throws with gnuplot's own words if
// it fails.
void draw(const std::filesystem::path& gnuplot, const GnuplotPicture& picture,
          const std::filesystem::path& png);

}  // namespace stoker
