#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/experts/expert_drawing.h"
#include "report/experts/expert_pictures.h"
#include "report/plot/line_colors.h"
#include "report/run/report.h"
#include "report/run_folder.h"

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mixture_of;
using ::testing::Not;
using testing::RunFolder;
using ::testing::Throws;

ExpertsRecord read_again(const json& text) {
  return experts_from(RecordPart(text, [] { return std::string("experts.json"); }));
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(ExpertsRecord, ComesBackAsItWasWritten) {
  const json written = to_json(mixture_of(5, {"cat", "dog"}));
  EXPECT_EQ(to_json(read_again(written)), written);
  EXPECT_EQ(written.at("moments").size(), 8U);
  EXPECT_TRUE(written.at("moments").at(0).at("hesitation").is_null());
}

TEST(ExpertsRecord, CountsEpochsFromOne) {
  ExpertsRecord record;
  record.steps_per_epoch = 10;
  EXPECT_EQ(record.epoch_of(0), 1);
  EXPECT_EQ(record.epoch_of(1), 1);
  EXPECT_EQ(record.epoch_of(10), 1);
  EXPECT_EQ(record.epoch_of(11), 2);
}

// The weights of epoch 23 were saved, and the first expert was created in epoch 73.
TEST(ExpertUse, SavedModelThatPrecedesAllChangesIsReported) {
  const ExpertUse use{23, 73, 6, 6, {100, 0}, 50};
  EXPECT_THAT(saved_before_changes(use),
              HasSubstr("weights of epoch 23, before the first change of its experts in epoch 73; 6 births"));
  const ExpertUse back = expert_use_from(RecordPart(to_json(use), [] { return std::string("experts"); }));
  EXPECT_EQ(to_json(back), to_json(use));
}

TEST(ExpertUse, SavedModelThatPrecedesSomeChangesIsReportedAndTheLastOneIsNot) {
  EXPECT_THAT(saved_before_changes({90, 73, 6, 2, {}, 0}), HasSubstr("; 2 of the 6 births"));
  EXPECT_EQ(saved_before_changes({150, 73, 6, 0, {}, 0}), "");
}

TEST(ExpertsRecord, OfAnotherFormIsRefusedByItsPlace) {
  const json good = to_json(mixture_of(4, {"cat", "dog"}));
  const auto refused = [&](const std::string& place, const json& value) {
    json bad = good;
    bad[json::json_pointer(place)] = value;
    try {
      read_again(bad);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refused("/last", nullptr), HasSubstr("experts.json: last is missing"));
  EXPECT_THAT(refused("/moments/1/step", 0), HasSubstr("not in the order of their steps"));
  EXPECT_THAT(refused("/moments/1/nodes/1/number", 0), HasSubstr("not in the order of their numbers"));
  EXPECT_THAT(refused("/moments/1/nodes/0/rows", 1e300),
              HasSubstr("moments[1]: nodes[0]: rows: 1e+300 is out"));
  EXPECT_THAT(refused("/moments/1/nodes/0/rows", "many"), HasSubstr("expected a number"));
  EXPECT_THAT(refused("/moments/1/nodes/0/specialisation", nullptr), HasSubstr("out of range"));
  EXPECT_THAT(refused("/moments/1/nodes/0/classes/0", 7), HasSubstr("7 is not a share"));
  EXPECT_THAT(refused("/moments/1/nodes/0/classes", {0.5}), HasSubstr("1 shares for 2 classes"));
  EXPECT_THAT(refused("/moments/1/edges/0/tie", "likes"), HasSubstr("not tied by 'likes'"));
  EXPECT_THAT(refused("/moments/1/edges/0/to", 99), HasSubstr("experts that are not there"));
  EXPECT_THAT(refused("/steps_per_epoch", 0), HasSubstr("out of range"));
  EXPECT_THAT(refused("/events/0/text", 3), HasSubstr("expected text"));
  EXPECT_EQ(refused("/events/0/text", "a reason"), "taken");
}

TEST(LivingExperts, AreCountedBackwardsFromTheEnd) {
  ExpertsRecord record;
  record.steps = 100;
  record.last.nodes.resize(3);
  record.events = {
      {10, "born", ""}, {20, "merged", ""}, {20, "removed", ""}, {30, "slept", ""}, {40, "born", ""}};
  std::vector<std::pair<std::int64_t, std::int64_t>> course;
  for (const LivingExperts& each : living_experts(record)) course.emplace_back(each.step, each.count);
  EXPECT_THAT(course, ElementsAre(std::pair(0, 3), std::pair(10, 4), std::pair(20, 2), std::pair(40, 3),
                                  std::pair(100, 3)));
}

TEST(ExpertPlaces, StayTheSameFromMomentToMomentAndApart) {
  for (const std::size_t count : {1U, 2U, 7U, 32U, 200U}) {
    const ExpertsRecord record = mixture_of(count, {"cat", "dog"});
    const ExpertPlaces places(record);
    std::map<std::int64_t, std::pair<double, double>> known;
    for (const ExpertsRecord::Moment& moment : record.moments) {
      const DrawnExperts drawn = places.drawn(moment);
      ASSERT_EQ(drawn.experts.size(), moment.nodes.size());
      for (std::size_t i = 0; i < drawn.experts.size(); ++i) {
        const DrawnExpert& one = drawn.experts[i];
        const auto [place, is_new] = known.emplace(one.number, std::pair(one.x, one.y));
        EXPECT_EQ(place->second, std::pair(one.x, one.y)) << "expert " << one.number;
        for (std::size_t k = 0; k < i; ++k)
          EXPECT_GT(std::hypot(one.x - drawn.experts[k].x, one.y - drawn.experts[k].y),
                    one.radius + drawn.experts[k].radius);
      }
    }
  }
}

TEST(ExpertPlaces, AreBesideTheParent) {
  ExpertsRecord record = mixture_of(8, {});
  for (ExpertsRecord::Moment* each : {&record.moments.back(), &record.last})
    each->nodes.push_back({.number = 50, .parent = 2, .rows = 5, .classes = {}});
  const DrawnExperts drawn = ExpertPlaces(record).drawn(record.moments.back());
  const auto place = [&](std::int64_t number) {
    return *std::ranges::find(drawn.experts, number, &DrawnExpert::number);
  };
  const auto distance = [&](std::int64_t one, std::int64_t other) {
    return std::hypot(place(one).x - place(other).x, place(one).y - place(other).y);
  };
  EXPECT_LT(distance(50, 2), distance(4, 2) - 1);
}

TEST(ExpertPlaces, TieExpertsFromEdgeToEdgeSideBySide) {
  for (const std::size_t count : {2U, 7U, 32U, 200U}) {
    ExpertsRecord record = mixture_of(count, {});
    ExpertsRecord::Moment& moment = record.moments.back();
    moment.edges = {{0, 1, ExpertTie::similar, 0.9},
                    {0, 1, ExpertTie::follows, 0.8},
                    {1, 0, ExpertTie::follows, 0.7},
                    {1, 0, ExpertTie::specialises, 0.6}};
    const DrawnExperts drawn = ExpertPlaces(record).drawn(moment);
    ASSERT_EQ(drawn.ties.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const DrawnTie& tie = drawn.ties[i];
      const DrawnExpert& from = drawn.experts[i < 2 ? 0 : 1];
      const DrawnExpert& to = drawn.experts[i < 2 ? 1 : 0];
      EXPECT_NEAR(std::hypot(tie.x1 - from.x, tie.y1 - from.y), from.radius, 2) << i;
      EXPECT_NEAR(std::hypot(tie.x2 - to.x, tie.y2 - to.y), to.radius, 3) << i;
      for (std::size_t k = 0; k < i; ++k) {
        const DrawnTie& other = drawn.ties[k];
        EXPECT_GT(std::hypot(tie.x1 + tie.x2 - other.x1 - other.x2, tie.y1 + tie.y2 - other.y1 - other.y2),
                  0.5);
      }
    }
  }
}

TEST(ExpertPlaces, SizeByRowsAndNameTheClassesThatAnExpertAnswersForMost) {
  ExpertsRecord record;
  record.classes = {"cat", "dog", "a beetle with a long name"};
  ExpertsRecord::Moment moment;
  moment.nodes = {{.number = 0, .rows = 400, .classes = {0.9, 0.2, 0.6}},
                  {.number = 1, .rows = 100, .classes = {0.1, 0.8, 0.4}}};
  record.moments = {moment};
  const DrawnExperts drawn = ExpertPlaces(record).drawn(moment);
  EXPECT_EQ(drawn.experts[0].label, "cat, a beet… name");
  EXPECT_EQ(drawn.experts[1].label, "dog");
  EXPECT_NEAR(drawn.experts[0].radius, 2 * drawn.experts[1].radius, 1e-9);
}

TEST(MomentsToDraw, AreTheFirstTheLastAndSomeBetweenOfDifferentEpochs) {
  ExpertsRecord record;
  for (const std::int64_t epoch : {1, 1, 2, 5, 8, 9, 12, 20, 20}) {
    record.moments.emplace_back().epoch = epoch;
    record.moments.back().step = std::ssize(record.moments);
  }
  std::vector<std::int64_t> steps;
  for (const ExpertsRecord::Moment* each : moments_to_draw(record, 4)) steps.push_back(each->step);
  EXPECT_THAT(steps, ElementsAre(2, 4, 6, 9));
  EXPECT_EQ(moments_to_draw(record, 100).size(), 7U);
}

TEST(ExpertPictures, AreDrawnFromTheRunFolderAlone) {
  RunFolder run;
  run.write_metrics({"train"}, true);
  run.write_experts("train", mixture_of(6, {"cat", "dog", "fish"}));
  std::vector<std::string> said;
  draw_plots(run.paths(), [&](Severity, const std::string& message) { said.push_back(message); });
  if (find_gnuplot().empty()) GTEST_SKIP() << "gnuplot is not installed";
  const std::set<std::string> names = names_in(run.paths().plots());
  EXPECT_THAT(said, ElementsAre());
  for (const char* name : {"training_metrics.png", "expert_activations.png", "expert_device_distribution.png",
                           "knowledge_graph_epoch_2.png", "knowledge_graph_epoch_16.png"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(std::ranges::count_if(names, [](const auto& each) { return each.starts_with("knowledge_"); }), 8);
}

TEST(ExpertMetricsPicture, HasLossAccuracyAndSecondsOfEveryEpoch) {
  LossCurve curve;
  curve.epochs = {1, 2, 3};
  curve.training = {3, 2, 1};
  curve.validation = {4, 3, 2};
  curve.learning_rate = {0.1, 0.1, 0.1};
  curve.seconds = {1.5, 1.25, 1.125};
  const EpochValues values{"train",
                           curve.epochs,
                           {"train_accuracy", "validation_accuracy"},
                           {{0.5, 0.75, 0.875}, {0.25, 0.5, 0.625}}};
  const GnuplotPicture picture =
      expert_metrics_picture(mixture_of(4, {"cat", "dog"}), &curve, &values, "run");
  std::map<std::string, std::string> files(picture.files.begin(), picture.files.end());
  EXPECT_EQ(files["losses.txt"], "1 3 4\n2 2 3\n3 1 2\n");
  EXPECT_EQ(files["accuracy.txt"], "1 0.5 0.25\n2 0.75 0.5\n3 0.875 0.625\n");
  EXPECT_EQ(files["seconds.txt"], "1 1.5\n2 1.25\n3 1.125\n");
  for (const auto& [column, color] : {std::pair(2, training_color), {3, validation_color}})
    EXPECT_THAT(picture.commands,
                ::testing::ContainsRegex(
                    fmt::format("accuracy.txt' using 1:2.*using 1:{}[^,]*{}|accuracy.txt' using 1:{}[^,]*{}",
                                column, color, column, color)));
  const GnuplotPicture of_numbers = expert_metrics_picture(mixture_of(4, {}), &curve, nullptr, "run");
  EXPECT_TRUE(
      std::ranges::none_of(of_numbers.files, [](const auto& each) { return each.first == "accuracy.txt"; }));
}

// Of a training that diverged.
TEST(ExpertMetricsPicture, NamesTheTicksOfLossesThatAreManyDecadesApart) {
  LossCurve curve;
  curve.epochs = {1, 2, 3, 4};
  curve.training = {2, 1, 1e18, 1e36};
  curve.validation = {3, 2, 1e12, std::numeric_limits<double>::infinity()};
  const GnuplotPicture picture =
      expert_metrics_picture(mixture_of(4, {"cat", "dog"}), &curve, nullptr, "run");
  EXPECT_THAT(picture.commands, HasSubstr("set logscale y"));
  EXPECT_THAT(picture.commands, HasSubstr("set ytics (1e0, 1e9, 1e18, 1e27, 1e36)\n"));
}

// As a run has it: a graph at the end of each epoch, and sleeps in between.
ExpertsRecord mixture_over_epochs(std::size_t epochs) {
  ExpertsRecord record = mixture_of(4, {"cat", "dog"});
  for (std::size_t i = 1; i <= epochs; ++i) {
    ExpertsRecord::Moment moment = record.last;
    moment.step = static_cast<std::int64_t>(10 * i);
    moment.epoch = record.epoch_of(moment.step);
    record.epochs.push_back(std::move(moment));
  }
  return record;
}

TEST(ExpertPictures, ShowTheGraphAfterEachEpoch) {
  RunFolder run;
  run.write_experts("train", mixture_over_epochs(5));
  const RunContents contents = read_contents(run.paths());
  std::vector<std::int64_t> epochs;
  for (const ExpertsRecord::Moment* each : moments_to_draw(contents.experts.at(0).experts, 10))
    epochs.push_back(each->epoch);
  EXPECT_THAT(epochs, ElementsAre(1, 2, 3, 4, 5, 16)) << "and the end of the training";
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("<input type=\"range\" min=\"0\" max=\"5\" value=\"5\""));
  EXPECT_EQ(moments_to_draw(mixture_over_epochs(200), 10).size(), 10U);
}

TEST(ExpertPictures, OfATrainingThatEndedBeforeTheFirstSleepHaveNoGraph) {
  RunFolder run;
  ExpertsRecord record = mixture_of(3, {});
  record.moments.clear();
  run.write_experts("train", record);
  std::vector<std::string> said;
  draw_plots(run.paths(), [&](Severity, const std::string& message) { said.push_back(message); });
  write_report(run.paths());
  EXPECT_THAT(run.report(), Not(HasSubstr("data-experts=\"")));
  EXPECT_THAT(run.report(), HasSubstr("<h2>Experts</h2>"));
  if (find_gnuplot().empty()) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_THAT(said, ElementsAre(HasSubstr("ended before their first sleep")));
  EXPECT_EQ(names_in(run.paths().plots()),
            (std::set<std::string>{"expert_device_distribution.png", "performance_summary.txt",
                                   "training_metrics.png"}));
}

TEST(ExpertPictures, OfATargetOfNumbersAreBarsOfRows) {
  EXPECT_THAT(expert_activations_picture(mixture_of(4, {}), "run")->commands,
              HasSubstr("Rows that each expert answered for"));
  EXPECT_THAT(expert_activations_picture(mixture_of(4, {"cat", "dog"}), "run")->commands,
              HasSubstr("Who answers for which class"));
}

TEST(PerformanceSummary, TellsSizeSpeedAndWhatBecameOfTheExperts) {
  RunFolder run;
  run.write_experts("train", mixture_of(6, {}));
  write_report(run.paths());
  const std::string text = read_file(run.paths().plots() / "performance_summary.txt", 1U << 20);
  for (const char* line : {"model                   neural_network\n", "steps                   62,500\n",
                           "steps per second        1026.3\n",  // 62,500 steps in 60.9 s
                           "parameters at the end   9,000 (router and living experts)\n",
                           "active per row          3,000 (router and 2 of the experts)\n",
                           "experts at the start    6\n", "experts at the end      6 (room for 32)\n",
                           "born                    1\n", "removed                 1\n",
                           "epoch 3, step 30        expert 2 was removed because <nobody> asked it\n",
                           "Metrics of evaluate, on 10,000 rows\n", "0.98321\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(PerformanceSummary, SaysWhereEarlyEventsAreNotKnown) {
  RunFolder run;
  ExpertsRecord record = mixture_of(6, {});
  for (std::int64_t i = 0; i < 996; ++i) record.events.push_back({50, "slept", "slept"});
  run.write_experts("train", record);
  const auto summary = [&] {
    write_report(run.paths());
    return read_file(run.paths().plots() / "performance_summary.txt", 1U << 20);
  };
  EXPECT_THAT(summary(), Not(HasSubstr("Only the last 1,000 events")));
  record.events.push_back({50, "slept", "slept"});
  run.write_experts("train", record);
  EXPECT_THAT(summary(), HasSubstr("Only the last 1,000 events are known"));
  EXPECT_THAT(run.report(), HasSubstr("Only the last 1,000 events are known"));
}

TEST(ExpertsSection, HasTheGraphOfEveryMomentAndTheEvents) {
  RunFolder run;
  run.write_experts("train", mixture_of(6, {"<b>cat</b>", "dog"}));
  write_report(run.paths());
  const std::string page = run.report();
  EXPECT_THAT(page, HasSubstr("<input type=\"range\" min=\"0\" max=\"7\" value=\"7\""));
  EXPECT_THAT(page, HasSubstr("expert 2 was removed because &lt;nobody&gt; asked it"));
  EXPECT_THAT(page, Not(HasSubstr("<b>cat")));
  const std::size_t begin = page.find("id=\"data\">") + 10;
  const json data = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  const json& moments = data.at("experts").at(0);
  ASSERT_EQ(moments.size(), 8U);
  EXPECT_EQ(moments.back().at("epoch"), 16);
  EXPECT_EQ(moments.back().at("experts").size(), 6U);
  EXPECT_GE(moments.back().at("ties").size(), 6U);
}

TEST(ExpertsSection, IsNotThereForOtherModels) {
  RunFolder run;
  write_report(run.paths());
  EXPECT_THAT(run.report(), Not(HasSubstr("<h2>Experts</h2>")));
}

TEST(ExpertsFile, ThatIsDamagedIsRefusedByItsName) {
  RunFolder run;
  make_folder(run.paths().experts());
  write_file(run.paths().experts() / "train.json", "{\"moments\": 3}");
  EXPECT_THAT(
      [&] { write_report(run.paths()); },
      Throws<Error>(::testing::Property(&Error::what, HasSubstr("train.json: moments: expected a list"))));
}

}  // namespace
}  // namespace stoker
