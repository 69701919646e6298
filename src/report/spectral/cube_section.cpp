#include <fmt/format.h>

#include "base/text/text.h"
#include "report/plot/plotted_lines.h"
#include "report/run/sections.h"
#include "report/spectral/spectral_pictures.h"

namespace stoker {
namespace {

std::string words_of_edges(const CubeImage& image) {
  if (image.actual.empty()) return image.found.empty() ? "" : "; what was found has a cyan edge";
  return image.found.empty() ? "; what is marked has a yellow edge"
                             : "; what is marked has a yellow edge, what was found a cyan one";
}

// What the page's script fills in, by the number of the cube.
std::string images_of(const CubeView& view) {
  const CubeImage& image = view.image;
  const auto canvas = [&](const char* kind, const char* label) {
    return fmt::format(
        "<canvas data-image=\"{}\" width=\"{}\" height=\"{}\" data-stretch=\"{:.9g}\" role=\"img\" "
        "aria-label=\"{}\"></canvas>\n",
        kind, image.width, image.height, stretch_of_pixels(image.height, image.width), label);
  };
  return fmt::format(
      "<div class=\"cube\">\n{}{}</div>\n<p class=\"hint\">Left: {} as red, green and blue{}. Right: "
      "scores, dark at {:.4g} and bright at {:.4g}, which 0.5 % exceed.</p>\n",
      canvas("colours", "The cube in false colours"), canvas("scores", "Scores of the pixels"),
      words_of_colours(view), words_of_edges(image), image.lowest, image.highest);
}

std::string words_of_stretch(const CubeView& view) {
  const double stretch = stretch_of_pixels(view.height, view.width);
  if (stretch == 1) return "";
  return stretch > 1 ? fmt::format(" Pixels are drawn {:.3g} times as high as they are wide.", stretch)
                     : fmt::format(" Pixels are drawn {:.3g} times as wide as they are high.", 1 / stretch);
}

std::string cube_figure(const CubeView& view, std::size_t index) {
  const std::string pixels =
      view.side == 1 ? "" : fmt::format(" A pixel here is the mean of {0} x {0}.", view.side);
  return fmt::format(
      "<figure data-cube=\"{0}\">\n<figcaption><span>{1}{2}</span></figcaption>\n{3}"
      "<label class=\"moments\">Band <input type=\"range\" min=\"0\" max=\"{4}\" value=\"{5}\" step=\"1\"> "
      "<output></output></label>\n{6}<div class=\"cube\">\n<canvas data-image=\"band\" width=\"{7}\" "
      "height=\"{8}\" data-stretch=\"{10:.9g}\" role=\"img\" aria-label=\"One band of the cube\" "
      "tabindex=\"0\"></canvas>\n"
      "<svg viewBox=\"0 0 600 400\" role=\"img\" aria-label=\"Spectrum of a pixel\"></svg>\n</div>\n"
      "<p class=\"hint\">Point at the image for the spectrum of a pixel, or move over it with the arrow "
      "keys. "
      "Black and white are where 2 % of the band's values are lower and higher.{9}</p>\n</figure>\n",
      index, html_escaped(view.name), view.reason.empty() ? "" : " · " + html_escaped(view.reason),
      images_of(view), view.channels.size() - 1, view.channels.size() / 2,
      view.mask.empty() ? ""
                        : "<label class=\"marks\"><input type=\"checkbox\" checked> marked pixels</label>\n",
      view.width, view.height, pixels + words_of_stretch(view), stretch_of_pixels(view.height, view.width));
}

// Why there are these and no others.
std::string words_of_choice(const CubeRecord& record, std::size_t here) {
  const bool has_masks = !record.shown.empty() && !record.shown.front().mask.empty();
  std::string words = fmt::format(
      "Shown {} {} of the {} that the model was {}, and the first, which may be one and the same.",
      here == 1 ? "is" : "are", here, counted(static_cast<std::uint64_t>(record.cubes), "cube"),
      has_masks ? "measured on: the one with the most marked pixels, the one with the most wrong pixels"
                : "run over (there are no masks to measure it by): the one in which most was found, the one "
                  "with the highest score");
  if (here < record.shown.size())
    words += fmt::format(" {} more are among the pictures of the run (plots/).", record.shown.size() - here);
  return fmt::format("<p class=\"hint\">{}</p>\n", words);
}

}  // namespace

std::string cubes_section(const RunContents& contents) {
  std::string parts;
  std::size_t view = 0;
  std::size_t plot = 0;  // those of epochs come before
  for (const EpochValues& each : contents.values) plot += lines_of(each).size();
  const std::size_t views = views_of_page(contents).size();
  for (const CardCubes& each : contents.cubes) {
    const std::size_t here = std::min(views - view, each.record.shown.size());
    if (contents.cubes.size() > 1) parts += fmt::format("<h3>{}</h3>\n", html_escaped(each.card));
    parts += words_of_choice(each.record, here);
    for (std::size_t i = 0; i < here; ++i, ++view) parts += cube_figure(each.record.shown[i], view);
    std::string plots;
    for (const PlottedLines& lines : lines_of(each.record))
      plots += figure("lines", plot++, html_escaped(lines.caption), "");
    if (!plots.empty()) parts += "<div class=\"plots\">\n" + plots + "</div>\n";
  }
  return parts.empty() ? "" : fmt::format("<section>\n<h2>Cubes</h2>\n{}</section>\n", parts);
}

}  // namespace stoker
