#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "data/source/source.h"
#include "model/family.h"
#include "pipeline/watchers.h"
#include "predict/rows/predictions.h"
#include "store/runs.h"

// Sets of receivers as documents have them.
namespace stoker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string receptions(const std::string& model = "", const std::string& training = "",
                       const std::string& filter = "min_snr_db: 5, max_gdop: 10") {
  return "version: 1\nname: receptions\ncards:\n"
         "  load: { type: data_load, config: { source: sample, sample_name: uhf_mixed, sample_rows: 600 } }\n"
         "  filter: { type: data_filter, inputs: { dataset: load.dataset }, config: { " +
         filter +
         " } }\n"
         "  split: { type: data_split, inputs: { dataset: filter.dataset } }\n"
         "  model: { type: model_define_gpu, config: { model_type: triangulation, epochs: 60, batch_size: "
         "32, "
         "learning_rate: 0.002, validation_ratio: 0.2" +
         model +
         " } }\n"
         "  train: { type: train_gpu, inputs: { train_dataset: split.train_dataset, model_spec: "
         "model.model_spec }, "
         "config: { target_column: position, mask_column: present, engine: eager" +
         training +
         " } }\n"
         "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
         "split.test_dataset } }\n";
}

Document document_of(const std::string& text) {
  return read_document(config::parse_document(text, "receptions.yaml"), "receptions.yaml", ".");
}

std::string refusal_of(const std::string& text) {
  const TemporaryFolder folder;
  try {
    run_watched(document_of(text), options_in(folder.path()));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    return error.what();
  }
  return "";
}

TEST(SetsRun, FindsPlacesAndTellsHowSureItIs) {
  const TemporaryFolder folder;
  const Watched run = run_watched(document_of(receptions()), options_in(folder.path()));
  const Evaluation& evaluation = run.summary.evaluations.at(0).second;
  EXPECT_GT(evaluation.metric("r2").value(), 0.8);
  EXPECT_LT(evaluation.metric("distance_p50").value(), evaluation.metric("distance_p68").value());
  EXPECT_LT(evaluation.metric("distance_p95").value(), 60);
  // On 120 rows; what is chosen on 96 others scatters as much.
  EXPECT_NEAR(evaluation.metric("within_68").value(), 0.68, 0.2);
  ASSERT_NE(evaluation.chart<PositionMap>(), nullptr);
  EXPECT_THAT(read_file(run.summary.folder / "report.html", 1 << 24), HasSubstr("class=\"map-region\""));
  const Model model = load_model(run.summary.folder / "model");
  EXPECT_EQ(parameter_count(model.network), 15'267);
  const Table rows = Source::open(Source::config_for("sample:uhf_mixed"), ".").read();
  const Predictions predictions = predict(model, rows);
  EXPECT_THAT(predictions_table(predictions, rows, false, "prediction").column_names(),
              ElementsAre("prediction_1", "prediction_2", "deviation"));
  for (const double each : predictions.deviations) ASSERT_GT(each, 0);
}

// Of every seventh row no receiver is present.
TEST(SetsRun, LeavesOutRowsWithoutAnyReceiver) {
  const TemporaryFolder folder;
  std::string rows = "r_0_0,r_1_0,on_0,on_1,p_0,p_1\n";
  for (int i = 0; i < 140; ++i) {
    const int on = i % 7 == 3 ? 0 : 1;
    rows += fmt::format("{},{},{},{},{},{}\n", i % 13, i % 11, on, on, i % 13 + i % 11, i % 13 - i % 11);
  }
  write_file(folder.path() / "rows.csv", rows);
  const auto text = [](const std::string& training) {
    return "version: 1\nname: empty\ncards:\n"
           "  load: { type: data_load, config: { source: file, path: rows.csv } }\n"
           "  split: { type: data_split, inputs: { dataset: load.dataset } }\n"
           "  model: { type: model_define_gpu, config: { model_type: triangulation, max_receivers: 2, "
           "epochs: 2 } }\n"
           "  train: { type: train_gpu, inputs: { train_dataset: split.train_dataset, model_spec: "
           "model.model_spec }, config: { target_column: p, mask_column: on, device: cpu, engine: fused" +
           training +
           " } }\n"
           "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
           "split.test_dataset } }\n"
           "  predict: { type: inference, inputs: { trained_model: train.trained_model, dataset: "
           "load.dataset } }\n";
  };
  const auto document = [&](const std::string& training) {
    return read_document(config::parse_document(text(training), "empty.yaml"), "empty.yaml", folder.path());
  };
  const Watched run = run_watched(document(""), options_in(folder.path()));
  EXPECT_LT(run.summary.evaluations.at(0).second.rows, 28);
  const std::string events = read_file(run.summary.folder / "events.jsonl", 1 << 24);
  EXPECT_THAT(events,
              AllOf(HasSubstr("left out of what there is to train on"),
                    HasSubstr("left out of what there is to evaluate on"),
                    HasSubstr("20 of 140 rows have no member of 'r' that is present, and no prediction")));
  const Predictions predictions =
      predict(load_model(run.summary.folder / "model"),
              Source::open(Source::config_for((folder.path() / "rows.csv").string()), ".").read());
  for (std::size_t row = 0; row < 140; ++row) {
    EXPECT_EQ(std::isnan(predictions.values[2 * row]), row % 7 == 3);
    EXPECT_EQ(std::isnan(predictions.deviations[row]), row % 7 == 3);
  }
  EXPECT_THAT(read_file(run.summary.folder / "run.json", 1 << 24), HasSubstr("\"peak\""));
  EXPECT_THROW(run_watched(document(", missing_values: refuse"), options_in(folder.path())), Error);
}

TEST(SetsRun, AnEnsembleIsLessSureWhereItsMembersDisagree) {
  const TemporaryFolder folder;
  const Watched run =
      run_watched(document_of(receptions("", ", ensemble: { folds: 2 }")), options_in(folder.path()));
  const Model model = load_model(run.summary.folder / "model");
  const Table rows = Source::open(Source::config_for("sample:uhf_mixed"), ".").read();
  const Predictions together = predict(model, rows);
  const Predictions first = predict(model.members[0], rows);
  const Predictions second = predict(model.members[1], rows);
  for (std::size_t row = 0; row < 100; ++row) {
    const double apart = std::pow(first.values[2 * row] - second.values[2 * row], 2) +
                         std::pow(first.values[2 * row + 1] - second.values[2 * row + 1], 2);
    const double own = std::pow(first.deviations[row], 2) + std::pow(second.deviations[row], 2);
    ASSERT_NEAR(together.deviations[row], std::sqrt(own / 2 + apart / 8), 1e-6 * together.deviations[row]);
  }
}

// Numbers of several kinds have no mean in common: a model that knows nothing is as good as the mean of each.
TEST(SetsRun, MeasuresArraysByTheMeanOfEachNumber) {
  const TemporaryFolder folder;
  std::string rows = "a,y_0,y_1\n";
  for (int i = 0; i < 80; ++i)
    rows += fmt::format("{},{},{}\n", i * 37 % 17, 5'000'000 + i * 13 % 7, 400 + i * 29 % 11);
  write_file(folder.path() / "rows.csv", rows);
  const std::string text =
      "version: 1\nname: arrays\ncards:\n"
      "  load: { type: data_load, config: { source: file, path: rows.csv } }\n"
      "  split: { type: data_split, inputs: { dataset: load.dataset } }\n"
      "  model: { type: model_define_gpu, config: { model_type: neural_network, hidden_layers: [4], epochs: "
      "1 } }\n"
      "  train: { type: train_gpu, inputs: { train_dataset: split.train_dataset, model_spec: "
      "model.model_spec }, "
      "config: { target_column: y } }\n"
      "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
      "split.test_dataset } }\n";
  const Document document =
      read_document(config::parse_document(text, "arrays.yaml"), "arrays.yaml", folder.path());
  const Evaluation evaluation =
      run_watched(document, options_in(folder.path())).summary.evaluations.at(0).second;
  EXPECT_LT(evaluation.metric("r2").value(), 0.9);
  ASSERT_FALSE(evaluation.baselines.empty());
  for (const Baseline& each : evaluation.baselines)
    for (const auto& [name, value] : each.metrics) EXPECT_TRUE(name != "rmse" || value < 5) << value;
}

TEST(SetsRun, RefusesWhatItCannotLearn) {
  EXPECT_THAT(refusal_of(receptions(", loss: huber")), HasSubstr("leave loss at auto"));
  EXPECT_THAT(refusal_of(receptions("", ", feature_columns: [snr_db]")), HasSubstr("'snr_db' is no array"));
  EXPECT_THAT(refusal_of(receptions("", "", "max_gdop: 0")), HasSubstr("no row is left"));
  EXPECT_THAT(refusal_of(receptions("", "", "where: [nothing > 1]")), HasSubstr("nothing"));
  EXPECT_THAT(refusal_of(receptions("", ", task: multiclass")), HasSubstr("task"));
  const auto problems = [](const std::string& text) {
    try {
      document_of(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(problems(receptions(", attention_heads: 5")), HasSubstr("do not divide width"));
  EXPECT_THAT(problems(receptions("", "", "where: [snr_db 5]")), HasSubstr("is no condition"));
  EXPECT_THAT(problems(receptions("", "", "")), HasSubstr("no condition is given"));
}

}  // namespace
}  // namespace stoker
