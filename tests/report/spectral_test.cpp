#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "data/cubes/cube_sight.h"
#include "report/page/base64.h"
#include "report/plot/epoch_values.h"
#include "report/plot/plotted_lines.h"
#include "report/run/contents.h"
#include "report/run/report.h"
#include "report/run_folder.h"
#include "report/spectral/cube_record.h"
#include "report/spectral/cube_view.h"
#include "report/spectral/pixel_blocks.h"
#include "report/spectral/spectral_pictures.h"

namespace stoker {
namespace {

using ::testing::AllOf;
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
  // With another pixel found, away from those that are marked.
  CubeView view(const std::string& name) const {
    std::vector<std::uint8_t> found = mask;
    found[23] = 1;
    return view_of(pixels(), scores, found, name);
  }
};

// What an evaluation has to show of it.
CubeRecord small_record() {
  const SmallCube cube;
  CubeRecord record;
  record.cubes = 40;
  record.shown = {cube.view("<b>flight</b>")};
  record.shown.front().reason = "the most marked pixels: 2";
  record.spectra = {cube.wavelengths,
                    {{"not marked", 22, {2.5, 1.5, 2}, {1, 1, 0}}, {"marked", 2, {1.5, 1, 12}, {0.7, 0, 0}}},
                    {{"selector", {2}}}};
  record.components = {{"first_pca", cube.wavelengths, {{0.5, 0.5, 0.7}, {-0.7, 0, 0.7}}, {0.8, 0.15}, 3},
                       {"second_pca", {}, {{1, 0}}, {0.9}, 1}};
  record.curve = {{0.5, 1}, {1, 0.75}, 0.875, 0.01};
  return record;
}

// As a file has it.
CubeRecord cubes_read_again(const nlohmann::json& written) {
  const nlohmann::json read = nlohmann::json::parse(written.dump());
  return cube_record_from(RecordPart(read, [] { return std::string("cubes/evaluate.json"); }));
}

void keep_record(const RunFolder& run, const CubeRecord& record, const std::string& card = "evaluate") {
  make_folder(cubes_folder(run.paths()));
  write_file(cubes_folder(run.paths()) / (card + ".json"), to_json(record).dump());
}

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
  EXPECT_THAT(false_colour_channels(cube.pixels().wavelengths, cube.pixels().channels), ElementsAre(2, 1, 0));
  SpectralPixels infrared = cube.pixels();
  const std::vector<double> far{1000, 1100, 1200};
  infrared.wavelengths = far;
  EXPECT_THAT(false_colour_channels(infrared.wavelengths, infrared.channels), ElementsAre(2, 1, 0))
      << "the last, the middle and the first";
  std::vector<double> seven{400, 450, 500, 550, 600, 650, 700};
  SpectralPixels more{1, 1, 7, {}, {}, seven};
  EXPECT_THAT(false_colour_channels(more.wavelengths, more.channels), ElementsAre(5, 3, 1));
}

TEST(SpectralPictures, OutlineWhatIsMarkedAndWhatWasFound) {
  const SmallCube cube;
  const GnuplotPicture picture = cube_picture(cube.view("flight 'seven' now"));
  EXPECT_EQ(lines_of(file_of(picture, "colours.txt")), 24U);
  EXPECT_THAT(file_of(picture, "colours.txt"), HasSubstr("1 1 255 "));
  // Two pixels side by side have six edges, of two points and a blank line each; one alone has four.
  EXPECT_EQ(lines_of(file_of(picture, "marked.txt")), 18U);
  EXPECT_EQ(lines_of(file_of(picture, "found.txt")), 18U + 12U);
  EXPECT_THAT(picture.commands, AllOf(HasSubstr("'flight ''seven'' now'"), HasSubstr("title 'found'"),
                                      HasSubstr("channels 3, 2 and 1 (650, 550 and 450 nm)")));
  const CubeView undecided = view_of(cube.pixels(), cube.scores, {}, "");
  EXPECT_THAT(cube_picture(undecided).commands, Not(HasSubstr("found")));
}

// gnuplot rejects a range of colours whose two ends are written alike.
TEST(SpectralPictures, OfScoresThatAreAllAlikeAreDrawn) {
  for (const float score : {0.0F, 0.5F, -7.25F, 3e10F, 1e-20F}) {
    const std::vector<float> scores(12, score);
    const CubeView view = view_of({3, 4, 1, scores}, scores, {}, "flat");
    std::smatch ends;
    const std::string commands = cube_picture(view).commands;
    ASSERT_TRUE(std::regex_search(commands, ends, std::regex("set cbrange \\[(\\S+):(\\S+)\\]"))) << commands;
    EXPECT_LT(std::stod(ends[1]), std::stod(ends[2])) << score;
    EXPECT_LE(std::stod(ends[1]), score);
    EXPECT_GE(std::stod(ends[2]), score);
  }
}

TEST(SpectralPictures, OfLargeCubesStayBounded) {
  const std::vector<float> values(1200 * 900, 1.0F);
  const SpectralPixels cube{1200, 900, 1, values};
  const CubeView view = view_of(cube, values, {}, "");
  EXPECT_LE(lines_of(file_of(cube_picture(view), "colours.txt")), 160'000U);
  EXPECT_EQ(view.image.side, 3);
  EXPECT_EQ(view.image.height, 400);
}

// 1 x 200 pixels, and 200 x 1.
TEST(SpectralPictures, OfOneLineAreNoSlivers) {
  const std::vector<float> values(200, 1.0F);
  const CubeView flat = view_of({1, 200, 1, values}, values, {}, "flat");
  EXPECT_THAT(cube_picture(flat).commands, HasSubstr("set size ratio -25\n"));
  // gnuplot draws nothing of a single line: it has each pixel twice, half as high.
  EXPECT_EQ(lines_of(file_of(cube_picture(flat), "colours.txt")), 400U);
  EXPECT_EQ(file_of(cube_picture(flat), "scores.bin").size(), 400 * sizeof(float));
  EXPECT_THAT(cube_picture(flat).commands, HasSubstr("array=(200,2) dx=1 dy=0.5 origin=(0,-0.25)"));
  EXPECT_THAT(cube_picture(view_of({200, 1, 1, values}, values, {}, "")).commands,
              HasSubstr("set size ratio -0.04\n"));
  EXPECT_THAT(cube_picture(SmallCube().view("")).commands, HasSubstr("set size ratio -1\n"));
  RunFolder run;
  run.save();
  CubeRecord record = small_record();
  record.shown.push_back(flat);
  keep_record(run, record);
  write_report(run.paths());
  EXPECT_THAT(run.report(), AllOf(HasSubstr("height=\"1\" data-stretch=\"25\""),
                                  HasSubstr("Pixels are drawn 25 times as high as they are wide."),
                                  HasSubstr("height=\"4\" data-stretch=\"1\"")));
}

TEST(SpectralPictures, OfBlocksAreMeansOfWhatIsFinite) {
  const std::vector<float> values{1, 3, no_value, 5, no_value, no_value};
  const SpectralPixels cube{2, 3, 1, values};
  const std::vector<std::int64_t> only{0};
  const std::vector<float> means = means_of_blocks(cube, only, {2, 1, 2});
  EXPECT_FLOAT_EQ(means[0], 3);
  EXPECT_TRUE(std::isnan(means[1]));
  // The first and the last channel of two pixels side by side.
  const std::vector<float> deep{1, 2, 3, 5, 6, 7};
  const std::vector<std::int64_t> ends{0, 2};
  EXPECT_THAT(means_of_blocks({1, 2, 3, deep}, ends, {2, 1, 1}), ElementsAre(3, 5));
}

TEST(SpectralPictures, CompareTheSpectraOfMarkedPixelsWithOthers) {
  const GnuplotPicture picture = spectra_picture(small_record().spectra, "flights");
  EXPECT_THAT(picture.commands, AllOf(HasSubstr("'marked: 2 pixels'"), HasSubstr("'not marked: 22 pixels'"),
                                      HasSubstr("from 650, graph 0"), HasSubstr("'chosen by selector'")));
  EXPECT_THAT(file_of(picture, "spectrum1.txt"), HasSubstr("450 1.5 0.8 2.2\n"));
}

TEST(SpectralPictures, HaveAPanelForEachPca) {
  const GnuplotPicture picture = components_picture(small_record().components, "flights");
  EXPECT_THAT(picture.commands, AllOf(HasSubstr("layout 2, 1"), HasSubstr("first_pca, the first 2 of 3"),
                                      HasSubstr("'1: 80.0 %'"), HasSubstr("set xlabel 'Channel'")));
  EXPECT_THAT(file_of(picture, "components0.txt"), HasSubstr("650 0.7 0.7\n"));
}

// With the names that people look for; where two cards evaluate, with theirs behind.
TEST(SpectralPictures, AreDrawnWithTheRun) {
  if (find_gnuplot().empty()) GTEST_SKIP() << "no gnuplot here";
  RunFolder run;
  run.save();
  CubeRecord record = small_record();
  SmallCube empty;
  std::ranges::fill(empty.values, no_value);
  std::ranges::fill(empty.scores, no_value);
  record.shown.push_back(empty.view("no value"));
  keep_record(run, record);
  std::vector<std::string> warnings;
  const auto drawn = [&](const std::vector<std::string>& names) {
    draw_plots(run.paths(), [&](Severity, const std::string& text) { warnings.push_back(text); });
    for (const std::string& name : names)
      EXPECT_TRUE(read_file(run.paths().plots() / name, 1U << 24).starts_with("\x89PNG")) << name;
  };
  drawn({"cube_1.png", "cube_2.png", "spectra.png", "components.png", "precision_recall.png"});
  keep_record(run, small_record(), "again");
  drawn({"cube_1-again.png", "cube_2-evaluate.png", "spectra-again.png"});
  EXPECT_THAT(warnings, ::testing::IsEmpty());
}

TEST(Base64, IsThatOfRfc4648) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_TRUE(is_base64_of("Zm8=", 2));
  EXPECT_FALSE(is_base64_of("Zm8=", 3));
  EXPECT_FALSE(is_base64_of("Z\"8=", 2));
  for (const char* each : {"", "f", "fo", "foo", "foobar"}) EXPECT_EQ(bytes_of_base64(base64_of(each)), each);
  const std::string odd("\x00\xff\x7f\x80", 4);
  EXPECT_EQ(bytes_of_base64(base64_of(odd)), odd);
}

TEST(CubeView, HoldsEveryNumberAsAShareOfItsChannel) {
  const std::vector<float> values{0, 5, 2, 5, no_value, 5};
  const std::vector<float> scores{1, 2, 3};
  const SpectralPixels cube{1, 3, 2, values};
  const CubeView view = view_of(cube, scores, {}, "a");
  EXPECT_EQ(view.values, base64_of(std::string("\x01\x01\xff\x01\x00\x01", 6)));
  EXPECT_THAT(view.least, ElementsAre(0, 5));
  EXPECT_THAT(view.most, ElementsAre(2, 5));
  EXPECT_EQ(view.mask, "");
  EXPECT_EQ(view.image.lowest, 1);
  EXPECT_NEAR(view.image.highest, 2.99, 1e-6) << "0.5 % are higher";
  EXPECT_EQ(view.image.scores, base64_of("\x01\x81\xff"));
}

TEST(CubeView, OfALargeCubeIsBounded) {
  const std::vector<float> values(300 * 300 * 50, 1.0F);
  const std::vector<float> scores(300 * 300, 1.0F);
  const CubeView view = view_of({300, 300, 50, values}, scores, {}, "large");
  EXPECT_EQ(view.channels.size(), 50U);
  EXPECT_LE(view.height * view.width * 50, 1'000'000);
  EXPECT_EQ(view.side, 3);
  const std::vector<float> deep(8 * 8 * 4000, 1.0F);
  EXPECT_LE(view_of({8, 8, 4000, deep}, std::vector<float>(64), {}, "deep").channels.size(), 1000U);
}

TEST(CubesOfARun, AreInItsReport) {
  RunFolder run;
  run.save();
  keep_record(run, small_record());
  write_report(run.paths());
  const std::string page = run.report();
  EXPECT_THAT(page, HasSubstr("1 of the 40 cubes that the model was measured on"));
  EXPECT_THAT(page, HasSubstr("<figure data-cube=\"0\">"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;flight&lt;/b&gt; · the most marked pixels: 2"));
  EXPECT_THAT(page, Not(HasSubstr("<b>flight")));
  EXPECT_THAT(page, HasSubstr("\"wavelengths\":[450.0,550.0,650.0]"));
  EXPECT_THAT(page, AllOf(HasSubstr("marked pixels"), HasSubstr("data-image=\"colours\""),
                          HasSubstr("data-image=\"scores\""), HasSubstr("what was found a cyan one")));
  // Precision over recall, spectra and two PCAs.
  EXPECT_THAT(page, HasSubstr("<figure data-kind=\"lines\" data-index=\"3\">"));
  EXPECT_THAT(page, HasSubstr("all pixels of 40 cubes: average precision 0.875"));
  EXPECT_THAT(page, HasSubstr("dashed: chosen by selector, 650 nm"));
  EXPECT_THAT(page, HasSubstr("Principal components of first_pca, the first 2 of 3"));
}

TEST(CubesOfARun, AreDrawnAlongRisingWavelengths) {
  CubeRecord record = small_record();
  record.spectra.wavelengths = {650, 450, 550};
  const PlottedLines lines = lines_of(record).at(1);
  EXPECT_THAT(lines.x, ElementsAre(450, 550, 650));
  EXPECT_THAT(lines.lines.at(1).values, ElementsAre(1, 12, 1.5));
  EXPECT_THAT(lines.marks, ElementsAre(550)) << "which the third channel has";
}

// However large the cubes are and however many cards show some.
TEST(CubesOfARun, LeaveItsReportSmall) {
  RunFolder run;
  run.save();
  const std::vector<float> values(500 * 500 * 60, 1.0F);
  const std::vector<float> scores(500 * 500, 1.0F);
  const std::vector<std::uint8_t> marks(500 * 500, 1);
  const CubeView view = view_of({500, 500, 60, values, marks}, scores, marks, "large");
  CubeRecord record = small_record();
  record.shown = {view, view, view};
  keep_record(run, record, "first");
  keep_record(run, record, "second");
  write_report(run.paths());
  const std::string page = run.report();
  EXPECT_LT(page.size(), 10'000'000U);
  EXPECT_THAT(page, HasSubstr("0 of the 40 cubes"));
  EXPECT_THAT(page, HasSubstr("3 more are among the pictures of the run"));
}

// Each of several losses, and metrics of what is held back.
TEST(ValuesOfEpochs, AreInTheReport) {
  RunFolder run;
  run.save();
  make_folder(run.paths().folder / "values");
  const auto file = run.paths().folder / "values" / "train.csv";
  write_file(file,
             "epoch,train_bce,validation_bce,validation_average_precision\n1,0.5,0.6,0.25\n2,0.4,,0.75\n");
  const EpochValues values = read_epoch_values(file.parent_path()).at(0);
  EXPECT_EQ(values.card, "train");
  EXPECT_THAT(values.epochs, ElementsAre(1, 2));
  EXPECT_TRUE(std::isnan(values.columns.at(1).at(1)));
  const std::vector<PlottedLines> lines = lines_of(values);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].lines.size(), 1U) << "bce is a loss, and no metric";
  EXPECT_THAT(lines[0].lines[0].values, ElementsAre(0.25, 0.75));
  EXPECT_EQ(lines[1].caption, "Loss bce by epoch");
  EXPECT_EQ(lines[1].lines.size(), 2U);
  EXPECT_EQ(lines[0].lines[0].of, PlottedLines::Of::validation);
  EXPECT_EQ(lines[1].lines[0].of, PlottedLines::Of::training);
  EXPECT_EQ(lines[1].lines[1].of, PlottedLines::Of::validation);
  keep_record(run, small_record());
  write_report(run.paths());
  EXPECT_THAT(run.report(), AllOf(HasSubstr("Validation metrics by epoch"),
                                  HasSubstr("<figure data-kind=\"lines\" data-index=\"5\">"),
                                  Not(HasSubstr("<figure data-kind=\"lines\" data-index=\"6\">"))));
  for (const char* wrong : {"", "1,2\n", "epoch,train_bce\n1\n", "epoch,train_bce\n1,x\n"}) {
    write_file(file, wrong);
    EXPECT_THROW(read_epoch_values(file.parent_path()), Error) << wrong;
  }
}

TEST(CubesOfARun, ReadAgainAreThoseThatWereWritten) {
  const nlohmann::json written = to_json(small_record());
  EXPECT_EQ(to_json(cubes_read_again(written)).dump(), written.dump());
}

// With a name that is no text, and a number that JSON has no word for.
TEST(CubesOfARun, ThatWereJustWrittenAreThoseOfTheirFile) {
  RunFolder run;
  run.save();
  CubeRecord record = small_record();
  record.shown.front().name = "caf\xe9";
  keep_record(run, small_record());
  nlohmann::json written = to_json(record);
  const CubeRecord known = cube_record_as_read(written, "evaluate.json");
  EXPECT_EQ(known.shown.front().name, "caf\uFFFD");
  EXPECT_EQ(known.shown.front().values, record.shown.front().values);
  const RunContents contents = read_contents(run.paths(), {{"evaluate", known}, {"gone", known}});
  ASSERT_EQ(contents.cubes.size(), 1U) << "the folder says which there are";
  EXPECT_EQ(contents.cubes.front().record.shown.front().name, "caf\uFFFD");
  written["shown"][0]["least"][0] = NAN;
  EXPECT_THROW(cube_record_as_read(written, "evaluate.json"), Error);
}

TEST(CubesOfARun, ThatAreDamagedAreRefused) {
  const nlohmann::json good = to_json(small_record());
  const auto refused = [&](const std::string& place, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(place)] = value;
    try {
      cubes_read_again(bad);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  const auto list = [](std::initializer_list<int> numbers) {
    return nlohmann::json(std::vector<int>(numbers));
  };
  EXPECT_THAT(refused("/shown/0/height", 5), HasSubstr("damaged"));
  EXPECT_THAT(refused("/shown/0/image/width", 5), HasSubstr("damaged"));
  EXPECT_THAT(refused("/shown/0/height", 1'000'000'000'000), HasSubstr("no cube"));
  EXPECT_THAT(refused("/shown/0/channels", list({0, 1})), HasSubstr("3 numbers, not 2"));
  EXPECT_THAT(refused("/shown/0/channels/2", "x"), HasSubstr("expected a channel"));
  EXPECT_THAT(refused("/shown/0/image", nullptr), HasSubstr("image is missing"));
  EXPECT_THAT(refused("/spectra/means/1/mean", list({1, 2})), HasSubstr("numbers, not"));
  EXPECT_THAT(refused("/spectra/chosen/0/channels/0", 3U), HasSubstr("there is no channel 3"));
  EXPECT_THAT(refused("/components/0/weights/1", list({1})), HasSubstr("1 numbers, not 3"));
  EXPECT_THAT(refused("/precision_recall/recall", list({1})), HasSubstr("2 numbers, not 1"));
  RunFolder run;
  run.save();
  make_folder(cubes_folder(run.paths()));
  write_file(cubes_folder(run.paths()) / "evaluate.json", "<");
  EXPECT_THROW(write_report(run.paths()), Error);
}

// Strokes of one color in an SVG picture: their widths, and where in the file they are.
std::vector<std::pair<double, std::size_t>> strokes_of(const std::string& svg, const std::string& color) {
  const std::regex stroke("stroke='" + color + "'[^>]*>|stroke=\"" + color + "\"[^>]*>");
  const std::regex width("stroke-width=['\"]([0-9.]+)");
  std::vector<std::pair<double, std::size_t>> strokes;
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), stroke); found != std::sregex_iterator();
       ++found) {
    const std::string element = found->str();
    std::smatch number;
    strokes.emplace_back(std::regex_search(element, number, width) ? std::stod(number[1]) : 1,
                         static_cast<std::size_t>(found->position()));
  }
  return strokes;
}

// A line of dashes over another of the same width hides what is below it in one place and is hidden in
// others.
TEST(SpectralPictures, ShowMarksWhereTheSamePixelsWereFound) {
  if (find_gnuplot().empty()) GTEST_SKIP() << "gnuplot is not installed";
  const SmallCube cube;
  const std::vector<std::uint8_t> found(cube.pixels().mask.begin(), cube.pixels().mask.end());
  const GnuplotPicture picture = cube_picture(view_of(cube.pixels(), cube.scores, found, "flight"));
  const TemporaryFolder folder;
  draw(find_gnuplot(), picture, folder.path() / "cube.svg");
  const std::string svg = read_file(folder.path() / "cube.svg", 16U << 20);
  const auto of_found = strokes_of(svg, "rgb\\( *34, 211, 238\\)");
  const auto of_marked = strokes_of(svg, "rgb\\(250, 204,  ?21\\)");
  ASSERT_FALSE(of_found.empty()) << svg.substr(0, 3000);
  ASSERT_FALSE(of_marked.empty());
  EXPECT_GT(of_marked.front().second, of_found.front().second) << "marks are plotted above";
  EXPECT_THAT(svg, Not(HasSubstr("stroke-dasharray")));
}

}  // namespace
}  // namespace stoker
