#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/notes.h"

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
constexpr std::size_t longest_label = 60;  // characters
// What stands along an axis has the length of that alone.
constexpr std::size_t longest_axis_label = 40;
std::string gnuplot_text(std::string_view text, std::size_t longest = longest_label);
// Of text that need not be UTF-8, as gnuplot_text() takes it.
std::size_t characters_in(std::string_view text);
std::size_t bytes_of_character(std::string_view text);  // of the first

// Draws into a PNG file of 1200 × 800, or an SVG file of the same layout if its name ends so, written as a
// whole or not at all. gnuplot runs as a child process in a temporary folder, without a shell and without the
// user's own settings. Throws with gnuplot's own words if it fails.
void draw(const std::filesystem::path& gnuplot, const GnuplotPicture& picture,
          const std::filesystem::path& file);

// Draws the pictures of one folder, with as many processes as there are cores. One that cannot be drawn or
// written costs a warning, not the run; several for the same reason cost one.
class Drawer {
 public:
  Drawer(std::filesystem::path gnuplot, std::filesystem::path folder, Notes notes)
      : gnuplot_(std::move(gnuplot)), folder_(std::move(folder)), notes_(std::move(notes)) {}
  void draw(GnuplotPicture picture, std::string name) {
    pictures_.emplace_back(std::move(name), std::move(picture));
  }
  // Nothing is drawn before.
  void finish();

 private:
  std::filesystem::path gnuplot_;
  std::filesystem::path folder_;
  Notes notes_;
  std::vector<std::pair<std::string, GnuplotPicture>> pictures_;
};

}  // namespace stoker
