#include "report/plot/curves.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files/files.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string header = "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second\n";

std::vector<LossCurve> curves_of(const std::string& content) {
  const TemporaryFolder folder;
  write_file(folder.path() / "metrics.csv", content);
  return read_curves(folder.path() / "metrics.csv");
}

std::string refusal_of(const std::string& content) {
  try {
    curves_of(content);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Curves, AreNoneWithoutAFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_curves(folder.path() / "metrics.csv"), IsEmpty());
  EXPECT_THAT(curves_of(header), IsEmpty());
}

TEST(Curves, AreOnePerCardAndCountEpochsFromOne) {
  const std::vector<LossCurve> curves = curves_of(
      header + "1,first,0.5,0.6,0.001,1,100\n1,\"a, b\",2,,0.01,1,100\n2,first,0.25,0.5,0.001,1,100\n");
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].card, "first");
  EXPECT_THAT(curves[0].epochs, ElementsAre(1, 2));
  EXPECT_THAT(curves[0].training, ElementsAre(0.5, 0.25));
  EXPECT_THAT(curves[0].validation, ElementsAre(0.6, 0.5));
  EXPECT_TRUE(curves[0].has_validation());
  EXPECT_EQ(curves[1].card, "a, b");
  EXPECT_FALSE(curves[1].has_validation());
}

TEST(Curves, TakeTheLastWordOnAnEpochAndLeaveAnUnfinishedLineOut) {
  const std::vector<LossCurve> curves =
      curves_of(header + "1,t,4,,1,1,1\n2,t,3,,1,1,1\n2,t,2,,1,1,1\n3,t,nan,,1,1,1\n4,t,1.");
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_THAT(curves[0].epochs, ElementsAre(1, 2, 3));
  EXPECT_EQ(curves[0].training[1], 2);
  EXPECT_TRUE(std::isnan(curves[0].training[2]));
}

TEST(Curves, RefuseWhatIsNoMetricsFileByItsLine) {
  EXPECT_THAT(refusal_of("a,b\n1,2\n"), HasSubstr("does not begin with"));
  EXPECT_THAT(refusal_of(header + "1,t,1,,1,1\n"), HasSubstr("metrics.csv:2: 6 fields"));
  EXPECT_THAT(refusal_of(header + "1,t,1,,1,1,1\n2,t,x,,1,1,1\n"),
              HasSubstr("metrics.csv:3: 'x' is not a number"));
  EXPECT_THAT(refusal_of(header + "0,t,1,,1,1,1\n"), HasSubstr("'0' is not an epoch"));
}

TEST(Curves, TellWhatElseIsKnownOfTheEpochs) {
  const std::string columns = header.substr(0, header.size() - 1) + ",gradient_norm,memory_bytes\n";
  const auto names_of = [](const LossCurve& curve) {
    std::vector<std::string_view> names;
    for (const Course& each : courses_of(curve)) names.push_back(each.name);
    return names;
  };
  const LossCurve all = curves_of(columns + "1,t,1,,0.1,1,100,2.5,4096\n2,t,1,,0.2,1,110,,8192\n").at(0);
  EXPECT_THAT(names_of(all),
              ElementsAre("learning_rate", "gradient_norm", "rows_per_second", "memory_bytes"));
  EXPECT_EQ(all.gradient_norm[0], 2.5);
  EXPECT_TRUE(std::isnan(all.gradient_norm[1]));
  EXPECT_THAT(all.memory_bytes, ElementsAre(4096, 8192));
  const LossCurve earlier = curves_of(header + "1,t,1,,0.1,1,100\n2,t,1,,0.1,1,110\n").at(0);
  EXPECT_THAT(names_of(earlier), ElementsAre("rows_per_second"));
  EXPECT_THAT(names_of(curves_of(columns + "1,t,1,,0.1,1,100,2.5,4096\n").at(0)), IsEmpty());
}

TEST(Curves, WantALogAxisFromTwoDecadesOn) {
  LossCurve curve;
  curve.training = {1, 0.02};
  EXPECT_FALSE(curve.wants_log_axis());
  curve.training = {1, 0.005};
  EXPECT_TRUE(curve.wants_log_axis());
  curve.training = {1, 0.005, -0.1};
  EXPECT_FALSE(curve.wants_log_axis());
}

TEST(Curves, KeepTheBestAndTheLastEpochWhenThinned) {
  LossCurve curve;
  for (int epoch = 1; epoch <= 100'000; ++epoch) {
    curve.epochs.push_back(epoch);
    curve.training.push_back(1.0 / epoch);
    curve.validation.push_back(2.0 / epoch);
    curve.learning_rate.push_back(0.001);
  }
  curve.best_epoch = 77'777;
  const LossCurve thin = thinned(curve, 1'000);
  EXPECT_LE(thin.epochs.size(), 1'002U);
  EXPECT_EQ(thin.epochs.size(), thin.training.size());
  EXPECT_EQ(thin.epochs.back(), 100'000);
  EXPECT_THAT(thin.epochs, ::testing::Contains(77'777));
}

}  // namespace
}  // namespace stoker
