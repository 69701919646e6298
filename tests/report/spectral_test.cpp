#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "report/base64.h"
#include "report/cube_view.h"
#include "report/pixel_blocks.h"
#include "report/report.h"
#include "report/run_folder.h"
#include "report/spectral_pictures.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunFolder;

constexpr float no_value = std::numeric_limits<float>::quiet_NaN();

// Four lines of six pixels with three channels: x, y and 10 more where a pixel is marked.
struct SmallCube {
  std::vector<float> values;
  std::vector<std::uint8_t> mask;
  std::vector<float> scores;
  std::vector<double> wavelengths{450, 550, 650};

  SmallCube() {
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 6; ++x) {
        const bool is_marked = x >= 1 && x <= 2 && y == 1;
        values.insert(values.end(), {static_cast<float>(x), static_cast<float>(y), is_marked ? 12.0F : 2.0F});
        mask.push_back(is_marked ? 1 : 0);
        scores.push_back(is_marked ? 5.0F : static_cast<float>(x) / 10);
      }
  }
  SpectralPixels pixels() const { return {4, 6, 3, values, mask, wavelengths}; }
};

const std::string& file_of(const GnuplotPicture& picture, const std::string& name) {
  for (const auto& [each, content] : picture.files)
    if (each == name) return content;
  throw std::runtime_error("no file " + name);
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(SpectralPictures, ShowRedGreenAndBlueByTheirWavelengths) {
  const SmallCube cube;
  EXPECT_THAT(false_colour_channels(cube.pixels()), ElementsAre(2, 1, 0));
  SpectralPixels infrared = cube.pixels();
  const std::vector<double> far{1000, 1100, 1200};
  infrared.wavelengths = far;
  EXPECT_THAT(false_colour_channels(infrared), ElementsAre(2, 1, 0)) << "the last, the middle and the first";
  std::vector<double> seven{400, 450, 500, 550, 600, 650, 700};
  SpectralPixels more{1, 1, 7, {}, {}, seven};
  EXPECT_THAT(false_colour_channels(more), ElementsAre(5, 3, 1));
}

TEST(SpectralPictures, OutlineWhatIsMarked) {
  const SmallCube cube;
  const GnuplotPicture picture = false_colour_picture(cube.pixels(), "flight 'seven'");
  EXPECT_EQ(lines_of(file_of(picture, "rgb.txt")), 24U);
  EXPECT_THAT(file_of(picture, "rgb.txt"), HasSubstr("1 1 255 "));
  // Two pixels side by side have six edges, of two points and a blank line each.
  EXPECT_EQ(lines_of(file_of(picture, "outline.txt")), 18U);
  EXPECT_THAT(picture.commands, HasSubstr("'flight ''seven'''"));
  SpectralPixels unmarked = cube.pixels();
  unmarked.mask = {};
  EXPECT_THAT(false_colour_picture(unmarked, "").commands, Not(HasSubstr("outline")));
}

TEST(SpectralPictures, OfLargeCubesStayBounded) {
  const std::vector<float> values(1200 * 900, 1.0F);
  const SpectralPixels cube{1200, 900, 1, values};
  EXPECT_LE(lines_of(file_of(false_colour_picture(cube, ""), "rgb.txt")), 160'000U);
  const PixelBlocks blocks = blocks_for(1200, 900, 160'000);
  EXPECT_EQ(blocks.side, 3);
  EXPECT_EQ(blocks.height, 400);
}

TEST(SpectralPictures, OfBlocksAreMeansOfWhatIsFinite) {
  const std::vector<float> values{1, 3, no_value, 5, no_value, no_value};
  const SpectralPixels cube{2, 3, 1, values};
  const std::vector<float> means = means_of_blocks(cube, 0, {2, 1, 2});
  EXPECT_FLOAT_EQ(means[0], 3);
  EXPECT_TRUE(std::isnan(means[1]));
}

TEST(SpectralPictures, CompareTheSpectraOfMarkedPixelsWithOthers) {
  const SmallCube cube;
  const std::vector<std::int64_t> chosen{2, 99};
  const GnuplotPicture picture = spectra_picture(cube.pixels(), chosen, "spectra");
  EXPECT_THAT(picture.commands, HasSubstr("title 'marked: 2 pixels'"));
  EXPECT_THAT(picture.commands, HasSubstr("title 'not marked: 22 pixels'"));
  EXPECT_THAT(picture.commands, HasSubstr("from 650, graph 0"));
  EXPECT_THAT(picture.commands, Not(HasSubstr("set arrow 2"))) << "there is no such channel";
  EXPECT_THAT(file_of(picture, "marked.txt"), HasSubstr("650 12 12 12\n"));
  // x of 1 and 2: the mean is 1.5, the deviation √0.5.
  EXPECT_THAT(file_of(picture, "marked.txt"), HasSubstr("450 1.5 0.792893219 2.20710678\n"));
}

// scikit-learn 1.9: precision_recall_curve([0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.35, 0.8]) and
// average_precision_score of the same, 0.9166….
TEST(SpectralPictures, TellPrecisionOverRecall) {
  const std::vector<float> scores{0.1F, 0.4F, 0.35F, 0.35F, 0.8F, no_value};
  const std::vector<std::uint8_t> marks{0, 1, 1, 0, 1, 1};
  const PrecisionRecall curve = precision_recall(scores, marks);
  EXPECT_THAT(curve.precision, ElementsAre(1, 1, 0.75, 0.6));
  EXPECT_NEAR(curve.average_precision, 11.0 / 12, 1e-12);
  EXPECT_THAT(precision_recall_picture(scores, marks, "")->commands, HasSubstr("average precision 0.917"));
  EXPECT_FALSE(precision_recall_picture(scores, std::vector<std::uint8_t>(6), "").has_value());
}

TEST(SpectralPictures, AreDrawn) {
  if (find_gnuplot().empty()) GTEST_SKIP() << "no gnuplot here";
  const RunFolder run;
  SmallCube cube;
  const std::vector<float> components{0.5F, 0.5F, 0.7F, -0.7F, 0, 0.7F};
  const std::vector<float> shares{0.8F, 0.15F};
  std::vector<std::pair<std::string, GnuplotPicture>> pictures{
      {"false_colour", false_colour_picture(cube.pixels(), "false colour")},
      {"heat", heat_picture(cube.pixels(), cube.scores, "scores")},
      {"spectra", spectra_picture(cube.pixels(), std::vector<std::int64_t>{1}, "spectra")},
      {"components", components_picture(components, 3, cube.wavelengths, shares, "components")},
      {"precision", *precision_recall_picture(cube.scores, cube.mask, "precision")}};
  std::ranges::fill(cube.values, no_value);
  std::ranges::fill(cube.scores, no_value);
  pictures.emplace_back("nothing", false_colour_picture(cube.pixels(), "no value"));
  pictures.emplace_back("no_scores", heat_picture(cube.pixels(), cube.scores, "no score"));
  pictures.emplace_back("no_spectra", spectra_picture(cube.pixels(), {}, "no spectra"));
  for (const auto& [name, picture] : pictures) {
    const auto file = run.paths().plots() / (name + ".png");
    ASSERT_NO_THROW(draw(find_gnuplot(), picture, file)) << name;
    EXPECT_TRUE(read_file(file, 1U << 24).starts_with("\x89PNG")) << name;
  }
}

TEST(Base64, IsThatOfRfc4648) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_TRUE(is_base64_of("Zm8=", 2));
  EXPECT_FALSE(is_base64_of("Zm8=", 3));
  EXPECT_FALSE(is_base64_of("Z\"8=", 2));
}

TEST(CubeView, HoldsEveryNumberAsAShareOfItsChannel) {
  const std::vector<float> values{0, 5, 2, 5, no_value, 5};
  const SpectralPixels cube{1, 3, 2, values};
  const CubeView view = view_of(cube, "a");
  EXPECT_EQ(view.values, base64_of(std::string("\x01\x01\xff\x01\x00\x01", 6)));
  EXPECT_THAT(view.least, ElementsAre(0, 5));
  EXPECT_THAT(view.most, ElementsAre(2, 5));
  EXPECT_EQ(view.mask, "");
}

TEST(CubeView, OfALargeCubeIsBounded) {
  const std::vector<float> values(300 * 300 * 50, 1.0F);
  const CubeView view = view_of({300, 300, 50, values}, "large");
  EXPECT_EQ(view.channels.size(), 50U);
  EXPECT_LE(view.height * view.width * 50, 1'000'000);
  EXPECT_EQ(view.side, 3);
  const std::vector<float> deep(8 * 8 * 4000, 1.0F);
  EXPECT_LE(view_of({8, 8, 4000, deep}, "deep").channels.size(), 1000U);
}

TEST(CubeView, OfARunIsInItsReport) {
  RunFolder run;
  run.save();
  const SmallCube cube;
  write_cube_view(view_of(cube.pixels(), "<b>flight</b>"), run.paths().folder / "cubes" / "first.json");
  write_report(run.paths());
  const std::string page = run.report();
  EXPECT_THAT(page, HasSubstr("<figure data-cube=\"0\">"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;flight"));
  EXPECT_THAT(page, Not(HasSubstr("<b>flight")));
  EXPECT_THAT(page, HasSubstr("\"wavelengths\":[450.0,550.0,650.0]"));
  EXPECT_THAT(page, HasSubstr("marked pixels"));
}

TEST(CubeView, ThatIsDamagedIsRefused) {
  const RunFolder run;
  const SmallCube cube;
  const auto file = run.paths().folder / "cubes" / "first.json";
  write_cube_view(view_of(cube.pixels(), "a"), file);
  const std::string good = read_file(file, 1U << 20);
  EXPECT_NO_THROW(read_cube_view(file));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    write_file(file, bad);
    try {
      read_cube_view(file);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(refused("\"height\":4", "\"height\":5"), HasSubstr("damaged"));
  EXPECT_THAT(refused("\"height\":4", "\"height\":1000000000000"), HasSubstr("no cube"));
  EXPECT_THAT(refused("\"channels\":[0,1,2]", "\"channels\":[0,1]"), HasSubstr("3 numbers, not 2"));
  EXPECT_THAT(refused("\"channels\":[0,1,2]", "\"channels\":[0,1,\"x\"]"), HasSubstr("expected a channel"));
  EXPECT_THAT(refused("{", "<"), HasSubstr("not JSON"));
}

}  // namespace
}  // namespace stoker
