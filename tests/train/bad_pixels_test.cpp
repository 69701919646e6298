#include <cmath>
#include <limits>

#include "graphs_of_cubes.h"
#include "predict/measure/evaluate.h"
#include "predict/spectral/cube_scores.h"

// Pixels that are not finite, of cubes that a graph of nodes learns from and is measured on.
namespace stoker::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t side = 8;

// The first line of every image is gone.
Table without_first_line(const Table& table) {
  const Cubes& whole = *table.cubes;
  const std::int64_t count = whole.values.dimension(0), channels = whole.values.shape().back();
  auto cut = std::make_shared<Cubes>();
  cut->values = Array(DType::float32, {count, side - 1, side, channels});
  cut->masks = Array(DType::uint8, {count, side - 1, side});
  const auto copy = [&]<class Number>(const Array& from, Array& to, std::int64_t of_line) {
    for (std::int64_t cube = 0; cube < count; ++cube)
      std::copy_n(from.as<Number>().begin() + (cube * side + 1) * of_line, (side - 1) * of_line,
                  to.as<Number>().begin() + cube * (side - 1) * of_line);
  };
  copy.operator()<float>(whole.values, cut->values, side * channels);
  copy.operator()<std::uint8_t>(whole.masks, cut->masks, side);
  cut->names = whole.names;
  cut->wavelengths = whole.wavelengths;
  find_facts(*cut);
  for (CubeFacts& facts : cut->facts) facts.has_mask = true;
  return table_of_cubes(cut);
}

// The same, but that a value of every pixel in that line is NaN or infinite.
Table with_bad_first_line(std::int64_t count) {
  const Table table = some_cubes(count);
  Cubes spoilt = *table.cubes;
  spoilt.values = spoilt.values.clone();
  const std::int64_t channels = spoilt.values.shape().back();
  for (std::int64_t cube = 0; cube < count; ++cube)
    for (std::int64_t pixel = 0; pixel < side; ++pixel)
      spoilt.values
          .as<float>()[static_cast<std::size_t>((cube * side * side + pixel) * channels + pixel % channels)] =
          pixel % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  find_facts(spoilt);
  return table_of_cubes(std::make_shared<Cubes>(std::move(spoilt)));
}

Table with_a_bad_first_cube(std::int64_t count) {
  const Table table = some_cubes(count);
  Cubes spoilt = *table.cubes;
  spoilt.values = spoilt.values.clone();
  const auto values = spoilt.values.as<float>();
  std::ranges::fill(values.first(values.size() / static_cast<std::size_t>(count)),
                    std::numeric_limits<float>::quiet_NaN());
  find_facts(spoilt);
  return table_of_cubes(std::make_shared<Cubes>(std::move(spoilt)));
}

const std::string leaving_out = std::string(detector) + "bad_pixels: leave_out\n";

TEST(BadPixels, AreRefusedWithTheirCubesUnlessTheyAreToBeLeftOut) {
  EXPECT_THAT(
      refusal_of(request_for_cubes(with_bad_first_line(4), spec_of_graph(detector))),
      AllOf(HasSubstr("4 of 4 cubes to train on have pixels with values that are not finite numbers: "
                      "cube_0 (4 pixels NaN, 4 pixels infinite), cube_1"),
            HasSubstr("bad_pixels: leave_out"), HasSubstr("where: [nan_pixels = 0, infinite_pixels = 0]")));
  const Model model = fitted_to_cubes(some_cubes(4), spec_of_graph(detector)).model;
  EXPECT_THAT(error_of(ExitCode::wrong_request, [&] { evaluate(model, with_a_bad_first_cube(3)); }),
              AllOf(HasSubstr("1 of 3 cubes to evaluate on has pixels"), HasSubstr("cube_0 (64 pixels NaN)"),
                    HasSubstr("where: [nan_pixels = 0, infinite_pixels = 0]")));
}

// Of statistics, gradients and metrics, by the fused chain and by a graph that is none.
TEST(BadPixels, ThatAreLeftOutAreAsIfTheyWereNotThere) {
  const std::string no_chain = replaced(leaving_out, "[pca, logit]", "[pca, rx, logit]");
  for (const std::string& graph : {leaving_out, no_chain}) {
    ModelSpec spec = spec_of_graph(graph);
    spec.training.validation_ratio = 0.25;
    const Table bad = with_bad_first_line(8);
    const FitResult found = fitted_to_cubes(bad, spec);
    const FitResult expected = fitted_to_cubes(without_first_line(some_cubes(8)), spec);
    expect_equal(found.model.parameters, expected.model.parameters);
    for (std::size_t i = 0; i < expected.epochs.size(); ++i) {
      EXPECT_EQ(found.epochs.at(i).record.train_loss, expected.epochs[i].record.train_loss);
      EXPECT_EQ(found.epochs.at(i).record.validation_loss, expected.epochs[i].record.validation_loss);
    }
    EXPECT_EQ(evaluate(found.model, bad).metrics,
              evaluate(expected.model, without_first_line(some_cubes(8))).metrics);
  }
}

TEST(BadPixels, ThatAreLeftOutHaveNoScoreAndNoMark) {
  const Table bad = with_bad_first_line(2);
  const Model model = fitted_to_cubes(some_cubes(6), spec_of_graph(leaving_out)).model;
  std::vector<CubeScores> whole, found;
  score_cubes(model, some_cubes(2), [&](std::int64_t, const CubeScores& each) { whole.push_back(each); });
  score_cubes(model, bad, [&](std::int64_t, const CubeScores& each) { found.push_back(each); });
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t cube = 0; cube < 2; ++cube) {
    ASSERT_EQ(found[cube].scores.shape(), (Shape{side, side}));
    for (std::size_t pixel = 0; pixel < side * side; ++pixel) {
      const float score = found[cube].scores.as<float>()[pixel];
      const std::uint8_t mark = found[cube].marks.as<std::uint8_t>()[pixel];
      if (pixel < side) {
        EXPECT_TRUE(std::isnan(score)) << pixel;
        EXPECT_EQ(mark, 0) << pixel;
      } else {
        EXPECT_FLOAT_EQ(score, whole[cube].scores.as<float>()[pixel]) << pixel;
        EXPECT_EQ(mark, whole[cube].marks.as<std::uint8_t>()[pixel]) << pixel;
      }
    }
  }
}

TEST(BadPixels, AreRefusedWhereAModelIsToScoreThemThatRefusesThem) {
  const Model model =
      fitted_to_cubes(some_cubes(6), spec_of_graph(replaced(leaving_out, "leave_out", "refuse"))).model;
  int scored = 0;
  const auto score = [&](const Table& table) {
    score_cubes(model, table, [&](std::int64_t, const CubeScores&) { ++scored; });
  };
  EXPECT_THAT(error_of(ExitCode::wrong_request, [&] { score(with_a_bad_first_cube(2)); }),
              AllOf(HasSubstr("1 of 2 cubes to score has pixels"), HasSubstr("leave_out")));
  EXPECT_EQ(scored, 0);
  score(some_cubes(2));
  EXPECT_EQ(scored, 2);
}

// There is nothing to learn from it; a model may meet one all the same.
TEST(BadPixels, MayBeAllOfACubeThatIsNotTrainedOn) {
  const Table bad = with_a_bad_first_cube(4);
  EXPECT_THAT(refusal_of(request_for_cubes(bad, spec_of_graph(leaving_out))),
              AllOf(HasSubstr("1 of the 4 cubes to train on has no pixel"), HasSubstr("nan_pixels")));
  const Model model = fitted_to_cubes(some_cubes(4), spec_of_graph(leaving_out)).model;
  EXPECT_TRUE(evaluate(model, bad).metric("average_precision"));
  std::vector<CubeScores> scores;
  score_cubes(model, bad, [&](std::int64_t, const CubeScores& each) { scores.push_back(each); });
  EXPECT_TRUE(std::isnan(scores.at(0).scores.as<float>()[0]));
  EXPECT_FALSE(std::isnan(scores.at(1).scores.as<float>()[0]));
  EXPECT_THAT(error_of(ExitCode::wrong_request, [&] { evaluate(model, with_a_bad_first_cube(1)); }),
              HasSubstr("no pixel of the cubes to measure on has finite values"));
}

TEST(BadPixels, AreNotLeftOutWhereANodeLooksAtEachImage) {
  const std::string by_image = replaced(leaving_out, "type: MinMaxNormalizer",
                                        "type: MinMaxNormalizer, settings: { use_running_stats: false }");
  ModelSpec spec = spec_of_graph(by_image);
  EXPECT_THAT(refusal_of(request_for_cubes(with_bad_first_line(4), spec)),
              AllOf(HasSubstr("scale looks at each image"), HasSubstr("batch_size: 1")));
  spec.training.batch_size = 1;
  EXPECT_TRUE(std::isfinite(fitted_to_cubes(with_bad_first_line(4), spec).epochs.back().record.train_loss));
}

}  // namespace
}  // namespace stoker::test
