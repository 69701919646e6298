#include "base/time/trace.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace stoker {
namespace {

std::atomic<Trace*> current_trace{nullptr};
constexpr std::size_t most_totals = 1'000;  // names of one kind
constexpr std::size_t most_trace_notes = 100;

}  // namespace

std::string_view name_of(TraceKind kind) {
  static constexpr std::array<std::string_view, trace_kinds> names{"card", "training", "step", "operation",
                                                                   "background"};
  return names[static_cast<std::size_t>(kind)];
}

Trace* Trace::current() {
  return current_trace.load(std::memory_order_acquire);
}

int track_of_thread() {
  static std::atomic<int> last{0};
  thread_local const int number = ++last;
  return number;
}

double Trace::seconds_at(Moment moment) const {
  return std::chrono::duration<double>(moment - began_).count();
}

void Trace::add(TraceKind kind, std::string_view name, Moment begin, double seconds) {
  add({kind, std::string(name), seconds_at(begin), seconds, track_of_thread()});
}

void Trace::add(Span span) {
  const double seconds = span.seconds;
  add(std::move(span), seconds);
}

void Trace::add(Span span, double own_seconds) {
  const auto kind = static_cast<std::size_t>(span.kind);
  const std::lock_guard lock(mutex_);
  std::map<std::string, Total>& totals = totals_[kind];
  if (totals.size() < most_totals || totals.contains(span.name)) {
    Total& total = totals[span.name];
    ++total.count;
    total.seconds += own_seconds;
  }
  if (spans_[kind].size() < most_spans) {
    spans_[kind].push_back(std::move(span));
  } else {
    ++left_out_;
  }
}

bool Trace::takes_step() {
  return steps_.load(std::memory_order_relaxed) < most_steps && steps_.fetch_add(1) < most_steps;
}

void Trace::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (notes_.size() < most_trace_notes && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(text);
}

std::vector<Trace::Span> Trace::spans() const {
  const std::lock_guard lock(mutex_);
  std::vector<Span> all;
  for (const std::vector<Span>& each : spans_) all.insert(all.end(), each.begin(), each.end());
  return all;
}

std::map<std::string, Trace::Total> Trace::totals(TraceKind kind) const {
  const std::lock_guard lock(mutex_);
  return totals_[static_cast<std::size_t>(kind)];
}

std::vector<std::string> Trace::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

std::size_t Trace::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

Tracing::Tracing() {
  Trace* none = nullptr;
  if (!current_trace.compare_exchange_strong(none, &trace_)) fail("this process is traced already");
}

Tracing::~Tracing() {
  current_trace.store(nullptr);
}

Traced::~Traced() {
  if (trace_ == nullptr) return;
  try {
    trace_->add(kind_, name_, begin_, seconds_since(begin_));
  } catch (const std::exception&) {
    // Without memory for it, one span is missing.
  }
}

}  // namespace stoker
