#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/access/client_words.h"
#include "serve/http/http.h"
#include "serve/jobs/job_queue.h"

namespace stoker::serve {

// How much of a job somebody has heard: of its states, of what its run tells, of its log.
struct EventPlace {
  std::int64_t state = 0;      // the number of the last event of its record
  std::int64_t run_bytes = 0;  // of events.jsonl
  std::int64_t log_bytes = 0;  // of log.txt
  std::string text() const;    // as an event's id: "3-1024-80"
  static std::optional<EventPlace> from(std::string_view text);
};

// What happens to a job, as server-sent events: `state`, those of its run by their names, `log`, and
// `progress` at most once a second. All but the last have an id, from which a listener that was cut off goes
// on without a gap, in another process of the service too: it says where in the files and records the
// listener is. Asked for more, it looks at the files; at the store only after the record has changed.
class JobEvents : public Stream {
 public:
  JobEvents(std::string id, EventPlace place, JobQueue& queue, JobStore& jobs);
  JobEvents(const JobEvents&) = delete;
  JobEvents& operator=(const JobEvents&) = delete;
  ~JobEvents() override { --listeners_; }
  bool more(std::string& text) override;
  static std::size_t listeners() { return listeners_; }  // how many there are now

 private:
  bool read_record();  // false: there is none any more
  void add_states(std::string& text, std::size_t count);
  bool add_run(std::string& text);  // false: there is more
  bool add_log(std::string& text);
  void add_progress(std::string& text);
  void add(std::string& text, std::string_view name, std::string_view data) const;

  static inline std::atomic<std::size_t> listeners_ = 0;
  std::string id_;
  EventPlace place_;
  JobStore& jobs_;
  JobNews::Changes changes_;
  std::uint64_t seen_changes_ = 0;
  std::chrono::steady_clock::time_point read_ = {};
  std::vector<JobEvent> states_;  // read, and not told yet
  bool is_done_ = false;          // by the record: its files grow no more
  bool is_over_ = false;
  NamedPaths names_;  // of what lies in the data folder
  std::filesystem::path run_events_;
  std::filesystem::path log_;
  std::filesystem::path progress_;
  std::filesystem::file_time_type progress_time_ = {};
};

}  // namespace stoker::serve
