// Rows that a model meets after its training, and what a run keeps of what was said about them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

namespace stoker {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RowsToCome : public testing::Test {
 protected:
  // The target of data row `row` (from 1) is `value`; all else is a line.
  void write_line(int row, const std::string& value) {
    std::string text = "a,g,y\n";
    for (int i = 1; i <= 60; ++i) {
      text += fmt::format("{},g{},{}\n", (i * 7) % 31, i % 12, i == row ? value : fmt::format("{}.5", i));
    }
    write_file(folder_.path() / "table.csv", text);
  }
  Document document(SmallPipeline pipeline = {}) const {
    pipeline.load = "source: csv, path: table.csv";
    pipeline.train = "target_column: y";
    return pipeline.document(folder_.path());
  }
  RunOptions options() const { return options_in(folder_.path() / "runs"); }

  TemporaryFolder folder_;
};

TEST_F(RowsToCome, WithAnUnusableTargetAreRefusedBeforeTheTraining) {
  for (const char* value : {"", "inf", "oops"}) {
    for (int row = 1; row <= 60; row += 7) {  // some of these are test rows
      write_line(row, value);
      Watcher watcher;
      const Error error = failure_of(document(), options(), watcher);
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      EXPECT_THAT(error.what(), HasSubstr(fmt::format("row {}", row))) << value;
      EXPECT_THAT(watcher.ran, Not(Contains("train")));
    }
  }
}

TEST_F(RowsToCome, AreReadInTheTypesOfTheTraining) {
  std::string text = "zip,y\n";
  for (int i = 0; i < 60; ++i) text += i % 3 == 0 ? "007,1.5\n" : i % 3 == 1 ? "A1,5.5\n" : "7,9.5\n";
  write_file(folder_.path() / "table.csv", text);
  write_file(folder_.path() / "new.csv", "zip,y\n007,1.5\n7,9.5\n007,1.5\n");
  SmallPipeline pipeline;
  pipeline.model_card = "{ type: model_define, config: { model_type: linear_regression } }";
  pipeline.more_cards =
      "  fresh: { type: data_load, config: { source: csv, path: new.csv } }\n"
      "  measure: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
      "fresh.dataset } }\n"
      "  predict: { type: inference, inputs: { trained_model: train.trained_model, dataset: fresh.dataset } "
      "}\n";
  const Watched watched = run_watched(document(pipeline), options());
  const auto& [card, evaluation] = watched.summary.evaluations.back();
  EXPECT_EQ(card, "measure");
  EXPECT_NEAR(evaluation.metric("rmse").value(), 0, 1e-9);
  EXPECT_THAT(read_file(watched.summary.folder / "predictions-predict.csv", 10'000), HasSubstr("007"));
}

TEST_F(RowsToCome, HaveNoGroupColumnAmongTheFeatures) {
  write_line(1, "1.5");
  SmallPipeline pipeline;
  pipeline.split += ", group_column: g";
  for (const bool reused : {false, true}) {
    SCOPED_TRACE(reused);
    const Watched watched = run_watched(document(pipeline), options());
    EXPECT_THAT(read_record({watched.summary.folder}).notes, Contains(HasSubstr("'g' is left out")));
    EXPECT_THAT(read_file(watched.summary.report, 10'000'000), HasSubstr("&#39;g&#39; is left out"));
  }
}

TEST_F(RowsToCome, ThatWereFilledInAreNotedInTheRecordAndTheReport) {
  std::string text = "a,y\n";
  for (int i = 1; i <= 60; ++i)
    text += fmt::format("{},{}.5\n", i % 5 == 0 ? "" : std::to_string(i % 13), i % 13);
  write_file(folder_.path() / "table.csv", text);
  for (const bool reused : {false, true}) {
    SCOPED_TRACE(reused);
    const Watched watched = run_watched(document(), options());
    EXPECT_EQ(watched.watcher.reused.empty(), !reused);
    const RunRecord record = read_record({watched.summary.folder});
    EXPECT_THAT(record.notes, Contains(HasSubstr("values are missing, filled with the median")));
    EXPECT_THAT(record.warnings, IsEmpty());
    EXPECT_THAT(read_file(watched.summary.report, 10'000'000), HasSubstr("filled with the median"));
  }
}

}  // namespace
}  // namespace stoker
