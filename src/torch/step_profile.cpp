#include "torch/step_profile.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <ATen/record_function.h>

namespace stoker::torch_door {
namespace {

constexpr std::int64_t steps_to_pass_over = 8;
constexpr const char* waiting = "waiting";

std::atomic<int> steps_looked_at{0};  // right now, by all engines

struct Operation : at::ObserverContext {
  Moment begin = now();
};

// Of the operations that are under way in this thread, the time that those inside them took.
thread_local std::vector<double> inside;

std::unique_ptr<at::ObserverContext> begin_operation(const at::RecordFunction&) {
  if (steps_looked_at.load(std::memory_order_relaxed) == 0) return nullptr;
  inside.push_back(0);
  return std::make_unique<Operation>();
}

void end_operation(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr || inside.empty()) return;
  const Moment begin = static_cast<Operation*>(context)->begin;
  const double seconds = seconds_since(begin);
  const double own = seconds - inside.back();
  inside.pop_back();
  if (!inside.empty()) inside.back() += seconds;
  if (Trace* trace = Trace::current())
    trace->add({TraceKind::operation, function.name(), trace->seconds_at(begin), seconds, track_of_thread()},
               own);
}

// For good: LibTorch wants nothing else to run while a listener is taken away. It asks for nothing while no
// step is looked at.
void listen_to_operations() {
  static const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback(begin_operation, end_operation)
                                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  static_cast<void>(handle);
}

}  // namespace

StepProfile::StepProfile(std::unique_ptr<DeviceClock> clock)
    : trace_(Trace::current()), clock_(std::move(clock)) {
  if (trace_ != nullptr) listen_to_operations();
}

StepProfile::~StepProfile() {
  if (looks_) --steps_looked_at;
}

std::int64_t StepProfile::pass_over(std::int64_t steps) {
  if (trace_ == nullptr || passed_over_ >= steps_to_pass_over) return steps;
  const std::int64_t passed = std::min(steps, steps_to_pass_over - passed_over_);
  passed_over_ += passed;
  return passed;
}

bool StepProfile::begin_step() {
  if (trace_ == nullptr || passed_over_ < steps_to_pass_over || !trace_->takes_step()) return false;
  looks_ = true;
  ++steps_looked_at;
  mark(follows_step_ ? waiting : nullptr);
  return true;
}

void StepProfile::mark(const char* part) {
  if (clock_) clock_->mark();
  marks_.push_back({part, now()});
}

void StepProfile::end_step() {
  looks_ = false;
  follows_step_ = true;
  --steps_looked_at;
}

void StepProfile::interrupt() {
  follows_step_ = false;
}

void StepProfile::collect() {
  follows_step_ = false;
  if (marks_.empty()) return;
  std::vector<double> moments;
  if (clock_) {
    moments = clock_->take();
  } else {
    for (const Mark& each : marks_)
      moments.push_back(std::chrono::duration<double>(each.moment - marks_.front().moment).count());
  }
  const double begin = trace_->seconds_at(marks_.front().moment);
  const int track = clock_ ? Trace::device_track : track_of_thread();
  for (std::size_t i = 1; i < marks_.size(); ++i)
    if (marks_[i].part != nullptr)
      trace_->add(
          {TraceKind::step, marks_[i].part, begin + moments[i - 1], moments[i] - moments[i - 1], track});
  marks_.clear();
}

}  // namespace stoker::torch_door
