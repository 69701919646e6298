#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

// Series as documents have them: time frames that are joined, folds that follow each other, models combined.
namespace stoker {
namespace {

using testing::Contains;
using testing::HasSubstr;

const char* const series_cards =
    "version: 1\n"
    "name: series\n"
    "cards:\n"
    "  fast: { type: data_load, config: { source: file, path: fast.csv } }\n"
    "  slow: { type: data_load, config: { source: file, path: slow.csv } }\n";

const char* const model_cards =
    "  split: { type: data_split, inputs: { dataset: windows.dataset } }\n"
    "  model: { type: model_define, config: { model_type: ridge } }\n"
    "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
    "split.test_dataset } }\n";

std::string train_card(const std::string& more = "") {
  return "  train: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec "
         "}, "
         "config: { target_column: x" +
         more + " } }\n";
}

std::string windows_card(const std::string& input, const std::string& more = "") {
  return "  windows: { type: windows, inputs: { dataset: " + input +
         " }, config: { length: 4, horizon: 1, target_column: x, time_column: time, layout: columns" + more +
         " } }\n";
}

class SeriesRun : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string fast = "time,x\n";
    std::string slow = "time,level\n";
    for (int i = 0; i < 200; ++i) fast += fmt::format("{},{:.3f}\n", i, std::sin(0.2 * i));
    for (int i = 0; i < 200; i += 4) slow += fmt::format("{},{:.3f}\n", i, std::cos(0.2 * i));
    write_file(folder.path() / "fast.csv", fast);
    write_file(folder.path() / "slow.csv", slow);
  }

  Document document(const std::string& text) const {
    return read_document(config::parse_document(text, "series.yaml"), "series.yaml", folder.path());
  }
  RunSummary run(const std::string& text) const {
    return run_watched(document(text), options_in(folder.path())).summary;
  }
  std::string refusal_of_run(const std::string& text) const {
    try {
      run(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
};

TEST_F(SeriesRun, JoinsSlowerTablesBeforeTheWindowsOrInACardOfTheirOwn) {
  const RunSummary in_windows =
      run(series_cards + windows_card("fast.dataset, slower: [slow.dataset]", ", slower_names: [hour]") +
          model_cards + train_card());
  const RunSummary apart = run(
      std::string(series_cards) +
      "  joined: { type: join_as_of, inputs: { dataset: fast.dataset, slower: [slow.dataset] }, config: { "
      "time_column: time, slower_names: [hour] } }\n" +
      windows_card("joined.dataset") + model_cards + train_card());
  const Model model = load_model(in_windows.folder / "model");
  EXPECT_THAT(model.preparation.column_names(), Contains("hour_level (0 back)"));
  EXPECT_EQ(in_windows.evaluations.at(0).second.metrics, apart.evaluations.at(0).second.metrics);
}

TEST_F(SeriesRun, RefusesSlowerTablesWithoutTimesOrNames) {
  EXPECT_THAT(refusal_of_run(series_cards +
                             windows_card("fast.dataset, slower: [slow.dataset]", ", slower_names: [a, b]") +
                             model_cards + train_card()),
              HasSubstr("2 names for 1 slower table"));
  EXPECT_THAT(refusal_of_run(std::string(series_cards) +
                             "  windows: { type: windows, inputs: { dataset: fast.dataset, slower: "
                             "[slow.dataset] }, config: { target_column: x } }\n" +
                             model_cards + train_card()),
              HasSubstr("set time_column"));
}

TEST_F(SeriesRun, TellsOfEveryFoldThatWasWalkedForward) {
  const std::string text = series_cards + windows_card("fast.dataset") + model_cards +
                           train_card(", walk_forward: { folds: 3, window: rolling }");
  for (int sitting = 0; sitting < 2; ++sitting) {  // the second comes from the cache
    const RunSummary summary = run(text);
    const RunRecord record = read_record({summary.folder});
    const WalkForwardResult& result = record.trainings.at(0).walk_forward;
    ASSERT_EQ(result.folds.size(), 3U);
    EXPECT_EQ(result.folds[0].metrics.at(0).first, "r2");
    EXPECT_GT(result.folds[2].metrics.at(0).second, 0.9);
    EXPECT_EQ(result.rows, result.folds[0].rows + result.folds[1].rows + result.folds[2].rows);
    EXPECT_FALSE(result.metrics.empty());
    EXPECT_FALSE(result.folds[1].from.empty());
    EXPECT_THAT(read_file(summary.report, 1U << 24), HasSubstr("<h3>Walk forward</h3>"));
  }
  EXPECT_THAT(
      refusal_of_run(text + "  more: { type: train, inputs: { train_dataset: fast.dataset, model_spec: "
                            "model.model_spec }, config: { target_column: x, walk_forward: { folds: 2 "
                            "} } }\n"),
      HasSubstr("do not lie in time"));
}

TEST_F(SeriesRun, TestsFromATimeOn) {
  std::string text = series_cards + windows_card("fast.dataset") + model_cards + train_card();
  const std::string card = "  split: { type: data_split, inputs: { dataset: windows.dataset } }\n";
  text.replace(
      text.find(card), card.size(),
      "  split: { type: data_split, inputs: { dataset: windows.dataset }, config: { test_from: '150' } "
      "}\n");
  EXPECT_EQ(run(text).evaluations.at(0).second.rows, 49);  // windows that end at 150 to 198
}

TEST_F(SeriesRun, KeepsTheModelThatIsMadeOfOthers) {
  const std::string text =
      series_cards + windows_card("fast.dataset") + model_cards + train_card() +
      "  other: { type: model_define_gpu, config: { hidden_layers: [8], epochs: 3 } }\n"
      "  train_other: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: "
      "other.model_spec }, config: { target_column: x, device: cpu } }\n"
      "  together: { type: ensemble, inputs: { models: [train.trained_model, train_other.trained_model], "
      "dataset: split.test_dataset }, config: { combining: stacked } }\n"
      "  judge: { type: evaluate, inputs: { trained_model: together.trained_model, test_dataset: "
      "split.test_dataset } }\n";
  std::string known = text;
  const std::string unknown_rows = "dataset: split.test_dataset }, config: { combining";
  known.replace(known.find(unknown_rows), unknown_rows.size(),
                "dataset: split.train_dataset }, config: { combining");
  EXPECT_THAT(refusal_of_run(known), HasSubstr("is trained on split.train_dataset"));
  const RunSummary summary = run(text);
  const Model kept = load_model(summary.folder / "model");
  ASSERT_EQ(kept.members.size(), 2U);
  EXPECT_EQ(kept.members[0].type(), "ridge");
  EXPECT_EQ(kept.members[1].type(), "neural_network");
  EXPECT_EQ(load_model(summary.folder / "model-train").type(), "ridge");
  ASSERT_EQ(summary.evaluations.size(), 2U);
  EXPECT_GT(kept.weights.at(0), 0.5);  // a wave follows a straight line of its past exactly
}

// Also where they are a part of those that a model was trained on, or have them as a part, and where the
// model was combined before.
TEST_F(SeriesRun, ChoosesWeightsOnlyByRowsThatNoModelKnows) {
  const std::string trained = series_cards + windows_card("fast.dataset") + model_cards + train_card() +
                              "  again: { type: train, inputs: { train_dataset: split.train_dataset, "
                              "model_spec: model.model_spec }, config: { target_column: x } }\n"
                              "  parts: { type: data_split, inputs: { dataset: split.train_dataset } }\n"
                              "  first: { type: ensemble, inputs: { models: [train.trained_model, "
                              "again.trained_model] } }\n";
  const auto refusal_of = [&](const std::string& model, const std::string& rows,
                              const std::string& combining) -> std::string {
    try {
      document(trained + "  last: { type: ensemble, inputs: { models: [" + model +
               ".trained_model, again.trained_model], dataset: " + rows +
               " }, config: { combining: " + combining + " } }\n");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_of("train", "split.test_dataset", "stacked"), "");
  EXPECT_EQ(refusal_of("first", "split.test_dataset", "stacked"), "");
  EXPECT_THAT(refusal_of("train", "windows.dataset", "stacked"),
              HasSubstr("is trained on split.train_dataset, which has rows in common with windows.dataset"));
  EXPECT_THAT(refusal_of("train", "parts.test_dataset", "stacked"),
              HasSubstr("which has rows in common with parts.test_dataset"));
  const std::string combined = trained.substr(0, trained.find("  again:")) +
                               "  other: { type: train, inputs: { train_dataset: split.test_dataset, "
                               "model_spec: model.model_spec }, config: { target_column: x } }\n"
                               "  first: { type: ensemble, inputs: { models: [train.trained_model, "
                               "train.trained_model] } }\n"
                               "  last: { type: ensemble, inputs: { models: [first.trained_model, "
                               "other.trained_model], dataset: split.train_dataset }, config: { combining: "
                               "stacked } }\n";
  EXPECT_THAT(refusal_of_run(combined), HasSubstr("the card train is trained on split.train_dataset"));
  // A mean chooses nothing.
  EXPECT_EQ(refusal_of("train", "split.train_dataset", "average"), "");
}

// Before anything is trained.
TEST_F(SeriesRun, CombinesOnlyModelsThatFitEachOther) {
  const auto refusal_of = [&](const std::string& model, const std::string& training,
                              const std::string& together) {
    try {
      document(
          series_cards + windows_card("fast.dataset") + model_cards + train_card() +
          "  other: { type: model_define_gpu, config: { " + model +
          " } }\n"
          "  twice: { type: data_split, inputs: { dataset: windows.dataset }, config: { random_seed: 7 } }\n"
          "  alike: { type: data_split, inputs: { dataset: windows.dataset } }\n"
          "  train_other: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: "
          "other.model_spec }, config: { " +
          training + " } }\n  together: { type: ensemble, " + together + " }\n");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string both = "inputs: { models: [train.trained_model, train_other.trained_model] }";
  const std::string network = "hidden_layers: [8], epochs: 3";
  EXPECT_EQ(refusal_of(network, "target_column: x", both), "");
  EXPECT_THAT(refusal_of(network, "target_column: y", both), HasSubstr("the same target"));
  EXPECT_THAT(refusal_of("model_type: gru, epochs: 3", "target_column: x", both), HasSubstr("reads windows"));
  EXPECT_THAT(refusal_of(network + ", loss: quantile, quantile: 0.9", "target_column: x", both),
              HasSubstr("same quantile"));
  EXPECT_THAT(
      refusal_of(network, "target_column: x", both + ", config: { combining: weighted, weights: [1, 2, 3] }"),
      HasSubstr("2 models and 3 weights"));
  EXPECT_THAT(refusal_of(network, "target_column: x", "inputs: { models: [train.trained_model] }"),
              HasSubstr("one model to combine"));
  const auto stacked_on = [&](const std::string& rows) {
    return refusal_of(network, "target_column: x",
                      "inputs: { models: [train.trained_model, train_other.trained_model], dataset: " + rows +
                          " }, config: { combining: stacked }");
  };
  EXPECT_EQ(stacked_on("split.test_dataset"), "");
  EXPECT_EQ(stacked_on("alike.test_dataset"), "");
  EXPECT_THAT(stacked_on("alike.train_dataset"), HasSubstr("divided in two ways"));
  EXPECT_THAT(stacked_on("twice.test_dataset"), HasSubstr("divided in two ways"));
}

// Days of which the code, 007 or 008, decides what the hours of the next one are around; the first has
// another code, and a 13th of the month among them tells days from months.
struct DaysAndHours {
  std::string days = "time,code,since,level\n";
  std::string hours = "time,x\n";

  void add(int month, int day, const std::string& code, int past_code) {
    days += fmt::format("{:02}/{:02}/2021,{},{:02}/{:02}/2020,{}\n", day, month, code, day, month, day % 5);
    for (int hour = 0; hour < 24; ++hour)
      hours +=
          fmt::format("2021-{:02}-{:02} {:02}:00:00,{}\n", month, day, hour, past_code + 0.01 * (hour % 7));
  }
};

TEST_F(SeriesRun, ReadsSlowerTablesOfAForecastAsInTheTraining) {
  DaysAndHours training;
  const auto code = [](int day) { return day % 3 == 0 ? 7 : 8; };
  for (int day = 1; day <= 28; ++day)
    training.add(1, day, day == 1 ? "x9" : fmt::format("00{}", code(day)), code(day - 1));
  DaysAndHours after;
  for (int day = 1; day <= 5; ++day) after.add(2, day, fmt::format("00{}", code(day)), code(day - 1));
  const std::string names = after.days.substr(0, after.days.find('\n') + 1);
  write_file(folder.path() / "fast.csv", training.hours);
  write_file(folder.path() / "slow.csv", training.days);
  write_file(folder.path() / "hours.csv", after.hours);
  write_file(folder.path() / "few.csv", after.days);
  write_file(folder.path() / "all.csv", training.days + after.days.substr(names.size()));
  const auto forecast = [&](const std::string& days) {
    const RunSummary summary =
        run(series_cards + windows_card("fast.dataset, slower: [slow.dataset]", ", slower_names: [s]") +
            model_cards + train_card() + "  hours: { type: data_load, config: { path: hours.csv } }\n" +
            "  days: { type: data_load, config: { path: " + days + " } }\n" +
            "  forecast: { type: inference, inputs: { trained_model: train.trained_model, dataset: "
            "hours.dataset, slower: [days.dataset] }, config: { include_features: false } }\n");
    const Model model = load_model(summary.folder / "model");
    EXPECT_THAT(model.preparation.text_columns(), Contains("s_code"));
    EXPECT_EQ(model.preparation.date_forms(), (DateForms{{"s_since", "%d/%m/%Y"}, {"s_time", "%d/%m/%Y"}}));
    return read_file(summary.folder / "predictions-forecast.csv", 1U << 16);
  };
  const std::string expected = forecast("all.csv");
  EXPECT_THAT(expected, HasSubstr("\"prediction\"\n8."));  // the fourth, known once the fifth has begun
  EXPECT_EQ(forecast("few.csv"), expected);
}

}  // namespace
}  // namespace stoker
