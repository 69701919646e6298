#include "serve/system/request_figures.h"

#include <fmt/format.h>

namespace stoker::serve {
namespace {

std::string labels_of(const Route* route) {
  if (route == nullptr) return R"(method="",route="")";
  return fmt::format(R"(method="{}",route="{}")", route->method, route->path);
}

}  // namespace

void RequestFigures::add(const Route* route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++answers_[{route, status}];
  Times& times = times_[route];
  for (std::size_t i = 0; i < bounds.size(); ++i)
    if (seconds <= bounds[i]) ++times.within[i];
  ++times.count;
  times.seconds += seconds;
}

std::string RequestFigures::text() const {
  const std::lock_guard lock(mutex_);
  std::string text =
      "# HELP stoker_http_requests_total Requests by route and status; no route: there was none.\n"
      "# TYPE stoker_http_requests_total counter\n";
  for (const auto& [key, count] : answers_)
    text += fmt::format("stoker_http_requests_total{{{},status=\"{}\"}} {}\n", labels_of(key.first),
                        key.second, count);
  text +=
      "# HELP stoker_http_request_seconds Time to an answer, or to the first of a stream.\n"
      "# TYPE stoker_http_request_seconds histogram\n";
  for (const auto& [route, times] : times_) {
    const std::string labels = labels_of(route);
    for (std::size_t i = 0; i < bounds.size(); ++i)
      text += fmt::format("stoker_http_request_seconds_bucket{{{},le=\"{}\"}} {}\n", labels, bounds[i],
                          times.within[i]);
    text += fmt::format(
        "stoker_http_request_seconds_bucket{{{0},le=\"+Inf\"}} {1}\n"
        "stoker_http_request_seconds_sum{{{0}}} {2}\n"
        "stoker_http_request_seconds_count{{{0}}} {1}\n",
        labels, times.count, times.seconds);
  }
  return text;
}

}  // namespace stoker::serve
