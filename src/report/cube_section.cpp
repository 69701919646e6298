#include <fmt/format.h>

#include "base/text.h"
#include "report/sections.h"

namespace stoker {
namespace {

// What the page's script fills in, by the number of the cube.
std::string cube_figure(const CubeView& view, std::size_t index) {
  const std::string pixels =
      view.side == 1 ? "" : fmt::format(" A pixel here is the mean of {0} x {0}.", view.side);
  return fmt::format(
      "<figure data-cube=\"{0}\">\n<figcaption><span>{1}</span></figcaption>\n"
      "<label class=\"moments\">Band <input type=\"range\" min=\"0\" max=\"{2}\" value=\"{3}\" step=\"1\"> "
      "<output></output></label>\n{4}<div class=\"cube\">\n<canvas width=\"{5}\" height=\"{6}\" role=\"img\" "
      "aria-label=\"One band of the cube\" tabindex=\"0\"></canvas>\n"
      "<svg viewBox=\"0 0 600 400\" role=\"img\" aria-label=\"Spectrum of a pixel\"></svg>\n</div>\n"
      "<p class=\"hint\">Point at the image for the spectrum of a pixel, or move over it with the arrow "
      "keys. "
      "Black and white are where 2 % of the band's values are lower and higher.{7}</p>\n</figure>\n",
      index, html_escaped(view.name), view.channels.size() - 1, view.channels.size() / 2,
      view.mask.empty() ? ""
                        : "<label class=\"marks\"><input type=\"checkbox\" checked> marked pixels</label>\n",
      view.width, view.height, pixels);
}

}  // namespace

std::string cubes_section(const RunContents& contents) {
  std::string parts;
  for (std::size_t i = 0; i < contents.cubes.size(); ++i) parts += cube_figure(contents.cubes[i], i);
  return parts.empty() ? "" : fmt::format("<section>\n<h2>Cubes</h2>\n{}</section>\n", parts);
}

}  // namespace stoker
