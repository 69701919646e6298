#include "advise/measured_run.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stoker::advise
