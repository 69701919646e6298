#include "store/job_store.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "database/writable.h"
#include "store/in_project.h"
#include "store/record/record_row.h"
#include "store/record/record_values.h"

namespace stoker {
namespace {

using database::Transaction;
using database::WritableDatabase;
using database::WrittenRow;
using database::WrittenValue;
using nlohmann::json;

constexpr const char* job_columns =
    "id, number, name, state, asked, kind, priority, device, slot, time_limit, document, request, notes, "
    "owner, "
    "attempts, reason, run, continues, summary, created, started, ended, project";
// The same for a line of a list, which goes without what may be long: the document, and the request unless it
// is short and names a stored one.
constexpr const char* line_columns =
    "id, number, name, state, asked, kind, priority, device, slot, time_limit, '', "
    "CASE WHEN request LIKE '%\"document_id\":\"%' AND length(request) < 4000 THEN request ELSE 'null' END, "
    "notes, owner, "
    "attempts, reason, run, continues, summary, created, started, ended, project";

json json_in(const WrittenValue& text) {
  json value = json::parse(text.value_or("null"), nullptr, false);
  return value.is_discarded() ? json() : value;
}

JobRecord job_in(const WrittenRow& row) {
  JobRecord job;
  job.id = row.at(0).value_or("");
  job.number = whole_in(row.at(1));
  job.name = row.at(2).value_or("");
  job.state = named_or_first<JobState>(row.at(3));
  job.asked = named_or_first<JobWish>(row.at(4));
  job.kind = named_or_first<JobKind>(row.at(5));
  job.priority = whole_in(row.at(6));
  job.device = row.at(7).value_or("");
  job.slot = row.at(8).value_or("");
  job.time_limit = number_in(row.at(9));
  job.document = row.at(10).value_or("");
  job.request = json_in(row.at(11));
  for (const json& note : json_in(row.at(12)))
    if (note.is_string()) job.notes.push_back(note);
  job.owner = row.at(13).value_or("");
  job.attempts = whole_in(row.at(14));
  job.reason = row.at(15).value_or("");
  job.run = row.at(16).value_or("");
  job.continues = row.at(17).value_or("");
  job.summary = json_in(row.at(18));
  job.created = row.at(19).value_or("");
  job.started = row.at(20).value_or("");
  job.ended = row.at(21).value_or("");
  job.project = row.at(22).value_or("");
  return job;
}

std::vector<WrittenValue> values_of(const JobRecord& job) {
  return {job.id,
          std::to_string(job.number),
          job.name,
          text_of_enum(job.state),
          or_null(text_of_enum(job.asked)),
          text_of_enum(job.kind),
          std::to_string(job.priority),
          job.device,
          or_null(job.slot),
          fmt::format("{}", job.time_limit),
          job.document,
          dumped(job.request),
          dumped(json(job.notes)),
          job.owner,
          std::to_string(job.attempts),
          or_null(job.reason),
          job.run,
          or_null(job.continues),
          job.summary.is_null() ? std::nullopt : WrittenValue(dumped(job.summary)),
          job.created,
          or_null(job.started),
          or_null(job.ended),
          job.project};
}

// Of LIKE, where these stand for other characters.
std::string literal_of_like(const std::string& text) {
  std::string literal;
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal;
}

struct Condition {
  std::string text;
  std::vector<WrittenValue> values;
};

Condition condition_of(const JobFilter& filter) {
  Condition condition{"1 = 1" + and_in_project(), {}};
  const auto next = [&](const std::string& value) {
    condition.values.emplace_back(value);
    return fmt::format("${}", condition.values.size());
  };
  if (!filter.states.empty()) {
    std::vector<std::string> places;
    for (const JobState state : filter.states) places.push_back(next(text_of_enum(state)));
    condition.text += " AND state IN (" + join(places, ", ") + ")";
  }
  if (!filter.kinds.empty()) {
    std::vector<std::string> places;
    for (const JobKind kind : filter.kinds) places.push_back(next(text_of_enum(kind)));
    condition.text += " AND kind IN (" + join(places, ", ") + ")";
  }
  if (!filter.stored_document.empty())
    condition.text +=
        fmt::format(" AND request LIKE {} ESCAPE '\\'",
                    next("%\"document\\_id\":\"" + literal_of_like(filter.stored_document) + "\"%"));
  if (!filter.name_contains.empty())
    condition.text += fmt::format(" AND lower(name) LIKE lower({}) ESCAPE '\\'",
                                  next("%" + literal_of_like(filter.name_contains) + "%"));
  if (!filter.owner.empty()) condition.text += " AND owner = " + next(filter.owner);
  if (!filter.dataset.empty())
    condition.text +=
        fmt::format(" AND document LIKE {} ESCAPE '\\'", next("%" + literal_of_like(filter.dataset) + "%"));
  if (filter.before) condition.text += fmt::format(" AND number < {}", *filter.before);
  return condition;
}

}  // namespace

bool has_ended(JobState state) {
  return state == JobState::completed || state == JobState::failed || state == JobState::cancelled;
}

bool may_become(JobState now, JobState next) {
  switch (now) {
    case JobState::pending:
      return next == JobState::queued || next == JobState::cancelled;
    case JobState::queued:
      return next == JobState::running || next == JobState::paused || next == JobState::cancelled;
    case JobState::running:
      return next != JobState::pending && next != JobState::running;
    case JobState::paused:
      return next == JobState::queued || next == JobState::cancelled;
    case JobState::failed:
    case JobState::cancelled:
      return next == JobState::queued;
    case JobState::completed:
      return false;
  }
  return false;
}

json job_json(const JobRecord& job) {
  return row_json(job_columns, values_of(job));
}

JobRecord job_from_json(const json& copy) {
  return job_in(row_from_json(job_columns, copy));
}

void JobStore::add(JobRecord& job) {
  if (job.project.empty()) job.project = ProjectScope::or_default();
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  // Others who add a job wait: in SQLite from the beginning of the transaction on, here from the lock on.
  if (database.is_postgres()) database.run("LOCK TABLE stoker_jobs IN SHARE ROW EXCLUSIVE MODE");
  job.number = next_number();
  insert(job);
  all.commit();
  if (changed_) changed_(job);
}

void JobStore::restore(JobRecord& job) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  if (job.number == 0) job.number = next_number();
  insert(job);
  all.commit();
}

std::int64_t JobStore::next_number() {
  return whole_in(
      records_.to_write().run("SELECT coalesce(max(number), 0) + 1 FROM stoker_jobs").at(0).at(0));
}

void JobStore::insert(const JobRecord& job) {
  const std::vector<WrittenValue> values = values_of(job);
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= values.size(); ++i) places.push_back(fmt::format("${}", i));
  records_.to_write().run(
      fmt::format("INSERT INTO stoker_jobs ({}) VALUES ({})", job_columns, join(places, ", ")), values);
  append_event(job.id, "state", {{"state", config::name_of(job.state)}});
}

std::optional<JobRecord> JobStore::find(const std::string& id) {
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      fmt::format("SELECT {} FROM stoker_jobs WHERE id = $1{}", job_columns, and_in_project()), {id});
  if (rows.empty()) return std::nullopt;
  return job_in(rows.front());
}

std::map<std::string, std::string> JobStore::owners_of(const std::vector<std::string>& runs) {
  std::map<std::string, std::string> owners;
  if (runs.empty()) return owners;
  const auto held = records_.hold();
  std::vector<WrittenValue> values;
  std::vector<std::string> places;
  for (const std::string& run : runs) {
    values.emplace_back(run);
    places.push_back(fmt::format("${}", values.size()));
  }
  for (const WrittenRow& row :
       records_.to_write().run(fmt::format("SELECT run, id FROM stoker_jobs WHERE run IN ({}){}",
                                           join(places, ", "), and_in_project()),
                               values))
    owners.emplace(row.at(0).value_or(""), row.at(1).value_or(""));
  return owners;
}

std::vector<JobRecord> JobStore::list(const JobFilter& filter) {
  const auto held = records_.hold();
  const Condition condition = condition_of(filter);
  std::vector<JobRecord> jobs;
  for (const WrittenRow& row : records_.to_write().run(
           fmt::format("SELECT {} FROM stoker_jobs WHERE {} ORDER BY number DESC LIMIT {}", line_columns,
                       condition.text, filter.limit),
           condition.values))
    jobs.push_back(job_in(row));
  return jobs;
}

std::int64_t JobStore::count(const JobFilter& filter) {
  const auto held = records_.hold();
  JobFilter any_page = filter;
  any_page.before.reset();
  const Condition condition = condition_of(any_page);
  return whole_in(records_.to_write()
                      .run("SELECT count(*) FROM stoker_jobs WHERE " + condition.text, condition.values)
                      .at(0)
                      .at(0));
}

std::vector<JobRecord> JobStore::in_state(JobState state) {
  const auto held = records_.hold();
  std::vector<JobRecord> jobs;
  for (const WrittenRow& row :
       records_.to_write().run(fmt::format("SELECT {} FROM stoker_jobs WHERE state = $1{} ORDER BY number",
                                           line_columns, and_in_project()),
                               {text_of_enum(state)}))
    jobs.push_back(job_in(row));
  return jobs;
}

std::vector<JobRecord> JobStore::queued_for(const std::vector<std::string>& devices, std::int64_t limit) {
  const auto held = records_.hold();
  std::vector<WrittenValue> values;
  std::vector<std::string> places;
  for (const std::string& device : devices) {
    values.emplace_back(device);
    places.push_back(fmt::format("${}", values.size()));
  }
  std::vector<JobRecord> jobs;
  for (const WrittenRow& row :
       records_.to_write().run(fmt::format("SELECT {} FROM stoker_jobs WHERE state = 'queued' AND device IN "
                                           "({}){} ORDER BY priority DESC, number LIMIT {}",
                                           line_columns, join(places, ", "), and_in_project(), limit),
                               values))
    jobs.push_back(job_in(row));
  return jobs;
}

std::int64_t JobStore::queued_before(const JobRecord& job) {
  const auto held = records_.hold();
  return whole_in(
      records_.to_write()
          .run(fmt::format("SELECT count(*) FROM stoker_jobs WHERE state = 'queued' AND (priority > {} OR "
                           "(priority = {} AND number < {}))",
                           job.priority, job.priority, job.number))
          .at(0)
          .at(0));
}

std::vector<std::pair<JobState, std::int64_t>> JobStore::counts() {
  const auto held = records_.hold();
  std::vector<std::pair<JobState, std::int64_t>> counts;
  for (const WrittenRow& row : records_.to_write().run("SELECT state, count(*) FROM stoker_jobs WHERE 1 = 1" +
                                                       and_in_project() + " GROUP BY state ORDER BY state"))
    counts.emplace_back(named_or_first<JobState>(row.at(0)), whole_in(row.at(1)));
  return counts;
}

std::optional<JobRecord> JobStore::change(const std::string& id, const std::string& event,
                                          const Change& change) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  const std::string lock = database.is_postgres() ? " FOR UPDATE" : "";
  const auto rows = database.run(
      fmt::format("SELECT {} FROM stoker_jobs WHERE id = $1{}{}", job_columns, and_in_project(), lock), {id});
  if (rows.empty()) return std::nullopt;
  JobRecord job = job_in(rows.front());
  const JobState before = job.state;
  if (!change(job)) return job;
  job.reason = without_hidden_values(job.reason);
  if (job.state != before && !may_become(before, job.state))
    fail("job {} is {} and cannot become {}", id, config::name_of(before), config::name_of(job.state));
  database.run(
      "UPDATE stoker_jobs SET name = $2, state = $3, asked = $4, priority = $5, slot = $6, attempts = $7, "
      "reason = "
      "$8, summary = $9, started = $10, ended = $11, document = $12 WHERE id = $1",
      {id, job.name, text_of_enum(job.state), or_null(text_of_enum(job.asked)), std::to_string(job.priority),
       or_null(job.slot), std::to_string(job.attempts), or_null(job.reason),
       job.summary.is_null() ? std::nullopt : WrittenValue(dumped(job.summary)), or_null(job.started),
       or_null(job.ended), job.document});
  json details{{"state", config::name_of(job.state)}};
  if (job.asked != JobWish::none) details["asked"] = config::name_of(job.asked);
  if (!job.reason.empty()) details["reason"] = job.reason;
  if (!job.slot.empty()) details["slot"] = job.slot;
  append_event(id, event, details);
  all.commit();
  if (changed_) changed_(job);
  return job;
}

void JobStore::remove(const std::string& id) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  database.run("DELETE FROM stoker_job_events WHERE job = $1" + and_of_project("job", "stoker_jobs"), {id});
  database.run("DELETE FROM stoker_jobs WHERE id = $1" + and_in_project(), {id});
  all.commit();
}

void JobStore::append_event(const std::string& id, const std::string& kind, const json& details) {
  records_.to_write().run(
      "INSERT INTO stoker_job_events (job, number, time, kind, details) SELECT $1, coalesce(max(number), 0) "
      "+ 1, "
      "$2, $3, $4 FROM stoker_job_events WHERE job = $1",
      {id, time_stamp_utc(), kind, dumped(details)});
}

void JobStore::add_event(const std::string& id, const std::string& kind, const json& details) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  // Whoever else adds one to this job waits, or both would take the same number.
  const std::string lock = database.is_postgres() ? " FOR UPDATE" : "";
  if (database.run("SELECT id FROM stoker_jobs WHERE id = $1" + and_in_project() + lock, {id}).empty())
    return;
  append_event(id, kind, details);
  all.commit();
}

std::vector<JobEvent> JobStore::events(const std::string& id, std::int64_t after, std::int64_t limit) {
  const auto held = records_.hold();
  std::vector<JobEvent> events;
  for (const WrittenRow& row : records_.to_write().run(
           fmt::format(
               "SELECT number, time, kind, details FROM stoker_job_events WHERE job = $1 AND number > {}{} "
               "ORDER BY number LIMIT {}",
               after, and_of_project("job", "stoker_jobs"), limit),
           {id}))
    events.push_back(
        {whole_in(row.at(0)), row.at(1).value_or(""), row.at(2).value_or(""), json_in(row.at(3))});
  return events;
}

std::int64_t JobStore::last_event(const std::string& id) {
  const auto held = records_.hold();
  return whole_in(records_.to_write()
                      .run("SELECT coalesce(max(number), 0) FROM stoker_job_events WHERE job = $1" +
                               and_of_project("job", "stoker_jobs"),
                           {id})
                      .at(0)
                      .at(0));
}

}  // namespace stoker
