#include "serve/job_events.h"

#include <array>
#include <charconv>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "store/runs.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_at_once = 256 * 1024;

// Whole lines from a place on; what is being written to its end waits.
std::string whole_lines(const fs::path& path, std::int64_t from) {
  std::error_code none;
  const auto size = static_cast<std::int64_t>(fs::file_size(path, none));
  if (none || size <= from) return "";
  std::ifstream file(path, std::ios::binary);
  file.seekg(from);
  std::string text(std::min(static_cast<std::size_t>(size - from), most_at_once), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  const std::size_t last = text.rfind('\n');
  if (last == std::string::npos) return text.size() == most_at_once ? text : "";
  return text.substr(0, last + 1);
}

// A name must not end the line that it stands on.
std::string event_name(const nlohmann::json& event) {
  const std::string name = event.is_object() ? event.value("event", "") : "";
  return name.empty() || name.find_first_of("\r\n") != std::string::npos ? "message" : name;
}

}  // namespace

std::string EventPlace::text() const {
  return fmt::format("{}-{}-{}", state, run_bytes, log_bytes);
}

std::optional<EventPlace> EventPlace::from(std::string_view text) {
  std::array<std::int64_t, 3> numbers{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '-')) return std::nullopt;
    const auto read = std::from_chars(at, end, numbers[i]);
    if (read.ec != std::errc() || numbers[i] < 0) return std::nullopt;
    at = read.ptr;
  }
  if (at != end) return std::nullopt;
  return EventPlace{numbers[0], numbers[1], numbers[2]};
}

JobEvents::JobEvents(std::string id, EventPlace place, JobQueue& queue, JobStore& jobs)
    : id_(std::move(id)), place_(place), queue_(queue), jobs_(jobs) {
  if (const auto job = jobs.find(id_)) run_events_ = RunPaths{queue.run_folder_of(*job)}.events();
  log_ = queue.folder_of(id_).log();
  progress_ = queue.folder_of(id_).progress();
  ++listeners_;
}

void JobEvents::add(std::string& text, std::string_view name, const std::string& data) const {
  text += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", place_.text(), name, data);
}

// The files of a job that has ended grow no more, so what they hold after its end was seen is all.
bool JobEvents::more(std::string& text) {
  if (is_over_) return false;
  const auto job = jobs_.find(id_);
  if (!job) {
    text += "event: removed\ndata: {}\n\n";
    is_over_ = true;
    return true;
  }
  const bool is_done = has_ended(job->state) || job->state == JobState::paused;
  const bool run_is_told = add_run(text);
  const bool log_is_told = add_log(text);
  if (run_is_told && log_is_told) {
    add_states(text);
    is_over_ = is_done && jobs_.last_event(id_) <= place_.state;
  }
  if (!is_done) add_progress(text);
  return true;
}

void JobEvents::add_states(std::string& text) {
  constexpr std::int64_t most_states = 1000;
  for (const JobEvent& event : jobs_.events(id_, place_.state, most_states)) {
    place_.state = event.number;
    nlohmann::json data = event.details;
    data["time"] = event.time;
    add(text, event.kind, data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

bool JobEvents::add_run(std::string& text) {
  const std::string lines = whole_lines(run_events_, place_.run_bytes);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    begin = end + 1;
    place_.run_bytes += static_cast<std::int64_t>(line.size()) + 1;
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_discarded()) add(text, event_name(event), event.dump());
  }
  return lines.size() < most_at_once / 2;
}

bool JobEvents::add_log(std::string& text) {
  const std::string lines = whole_lines(log_, place_.log_bytes);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    begin = end + 1;
    place_.log_bytes += static_cast<std::int64_t>(line.size()) + 1;
    const nlohmann::json data{{"line", printable(line)}};
    add(text, "log", data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return lines.size() < most_at_once / 2;
}

void JobEvents::add_progress(std::string& text) {
  std::error_code none;
  const auto time = fs::last_write_time(progress_, none);
  if (none || time == progress_time_) return;
  std::ifstream file(progress_);
  std::string line;
  if (!std::getline(file, line)) return;
  progress_time_ = time;
  const nlohmann::json data = nlohmann::json::parse(line, nullptr, false);
  if (!data.is_discarded()) text += fmt::format("event: progress\ndata: {}\n\n", data.dump());
}

}  // namespace stoker::serve
