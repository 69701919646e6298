// Labels of pictures by their geometry: gnuplot draws each picture as SVG, of which every text's place, size
// and direction can be read.
#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "report/experts/expert_pictures.h"
#include "report/plot/axis_ticks.h"
#include "report/plot/pictures.h"
#include "report/run_folder.h"
#include "report/sweep/sweep_pictures.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Point {
  double x = 0;
  double y = 0;
};

struct DrawnText {
  std::string text;
  std::array<Point, 4> corners;
};

// What XML spells out counts as one character.
std::size_t length_of(const std::string& text) {
  std::size_t length = 0;
  bool in_entity = false;
  for (const char c : text) {
    if (c == '&') in_entity = true;
    if (!in_entity && (static_cast<unsigned char>(c) & 0xc0U) != 0x80U) ++length;
    if (in_entity && c == ';') {
      in_entity = false;
      ++length;
    }
  }
  return length;
}

// As wide as letters are on average and as high as capitals: nothing that does not overlap is said to.
DrawnText drawn_text(const std::string& text, Point at, double degrees, double font,
                     const std::string& anchor) {
  const double width = static_cast<double>(length_of(text)) * 0.55 * font;
  const double left = anchor == "middle" ? -width / 2 : anchor == "end" ? -width : 0;
  const double angle = degrees * M_PI / 180;
  const auto turned = [&](double x, double y) {
    return Point{at.x + x * std::cos(angle) - y * std::sin(angle),
                 at.y + x * std::sin(angle) + y * std::cos(angle)};
  };
  const double top = -0.72 * font;
  return {text, {turned(left, top), turned(left + width, top), turned(left + width, 0), turned(left, 0)}};
}

std::vector<DrawnText> texts_in(const std::string& svg) {
  const std::regex group(
      "<g transform=\"translate\\(([-0-9.]+),([-0-9.]+)\\)(?: rotate\\(([-0-9.]+)\\))?\"[^>]*"
      "font-size=\"([0-9.]+)\"\\s+text-anchor=\"(\\w+)\">\\s*<text>([\\s\\S]*?)</text>");
  const std::regex mark("<[^>]*>");
  std::vector<DrawnText> texts;
  for (auto found = std::sregex_iterator(svg.begin(), svg.end(), group); found != std::sregex_iterator();
       ++found) {
    const std::smatch& match = *found;
    const std::string text = std::regex_replace(match[6].str(), mark, "");
    if (text.find_first_not_of(" \n\t") == std::string::npos) continue;
    texts.push_back(drawn_text(text, {std::stod(match[1]), std::stod(match[2])},
                               match[3].matched ? std::stod(match[3]) : 0, std::stod(match[4]), match[5]));
  }
  return texts;
}

// Two boxes that a line along a side of one of them keeps apart do not overlap.
bool are_kept_apart(const DrawnText& one, const DrawnText& other) {
  for (std::size_t side = 0; side < 2; ++side) {
    const Point normal{one.corners[side + 1].x - one.corners[side].x,
                       one.corners[side + 1].y - one.corners[side].y};
    const auto reach = [&](const DrawnText& box) {
      std::array<double, 4> along{};
      for (std::size_t i = 0; i < 4; ++i)
        along[i] = box.corners[i].x * normal.x + box.corners[i].y * normal.y;
      return std::minmax({along[0], along[1], along[2], along[3]});
    };
    const auto [low, high] = reach(one);
    const auto [other_low, other_high] = reach(other);
    if (high <= other_low || other_high <= low) return true;
  }
  return false;
}

class Labels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (find_gnuplot().empty()) GTEST_SKIP() << "gnuplot is not installed";
  }

  std::vector<DrawnText> drawn(const GnuplotPicture& picture) {
    const std::filesystem::path file = folder_.path() / "picture.svg";
    draw(find_gnuplot(), picture, file);
    return texts_in(read_file(file, 64U << 20));
  }

  void expect_apart(const GnuplotPicture& picture, std::size_t fewest) {
    const std::vector<DrawnText> texts = drawn(picture);
    EXPECT_GE(texts.size(), fewest);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (const Point& corner : texts[i].corners) {
        EXPECT_TRUE(corner.x >= -1 && corner.x <= 1201 && corner.y >= -1 && corner.y <= 801)
            << texts[i].text << " leaves the picture at " << corner.x << ", " << corner.y;
      }
      for (std::size_t k = 0; k < i; ++k)
        EXPECT_TRUE(are_kept_apart(texts[i], texts[k]) || are_kept_apart(texts[k], texts[i]))
            << texts[i].text << " and " << texts[k].text;
    }
  }

  TemporaryFolder folder_;
};

const std::string long_name = "the price of a house in thousands of dollars, as the owner said in a census";

std::vector<std::string> names(std::size_t count, const std::string& before) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(fmt::format("{}{}", before, i + 1));
  return list;
}

TEST_F(Labels, ThatAreDrawnOverEachOtherAreFoundByThisTest) {
  const std::vector<DrawnText> texts =
      drawn({"set xtics ('one long name' 0, 'another long name' 0.05)\nplot [0:1] x\n", {}});
  const auto found = [&](const char* part) {
    return *std::find_if(texts.begin(), texts.end(),
                         [&](const DrawnText& each) { return each.text.find(part) != std::string::npos; });
  };
  EXPECT_FALSE(are_kept_apart(found("one long"), found("another")));
  EXPECT_FALSE(are_kept_apart(found("another"), found("one long")));
}

TEST_F(Labels, OfLossesDoNotOverlap) {
  for (const double scale : {1e-9, 1.0, 1e9}) {
    for (const double shrink : {0.999, 0.7}) {
      LossCurve curve;
      for (int epoch = 1; epoch <= 60; ++epoch) {
        curve.epochs.push_back(epoch * 1000);
        curve.training.push_back(scale * std::pow(shrink, epoch));
        curve.validation.push_back(1.1 * scale * std::pow(shrink, epoch));
        curve.learning_rate.push_back(0.1);
      }
      curve.best_epoch = 41'000;
      expect_apart(loss_picture(curve, long_name), 8);
    }
  }
}

TEST_F(Labels, OfPredictionsAndResidualsDoNotOverlap) {
  for (const double scale : {1e-7, 1.0, 123'456.789, 1e12}) {
    for (const double shift : {-5.0, 0.0, 1e4}) {
      SCOPED_TRACE(fmt::format("{} {}", scale, shift));
      PredictedAgainstActual rows;
      for (int i = 0; i < 200; ++i) {
        rows.actual.push_back(scale * (shift + std::sin(i * 0.7)));
        rows.predicted.push_back(scale * (shift + 1.1 * std::sin(i * 0.7)));
      }
      Evaluation evaluation = testing::regression_of(long_name);
      evaluation.charts = {rows};
      expect_apart(predicted_picture(evaluation, long_name), 8);
      expect_apart(residuals_picture(evaluation, long_name), 8);
    }
  }
}

TEST_F(Labels, OfASeriesOverTimeDoNotOverlap) {
  for (const double span : {5e3, 9e4, 2e6, 4e7, 1e9})
    for (const bool has_dates : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", span, has_dates));
      PredictedOverTime chart{long_name, long_name, has_dates, {}, {}, {}};
      for (int i = 0; i <= 100; ++i) {
        chart.time.push_back(1.6e9 + span * i / 100);
        chart.actual.push_back(1e6 * i);
        chart.predicted.push_back(1e6 * i + 5);
      }
      expect_apart(over_time_picture(chart, long_name, long_name), 10);
    }
}

TEST_F(Labels, OfConfusionMatricesDoNotOverlap) {
  for (const std::size_t classes : {2U, 3U, 7U, 15U, 25U, 40U, 120U}) {
    for (const char* before : {"", "-", "a kind of flower with a long name "}) {
      for (const std::int64_t times : {std::int64_t{1}, std::int64_t{1'000'000}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", classes, before, times));
        Evaluation evaluation = testing::classification_of(long_name, names(classes, before));
        for (Chart& chart : evaluation.charts)
          if (auto* matrix = std::get_if<ConfusionMatrix>(&chart))
            for (std::int64_t& count : matrix->counts) count *= times;
        expect_apart(confusion_picture(evaluation, long_name), 8);
      }
    }
  }
}

TEST_F(Labels, OfExpertsDoNotOverlap) {
  for (const std::size_t count : {1U, 2U, 5U, 16U, 40U, 100U}) {
    for (const char* before : {"", "a kind of flower with a long name "}) {
      SCOPED_TRACE(fmt::format("{} {}", count, before));
      const ExpertsRecord record = testing::mixture_of(count, names(10, before));
      expect_apart(expert_graph_picture(ExpertPlaces(record), record.moments.back(), long_name), 8);
      expect_apart(*expert_activations_picture(record, long_name), 4);
      expect_apart(*expert_activations_picture(testing::mixture_of(count, {}), long_name), 4);
    }
  }
  LossCurve curve;
  for (int epoch = 1; epoch <= 16; ++epoch) {
    curve.epochs.push_back(epoch);
    curve.training.push_back(std::pow(0.7, epoch));
    curve.validation.push_back(1.1 * std::pow(0.7, epoch));
    curve.learning_rate.push_back(0.1);
  }
  curve.seconds.assign(16, 12.5);
  const EpochValues known{"train",
                          curve.epochs,
                          {"train_accuracy", "validation_accuracy"},
                          {std::vector<double>(16, 0.75), std::vector<double>(16, 0.5)}};
  expect_apart(expert_metrics_picture(testing::mixture_of(12, {}), &curve, &known, long_name), 20);
  for (const double scale : {1e-6, 0.12, 3e5}) {
    LossCurve other = curve;
    EpochValues uneven = known;
    for (std::size_t i = 0; i < 16; ++i) {
      other.seconds[i] = scale * static_cast<double>(1 + i % 5);
      uneven.columns[0][i] = 0.53 + 0.031 * static_cast<double>(i);
      other.training[i] = scale * static_cast<double>(20 - i);
    }
    SCOPED_TRACE(scale);
    expect_apart(expert_metrics_picture(testing::mixture_of(12, {}), &other, &uneven, long_name), 20);
  }
  expect_apart(expert_devices_picture(testing::mixture_of(12, {}), long_name), 5);
}

SweepContents sweep_with(SweepContents::Setting setting) {
  SweepContents contents;
  contents.name = long_name;
  contents.metric = "median_absolute_error";
  contents.folds = 3;
  contents.winner = 1;
  for (std::size_t i = 0; i < setting.x.size(); ++i) {
    SweepContents::Trial trial;
    trial.number = static_cast<std::int64_t>(i) + 1;
    trial.status = i % 3 == 2 ? "pruned" : "finished";
    trial.score = -1e6 * static_cast<double>(i + 1);
    trial.values = {"x"};
    contents.trials.push_back(trial);
  }
  contents.settings = {std::move(setting)};
  return contents;
}

TEST_F(Labels, OfSearchedNamesDoNotOverlap) {
  for (const std::size_t count : {1U, 2U, 6U, 12U, 40U, 300U}) {
    for (const char* before : {"", "[128, 64, 32] "}) {
      SCOPED_TRACE(fmt::format("{} {}", count, before));
      SweepContents::Setting setting{"model.hidden_layers", names(count, before), false, false, {}};
      for (std::size_t i = 0; i < count; ++i) setting.x.push_back(static_cast<double>(i));
      const SweepContents contents = sweep_with(std::move(setting));
      expect_apart(score_picture(contents, contents.settings[0]), 6);
    }
  }
}

TEST_F(Labels, OfLogarithmicAxesAreThereAndDoNotOverlap) {
  for (const auto& [low, high] :
       {std::pair{1e-6, 1e3}, {1e-4, 1e-2}, {0.0011, 0.0019}, {0.02, 0.9}, {3.0, 3.0}, {1e-30, 1e30}}) {
    SCOPED_TRACE(fmt::format("{} {}", low, high));
    SweepContents::Setting setting{"model.learning_rate", {}, true, true, {}};
    for (int i = 0; i < 8; ++i) setting.x.push_back(low * std::pow(high / low, i / 7.0));
    const SweepContents contents = sweep_with(std::move(setting));
    const GnuplotPicture picture = score_picture(contents, contents.settings[0]);
    EXPECT_THAT(picture.commands, HasSubstr("set logscale x"));
    expect_apart(picture, 6);
  }
}

TEST(AxisTicks, OfALogarithmicAxisAreRoundWhereTheRangeHoldsRoundOnes) {
  EXPECT_THAT(logarithmic_x_axis(1e-4, 1e-2), HasSubstr("('0.0001' 0.0001, '0.001' 0.001, '0.01' 0.01)"));
  EXPECT_THAT(logarithmic_x_axis(0.02, 0.9), HasSubstr("'0.03' 0.03, '0.1' 0.1, '0.3' 0.3"));
  EXPECT_THAT(logarithmic_x_axis(0.0011, 0.0019), HasSubstr("'0.0012' 0.0012, '0.0014' 0.0014"));
  EXPECT_THAT(logarithmic_x_axis(3, 3), HasSubstr("('3' 3)"));
}

TEST(AxisTicks, OfALogarithmicAxisEndWhereItsRangeDoes) {
  EXPECT_THAT(logarithmic_x_axis(1.1, 1.9), HasSubstr("set xrange [1.07034"));
}

TEST(AxisTicks, OfManyNamesAreThinnedAndOfFewAreLevel) {
  EXPECT_THAT(named_x_tics(names(3, "kind "), 900),
              HasSubstr("norotate ('kind 1' 0, 'kind 2' 1, 'kind 3' 2)"));
  EXPECT_THAT(named_x_tics(names(20, "kind "), 900), HasSubstr("rotate by 45"));
  EXPECT_THAT(named_x_tics(names(300, "kind "), 900), Not(HasSubstr("'kind 2' 1")));
  EXPECT_THAT(named_y_tics({"caf\xc3\xa9s and restaurants of the town"}, 500),
              HasSubstr("'caf\xc3\xa9s and…the town'"));
}

}  // namespace
}  // namespace stoker
