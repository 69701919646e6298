#include <gtest/gtest.h>

#include "base/files/files.h"
#include "pipeline/document/sweep_document.h"
#include "pipeline/watchers.h"

namespace stoker {
namespace {

const std::filesystem::path examples = std::filesystem::path(STOKER_SOURCE_DIR) / "examples";

TEST(Examples, AllAreDocumentsThatCanBeRead) {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator(examples)) {
    if (each.is_directory()) continue;  // commands are none
    const bool searched = each.path().stem() == "sweep";
    const Document document = searched ? load_sweep(each.path()).base : load_pipeline(each.path());
    EXPECT_GE(document.cards.size(), 5U) << each.path();
    ++count;
  }
  EXPECT_GE(count, 5U);
}

// Its noise has a standard deviation of 10, and nothing but noise is left.
TEST(Examples, TheLinearOnesReachTheNoiseOfTheSample) {
  const TemporaryFolder folder;
  for (const char* name : {"boston_ridge.yaml", "seed_pipeline.json"}) {
    const Watched run = run_watched(load_pipeline(examples / name), options_in(folder.path()));
    EXPECT_NEAR(run.summary.evaluations.at(0).second.metric("rmse").value(), 10.0, 0.3) << name;
  }
}

TEST(Examples, TheNetworksLearnInFewEpochs) {
  const TemporaryFolder folder;
  const Watched friedman = run_watched(
      load_pipeline(examples / "friedman.yaml", {"cards.model.config.epochs=6"}), options_in(folder.path()));
  EXPECT_GT(friedman.summary.evaluations.at(0).second.metric("r2").value(), 0.8);
  const Watched blobs = run_watched(load_pipeline(examples / "blobs.yaml", {"cards.model.config.epochs=2"}),
                                    options_in(folder.path()));
  EXPECT_GT(blobs.summary.evaluations.at(0).second.metric("accuracy").value(), 0.8);
}

}  // namespace
}  // namespace stoker
