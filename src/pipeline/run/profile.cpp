#include "pipeline/run/profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t most_operations = 20;
constexpr double microseconds = 1e6;

std::vector<Profile::Line> lines_of(const std::map<std::string, Trace::Total>& totals, std::size_t most) {
  std::vector<Profile::Line> lines;
  double sum = 0;
  for (const auto& [name, total] : totals) {
    lines.push_back({name, total.count, total.seconds, 0});
    sum += total.seconds;
  }
  for (Profile::Line& each : lines) each.share = sum > 0 ? each.seconds / sum : 0;
  std::ranges::stable_sort(lines, std::ranges::greater(), &Profile::Line::seconds);
  lines.resize(std::min(lines.size(), most));
  return lines;
}

json lines_json(const std::vector<Profile::Line>& lines) {
  json list = json::array();
  for (const Profile::Line& each : lines)
    list.push_back(
        {{"name", each.name}, {"count", each.count}, {"seconds", each.seconds}, {"share", each.share}});
  return list;
}

// What Perfetto calls a track.
json track_name(int track) {
  const std::string name = track == Trace::device_track ? "device" : fmt::format("thread {}", track);
  return {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

// A nanosecond is more than the clock tells.
double rounded_microseconds(double seconds) {
  return std::round(seconds * microseconds * 1000) / 1000;
}

}  // namespace

Profile profile_of(const Trace& trace) {
  constexpr std::size_t all = 1'000;
  return {lines_of(trace.totals(TraceKind::training), all), lines_of(trace.totals(TraceKind::step), all),
          lines_of(trace.totals(TraceKind::operation), most_operations), trace.notes()};
}

void write_profile(const Trace& trace, const std::filesystem::path& file) {
  json events = json::array();
  std::set<int> tracks;
  for (const Trace::Span& span : trace.spans()) {
    tracks.insert(span.track);
    events.push_back({{"name", span.name},
                      {"cat", name_of(span.kind)},
                      {"ph", "X"},
                      {"ts", rounded_microseconds(span.begin)},
                      {"dur", rounded_microseconds(span.seconds)},
                      {"pid", 1},
                      {"tid", span.track}});
  }
  for (const int track : tracks) events.push_back(track_name(track));
  const Profile profile = profile_of(trace);
  const json whole{{"displayTimeUnit", "ms"},
                   {"traceEvents", std::move(events)},
                   {"parts", lines_json(profile.parts)},
                   {"step", lines_json(profile.step)},
                   {"operations", lines_json(profile.operations)},
                   {"notes", profile.notes},
                   {"spans_left_out", trace.left_out()}};
  write_file(file, whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace stoker
