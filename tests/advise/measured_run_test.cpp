#include "advise/measured_run.h"

#include <gtest/gtest.h>

#include "base/files/files.h"

// How the time of a run is divided.
namespace stoker::advise {
namespace {

TEST(MeasuredRun, CountsWhatNodesLearnFromAllPixelsAsStatistics) {
  Trace trace;
  trace.add(TraceKind::training, "preparing the data", now(), 0.5);
  trace.add(TraceKind::training, "statistics of the nodes", now(), 2);
  trace.add(TraceKind::training, "steps", now(), 8);
  trace.add(TraceKind::card, "statistics of the nodes", now(), 16);
  EXPECT_EQ(seconds_of_statistics(trace), 2.5);
}

// A run that is measured a second time has to train; what the first made is in the cache.
TEST(MeasuredRun, TrainsAnewWithoutTheCache) {
  const TemporaryFolder folder;
  RunToMeasure wanted{folder.path() / "pipeline.yaml", {}, folder.path() / "runs", false};
  write_file(wanted.document, R"(
version: 1
cards:
  load: { type: data_load, config: { source: sample, sample_name: blobs, sample_rows: 200 } }
  model: { type: model_define_gpu, config: { epochs: 2, hidden_layers: [8] } }
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: label, device: cpu }
)");
  for (const int run : {1, 2}) {
    const MeasuredRun measured = measure_run(wanted, StopSignal{});
    ASSERT_EQ(measured.trainings.size(), 1U) << run;
    EXPECT_GT(measured.trainings[0].planned_steps, 0) << run;
    EXPECT_EQ(measured.trainings[0].placement, "host") << run;
  }
  wanted.use_cache = true;
  const MeasuredRun found = measure_run(wanted, StopSignal{});
  EXPECT_TRUE(found.trainings.empty() || found.trainings[0].planned_steps == 0);
}

}  // namespace
}  // namespace stoker::advise
