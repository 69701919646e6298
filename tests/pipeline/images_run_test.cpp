#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "pipeline/watchers.h"

// Rows to test with that a source brings along, as documents have them.
namespace stoker {
namespace {

using testing::Contains;
using testing::HasSubstr;

Document glyphs(const std::string& split = "", const std::string& before_split = "load") {
  const std::string text =
      "version: 1\nname: glyphs\ncards:\n"
      "  load: { type: data_load, config: { source: sample, sample_name: glyphs, sample_rows: 1050 } }\n"
      "  filter: { type: data_filter, inputs: { dataset: load.dataset }, config: { where: ['label < 5'] } }\n"
      "  split: { type: data_split, inputs: { dataset: " +
      before_split + ".dataset }, config: { " + split +
      " } }\n"
      "  model: { type: model_define, config: { model_type: ridge } }\n"
      "  train: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }, "
      "config: { target_column: label, task: regression } }\n"
      "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
      "split.test_dataset } }\n";
  return read_document(config::parse_document(text, "glyphs.yaml"), "glyphs.yaml", ".");
}

std::int64_t rows_tested(const Document& document, const RunOptions& options) {
  return run_watched(document, options).summary.evaluations.at(0).second.rows;
}

TEST(ImagesRun, TestsWithTheRowsThatTheSourceHasForIt) {
  const TemporaryFolder folder;
  const Watched run = run_watched(glyphs(), options_in(folder.path()));
  EXPECT_EQ(run.summary.evaluations.at(0).second.rows, 150);
  EXPECT_THAT(run.watcher.notes, Contains(HasSubstr("150 rows to test with are those that the source has")));
  EXPECT_EQ(rows_tested(glyphs("test_rows: drawn"), options_in(folder.path())), 210);
}

TEST(ImagesRun, KnowsThemBehindAFilterAndFromTheCache) {
  const TemporaryFolder folder;
  const std::int64_t rows = rows_tested(glyphs("", "filter"), options_in(folder.path()));
  EXPECT_GT(rows, 40);  // about half of 150
  EXPECT_LT(rows, 110);
  // Another split over the same rows, which come from the cache now.
  EXPECT_EQ(rows_tested(glyphs("random_seed: 7", "filter"), options_in(folder.path())), rows);
}

}  // namespace
}  // namespace stoker
