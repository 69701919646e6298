#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/time/elapsed.h"

// What a process does and for how long, for whoever wants to see where the time goes. While nobody traces,
// all of this costs one look at a pointer.
namespace stoker {

// What a span is part of; each kind has room of its own, so that many of one leave none of another out.
enum class TraceKind { card, training, step, operation, background };
constexpr std::size_t trace_kinds = 5;
std::string_view name_of(TraceKind kind);

// The name of spans of the kind background that happen once on a machine: what comes of them is kept.
constexpr const char* compiling_kernels = "compiling kernels";

// May be used by several threads.
class Trace {
 public:
  struct Span {
    TraceKind kind = TraceKind::card;
    std::string name;
    double begin = 0;  // seconds since the trace began
    double seconds = 0;
    int track = 0;  // a thread, from 1, or a device
  };
  struct Total {
    std::int64_t count = 0;
    double seconds = 0;
  };
  static constexpr std::size_t most_spans = 10'000;  // of each kind; later ones are counted alone
  static constexpr std::int64_t most_steps = 32;     // of all engines together whose parts are looked at
  static constexpr int device_track = 1'000'000;     // beyond any thread

  void add(TraceKind kind, std::string_view name, Moment begin, double seconds);
  void add(Span span);
  // For spans that contain each other: what counts for the total is without those inside.
  void add(Span span, double own_seconds);
  double seconds_at(Moment moment) const;

  // Whether one more step is to be looked at in parts, which slows it down.
  bool takes_step();
  // What people should know when they read it, once each.
  void note(const std::string& text);

  std::vector<Span> spans() const;
  std::map<std::string, Total> totals(TraceKind kind) const;
  std::vector<std::string> notes() const;
  std::size_t left_out() const;

  // The one of this process, or null.
  static Trace* current();

 private:
  friend class Tracing;

  mutable std::mutex mutex_;
  const Moment began_ = now();
  std::array<std::vector<Span>, trace_kinds> spans_;
  std::array<std::map<std::string, Total>, trace_kinds> totals_;
  std::vector<std::string> notes_;
  std::size_t left_out_ = 0;
  std::atomic<std::int64_t> steps_{0};
};

// While it is there, its trace is that of the process; there may be one at a time.
class Tracing {
 public:
  Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
  ~Tracing();

  const Trace& trace() const { return trace_; }

 private:
  Trace trace_;
};

// A span from here to the end of the scope.
class Traced {
 public:
  Traced(TraceKind kind, std::string_view name) : trace_(Trace::current()), kind_(kind) {
    if (trace_ == nullptr) return;
    name_ = name;
    begin_ = now();
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;
  ~Traced();

 private:
  Trace* trace_;
  TraceKind kind_;
  std::string name_;
  Moment begin_;
};

// Of the calling thread, from 1.
int track_of_thread();

}  // namespace stoker
