#include "serve/jobs/job_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "store/runs.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;

// The most bytes that a stream takes from a file before the next stream has its turn.
constexpr std::size_t most_at_once = 64 * 1024;
constexpr std::size_t longest_line = 8 * 1024 * 1024;
// Of those who change records without telling.
constexpr auto longest_without_a_look = std::chrono::seconds(10);

struct Lines {
  std::string text;    // whole lines, unless they are the last and nobody writes any more
  bool is_all = true;  // that the file has by now
};

std::string bytes_of(const fs::path& path, std::int64_t from, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(from);
  std::string text(count, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// From a place on. What is being written to the end waits until its line is whole. A file that is shorter
// than that is another one than it was.
Lines lines_from(const fs::path& path, std::int64_t& from, bool is_done) {
  std::error_code none;
  const auto size = static_cast<std::int64_t>(fs::file_size(path, none));
  if (none) return {};
  if (size < from) from = 0;
  const auto there = static_cast<std::size_t>(size - from);
  if (there == 0) return {};
  Lines lines{bytes_of(path, from, std::min(there, most_at_once)), there <= most_at_once};
  std::size_t last = lines.text.rfind('\n');
  if (last == std::string::npos && !lines.is_all) {  // a line longer than that
    lines = {bytes_of(path, from, std::min(there, longest_line)), there <= longest_line};
    last = lines.text.rfind('\n');
    if (last == std::string::npos && !lines.is_all) return lines;  // no line at all: told in pieces
  }
  if (last == std::string::npos) {
    if (!is_done) lines.text.clear();
    return lines;
  }
  if (!(lines.is_all && is_done)) lines.text.resize(last + 1);
  return lines;
}

template <class Tell>
void each_line(const std::string& lines, std::int64_t& place, const Tell& tell) {
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t newline = lines.find('\n', begin);
    const std::size_t end = std::min(newline, lines.size());
    const std::size_t next = newline == std::string::npos ? lines.size() : newline + 1;
    place += static_cast<std::int64_t>(next - begin);
    if (end > begin) tell(std::string_view(lines).substr(begin, end - begin));
    begin = next;
  }
}

// A name must not end the line that it stands on.
std::string event_name(const nlohmann::json& event) {
  const auto found = event.is_object() ? event.find("event") : event.end();
  const std::string name = found != event.end() && found->is_string() ? found->get<std::string>() : "";
  return name.empty() || name.find_first_of("\r\n") != std::string::npos ? "message" : name;
}

// Of a line as runs write it, without reading all of it; else empty.
std::string_view plain_name(std::string_view line) {
  constexpr std::string_view key = "\"event\":\"";
  const std::size_t at = line.find(key);
  if (!line.starts_with("{\"time\":\"") || at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  const std::size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return end != std::string_view::npos && rest[end] == '"' ? rest.substr(0, end) : std::string_view();
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
    : id_(std::move(id)), place_(place), jobs_(jobs), changes_(queue.news().listen(id_)) {
  if (const auto job = jobs.find(id_)) run_events_ = RunPaths{queue.run_folder_of(*job)}.events();
  names_ = names_of_data(queue.data());
  log_ = queue.folder_of(id_).log();
  progress_ = queue.folder_of(id_).progress();
  ++listeners_;
}

void JobEvents::add(std::string& text, std::string_view name, std::string_view data) const {
  fmt::format_to(std::back_inserter(text), "id: {}\nevent: {}\ndata: {}\n\n", place_.text(), name, data);
}

// The number before the record: a change in between is looked at the next time.
bool JobEvents::read_record() {
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t changes = *changes_;
  const bool is_first = read_ == std::chrono::steady_clock::time_point();
  if (!is_first && changes == seen_changes_ && now - read_ < longest_without_a_look) return true;
  const auto job = jobs_.find(id_);
  if (!job) return false;
  constexpr std::int64_t most_states = 1000;
  const std::int64_t known = states_.empty() ? place_.state : states_.back().number;
  for (JobEvent& event : jobs_.events(id_, known, most_states)) states_.push_back(std::move(event));
  is_done_ = has_ended(job->state) || job->state == JobState::paused;
  seen_changes_ = changes;
  read_ = now;
  return true;
}

// The files of a job that has ended grow no more, so what they hold after its end was seen is all.
bool JobEvents::more(std::string& text) {
  if (is_over_) return false;
  if (!read_record()) {
    text += "event: removed\ndata: {}\n\n";
    is_over_ = true;
    return true;
  }
  const std::size_t begin = text.size();
  add_states(text, is_done_ && !states_.empty() ? states_.size() - 1 : states_.size());
  const bool run_is_told = add_run(text);
  const bool log_is_told = add_log(text);
  if (run_is_told && log_is_told) {
    add_states(text, states_.size());  // the end comes last
    is_over_ = is_done_;
  }
  if (!is_done_) add_progress(text);
  text = text.substr(0, begin) + json_without_hidden_values(text.substr(begin));
  return true;
}

void JobEvents::add_states(std::string& text, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    JobEvent& event = states_[i];
    place_.state = event.number;
    event.details["time"] = event.time;
    add(text, event.kind, event.details.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  states_.erase(states_.begin(), states_.begin() + static_cast<std::ptrdiff_t>(count));
}

bool JobEvents::add_run(std::string& text) {
  const Lines lines = lines_from(run_events_, place_.run_bytes, false);
  each_line(lines.text, place_.run_bytes, [&](std::string_view line) {
    const std::string_view name = plain_name(line);
    if (!name.empty() && line.find('\r') == std::string_view::npos && nlohmann::json::accept(line)) {
      add(text, name, with_names(std::string(line), names_));
      return;
    }
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_discarded())
      add(text, event_name(event),
          with_names(event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), names_));
  });
  return lines.is_all;
}

bool JobEvents::add_log(std::string& text) {
  const Lines lines = lines_from(log_, place_.log_bytes, is_done_);
  each_line(lines.text, place_.log_bytes, [&](std::string_view line) {
    const nlohmann::json data{{"line", printable(with_names(std::string(line), names_))}};
    add(text, "log", data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
  return lines.is_all;
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
  if (!data.is_discarded())
    text += fmt::format("event: progress\ndata: {}\n\n",
                        data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace stoker::serve
