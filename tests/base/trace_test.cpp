#include "base/time/trace.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"

namespace stoker {
namespace {

TEST(Trace, OfNobodyCostsNothingAndKeepsNothing) {
  { const Traced span(TraceKind::training, "steps"); }
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(Trace, KeepsSpansOfAllThreadsWithTheirTotals) {
  const Tracing tracing;
  { const Traced span(TraceKind::training, "steps"); }
  std::thread([] { const Traced span(TraceKind::training, "steps"); }).join();
  const std::vector<Trace::Span> spans = tracing.trace().spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_NE(spans[0].track, spans[1].track);
  EXPECT_GE(spans[1].begin, spans[0].begin);
  const Trace::Total total = tracing.trace().totals(TraceKind::training).at("steps");
  EXPECT_EQ(total.count, 2);
  EXPECT_DOUBLE_EQ(total.seconds, spans[0].seconds + spans[1].seconds);
}

TEST(Trace, IsBoundedHoweverMuchHappens) {
  Trace trace;
  for (std::size_t i = 0; i < Trace::most_spans + 500; ++i)
    trace.add({TraceKind::operation, "aten::mm", 0, 1, 1});
  trace.add({TraceKind::card, "train", 0, 1, 1});
  EXPECT_EQ(trace.spans().size(), Trace::most_spans + 1);
  EXPECT_EQ(trace.left_out(), 500U);
  EXPECT_EQ(trace.totals(TraceKind::operation).at("aten::mm").count,
            static_cast<std::int64_t>(Trace::most_spans) + 500);
  std::int64_t steps = 0;
  for (int i = 0; i < 1'000; ++i) steps += trace.takes_step() ? 1 : 0;
  EXPECT_EQ(steps, Trace::most_steps);
}

TEST(Trace, CountsASpanWithoutThoseInsideIt) {
  Trace trace;
  trace.add({TraceKind::operation, "linear", 0, 5, 1}, 2);
  trace.add({TraceKind::operation, "mm", 1, 3, 1}, 3);
  EXPECT_DOUBLE_EQ(trace.totals(TraceKind::operation).at("linear").seconds, 2);
  EXPECT_DOUBLE_EQ(trace.spans()[0].seconds, 5);
}

TEST(Trace, IsOneAtATime) {
  const Tracing one;
  EXPECT_THROW(Tracing other, Error);
}

}  // namespace
}  // namespace stoker
