#include "model/precision_recall.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float no_score = std::numeric_limits<float>::quiet_NaN();

// scikit-learn 1.9: precision_recall_curve([0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.35, 0.8]) where recall rises,
// and average_precision_score of the same, 0.9166….
TEST(PrecisionRecallCurve, IsThatOfScikitLearn) {
  const std::vector<float> scores{0.1F, 0.4F, 0.35F, 0.35F, 0.8F, no_score};
  const std::vector<std::uint8_t> marks{0, 1, 1, 0, 1, 1};
  const PrecisionRecall curve = precision_recall(scores, marks);
  EXPECT_THAT(curve.precision, ElementsAre(1, 1, 0.75));
  EXPECT_THAT(curve.recall, ElementsAre(1.0 / 3, 2.0 / 3, 1));
  EXPECT_NEAR(curve.average_precision, 11.0 / 12, 1e-12);
  EXPECT_EQ(curve.marked_share, 0.6) << "a pixel without a score does not count";
}

TEST(PrecisionRecallCurve, HasNoPointsWhereNothingIsMarked) {
  EXPECT_THAT(precision_recall(std::vector<float>{1, 2}, std::vector<std::uint8_t>{0, 0}).recall, IsEmpty());
  EXPECT_THAT(precision_recall({}, {}).recall, IsEmpty());
}

// More pixels than one core takes at a time: of every 100 the highest is marked, but for the first 100,000,
// where it is the second.
TEST(PrecisionRecallCurve, CountsAllPixels) {
  std::vector<float> scores;
  std::vector<std::uint8_t> marks;
  for (int i = 0; i < 200'000; ++i) {
    scores.push_back(static_cast<float>(i % 100));
    marks.push_back(i % 100 == (i < 100'000 ? 98 : 99) ? 1 : 0);
  }
  const PrecisionRecall curve = precision_recall(scores, marks);
  EXPECT_THAT(curve.recall, ElementsAre(0.5, 1));
  EXPECT_THAT(curve.precision, ElementsAre(0.5, 0.5));
}

TEST(PrecisionRecallCurve, KeepsItsEndsWhenItIsThinned) {
  PrecisionRecall curve;
  for (int i = 1; i <= 1000; ++i) {
    curve.recall.push_back(i / 1000.0);
    curve.precision.push_back(1);
  }
  const PrecisionRecall thin = thinned(curve, 10);
  EXPECT_EQ(thin.recall.size(), 10U);
  EXPECT_EQ(thin.recall.front(), 0.001);
  EXPECT_EQ(thin.recall.back(), 1);
}

}  // namespace
}  // namespace stoker
