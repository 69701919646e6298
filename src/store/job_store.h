#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/field.h"
#include "store/records.h"

namespace stoker {

// pending: on record, its folder is being made. queued: waits for a slot. paused: has a checkpoint and no
// process.
enum class JobState { pending, queued, running, completed, failed, cancelled, paused };
// What somebody asked for while a process was still at work.
enum class JobWish { none, pause, cancel, remove };
// A whole document or the settings of a training; a card of the canvas with what it needs; a sweep.
enum class JobKind { training, card, sweep };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 7> stoker::config::names<stoker::JobState>{
    "pending", "queued", "running", "completed", "failed", "cancelled", "paused"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::JobWish>{"", "pause", "cancel",
                                                                                        "delete"};
template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::JobKind>{"training", "card",
                                                                                        "sweep"};

namespace stoker {

bool has_ended(JobState state);  // completed, failed or cancelled
// Which states may follow which. A job that runs is queued once more when its process is gone without a word.
bool may_become(JobState now, JobState next);

// Where a request says which stored document a job was made from.
constexpr const char* document_of_request = "document_id";
constexpr const char* version_of_request = "document_version";

struct JobRecord {
  std::string id;
  std::string project;      // empty in add(): that of the thread
  std::int64_t number = 0;  // in the order of arrival
  std::string name;
  JobState state = JobState::pending;
  JobWish asked = JobWish::none;
  JobKind kind = JobKind::training;
  std::int64_t priority = 0;       // higher ones first
  std::string device = "auto";     // auto, cpu or cuda
  std::string slot;                // that it runs in; empty: in none
  double time_limit = 0;           // seconds; 0: none
  std::string document;            // as it is run, YAML
  nlohmann::json request;          // as it was sent
  std::vector<std::string> notes;  // what settings mean here
  std::string owner;               // the name of the token that asked for it
  std::int64_t attempts = 0;       // processes that were started for it
  std::string reason;              // why it failed or ended early
  std::string run;                 // the name of its run folder
  std::string continues;           // the job that it goes on from
  nlohmann::json summary;          // what came out, when it has ended; else null
  std::string created;
  std::string started;  // empty: not yet
  std::string ended;
};

// A job as the copy of it that is in its folder.
nlohmann::json job_json(const JobRecord& job);
JobRecord job_from_json(const nlohmann::json& copy);

struct JobEvent {
  std::int64_t number = 0;  // of the job, from 1 on without a gap
  std::string time;
  std::string kind;
  nlohmann::json details;
};

struct JobFilter {
  std::vector<JobState> states = {};  // none: any
  std::vector<JobKind> kinds = {};
  std::string name_contains = {};
  std::string owner = {};
  std::string dataset = {};                 // an id that its document names
  std::string stored_document = {};         // the id of that which it was made from
  std::optional<std::int64_t> before = {};  // those that came before this one
  std::int64_t limit = 50;
};

// Jobs on record. Every change of state is one transaction together with its event, and happens only from a
// state that it may happen from: of two who ask at once, one is told no.
class JobStore {
 public:
  explicit JobStore(Records& records) : records_(records) {}

  // Gives it its number.
  void add(JobRecord& job);
  // With the number that it has, unless that is 0.
  void restore(JobRecord& job);
  std::optional<JobRecord> find(const std::string& id);
  // The ids of the jobs whose run folders these are, by the folders' names.
  std::map<std::string, std::string> owners_of(const std::vector<std::string>& runs);
  // Newest first. Jobs of this and all other lists have neither document nor request, which may be long.
  std::vector<JobRecord> list(const JobFilter& filter);
  std::int64_t count(const JobFilter& filter);
  std::vector<JobRecord> in_state(JobState state);  // oldest first
  // Those that wait for one of these devices, in the order in which they are to be started.
  std::vector<JobRecord> queued_for(const std::vector<std::string>& devices, std::int64_t limit);
  std::int64_t queued_before(const JobRecord& job);  // whatever device they wait for
  std::vector<std::pair<JobState, std::int64_t>> counts();

  // What is to be changed is done to the job as it is by then. `change` may throw to refuse; what it changed
  // is written together with an event of that kind if it returns true, and fails if the state may not become
  // what it changed it to. Returns the job as it is afterwards, none when there is no such job.
  using Change = std::function<bool(JobRecord& job)>;
  std::optional<JobRecord> change(const std::string& id, const std::string& event, const Change& change);
  // With its events.
  void remove(const std::string& id);

  // Does nothing where there is no such job.
  void add_event(const std::string& id, const std::string& kind, const nlohmann::json& details);
  std::vector<JobEvent> events(const std::string& id, std::int64_t after, std::int64_t limit);
  std::int64_t last_event(const std::string& id);

  // To be told of every job that was added or changed, once that is on record. Set before others use it.
  void when_changed(std::function<void(const JobRecord& job)> told) { changed_ = std::move(told); }

 private:
  void insert(const JobRecord& job);
  std::int64_t next_number();
  void append_event(const std::string& id, const std::string& kind, const nlohmann::json& details);

  Records& records_;
  std::function<void(const JobRecord& job)> changed_;
};

}  // namespace stoker
