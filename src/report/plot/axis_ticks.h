#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Labels of an axis that do not overlap: gnuplot draws every one that it is told to, however many there are.
namespace stoker {

// DejaVu Sans as gnuplot draws it, in pixels: a font's size is in points, of which 72 make 96 pixels.
constexpr double pixels_of_font(double points) {
  return points * 4 / 3;
}
constexpr double width_of_character = 0.64;  // of digits, in the font's size; letters have less on average
constexpr double height_of_line = 1.2;

// "set xtics …" for names that stand at 0, 1, 2, … along so many pixels: as large as they have room for, on
// end where they have none side by side, and of very many every second, third, …
std::string named_x_tics(const std::vector<std::string>& names, double pixels);
std::string named_y_tics(const std::vector<std::string>& names, double pixels);

// A logarithmic axis of this range: ticks are powers of ten, or lie between them where the range holds few.
std::string logarithmic_x_axis(double low, double high);

// The largest of these fonts, in points, in which so many characters fit into a cell; 0: none.
double font_that_fits(std::size_t characters, double width, double height, const std::vector<double>& points);

}  // namespace stoker
