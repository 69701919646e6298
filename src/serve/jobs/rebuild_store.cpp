#include "serve/jobs/rebuild_store.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "config/value.h"
#include "database/writable.h"
#include "serve/jobs/job_outcome.h"
#include "serve/jobs/record_copies.h"
#include "serve/models/served_models.h"
#include "serve/system/log.h"
#include "store/document_store.h"
#include "store/model_store.h"
#include "store/runs.h"
#include "store/store_owner.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t largest_copy = std::size_t{64} << 20;

json parsed_copy(const fs::path& file) {
  json copy = json::parse(read_file(file, largest_copy), nullptr, false);
  if (!copy.is_object()) refuse("{} is damaged: it is not a JSON object", file.string());
  return copy;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& each : fs::directory_iterator(folder, none))
    if (!each.path().filename().string().starts_with('.')) entries.push_back(each.path());
  std::ranges::sort(entries);
  return entries;
}

class StoreRebuild {
 public:
  StoreRebuild(Records& records, const fs::path& data)
      : data_(data), jobs_(records), models_(records), documents_(records) {
    for (const fs::path& folder : entries_of(data / "projects"))
      unless_unreadable(folder, [&] { restore_project(folder); });
    for (const std::string& project : projects_) {
      for (const fs::path& run : entries_of(folder_of_project(data, project) / "runs")) {
        const std::string name = run.filename().string();
        if (const std::size_t mark = name.rfind('_'); mark != std::string::npos)
          runs_[name.substr(mark + 1)] = {project, name};
      }
    }
  }

  RebuiltStore rebuild() {
    std::vector<JobRecord> jobs;
    for (const fs::path& folder : entries_of(data_ / "jobs"))
      unless_unreadable(folder, [&] { jobs.push_back(job_in_folder({folder})); });
    std::ranges::sort(jobs, [](const JobRecord& one, const JobRecord& other) {
      return std::tie(one.number, one.created, one.id) < std::tie(other.number, other.created, other.id);
    });
    number_anew_if_unknown(jobs);
    restore_documents(jobs);
    for (JobRecord& job : jobs) {
      const ProjectScope scope(job.project);
      const fs::path run = folder_of_project(data_, job.project) / "runs" / job.run;
      jobs_.restore(job);
      ++rebuilt_.jobs;
      if (job.state == JobState::completed)
        unless_unreadable(run, [&] { record_model_of(job.id, job.name, run, models_); });
    }
    for (const std::string& project : projects_) {
      const ProjectScope scope(project);
      const fs::path own = folder_of_project(data_, project);
      for (const fs::path& folder : entries_of(own / "models"))
        unless_unreadable(folder, [&] { restore_uploaded_model(folder); });
      for (const fs::path& copy : entries_of(copies_of_datasets(own)))
        unless_unreadable(copy, [&] { restore_dataset(copy); });
    }
    rebuilt_.models = static_cast<std::uint64_t>(models_.count());
    return rebuilt_;
  }

 private:
  void unless_unreadable(const fs::path& what, const std::function<void()>& restore) {
    try {
      restore();
    } catch (const std::exception& error) {
      ++rebuilt_.unreadable;
      log_event("error",
                {{"what", "a record cannot be rebuilt"}, {"from", what.string()}, {"why", error.what()}});
    }
  }

  void restore_project(const fs::path& folder) {
    ProjectRecord project{folder.filename().string(), "", time_stamp_utc(), 0};
    if (!may_be_project(project.id)) refuse("{} is not the folder of a project", folder.string());
    project.name = project.id;
    if (exists(copy_of_project(folder))) {
      const json copy = parsed_copy(copy_of_project(folder));
      project.name = copy.value("name", project.name);
      project.created = copy.value("created", project.created);
    }
    documents_.restore_project(project);
    projects_.push_back(project.id);
  }

  JobRecord job_in_folder(const JobFolder& folder) const {
    if (!exists(copy_of_job(folder))) return job_of_earlier_version(folder);
    JobRecord job = job_from_json(parsed_copy(copy_of_job(folder)));
    if (job.id != folder.folder.filename() || job.run.empty() || job.run != fs::path(job.run).filename())
      refuse("{} is the copy of another job", copy_of_job(folder).string());
    if (job.project.empty()) job.project = default_project;
    if (std::ranges::find(projects_, job.project) == projects_.end())
      refuse("{} is the copy of a job of a project without a folder", copy_of_job(folder).string());
    return job;
  }

  // The document and the run folder tell what was run and how it ended.
  JobRecord job_of_earlier_version(const JobFolder& folder) const {
    constexpr std::size_t digits_in_run = 8;
    JobRecord job;
    job.id = folder.folder.filename().string();
    job.document = read_file(folder.document(), largest_copy);
    const config::Value document = config::parse_document(std::string(job.document), "document");
    if (const config::Value* name = document.find("name"))
      if (const auto* text = name->get_if<std::string>()) job.name = *text;
    if (document.find("sweep") != nullptr) job.kind = JobKind::sweep;
    job.request = json::object();
    job.project = default_project;
    job.notes = {"rebuilt from its folder: owner, priority and request are unknown"};
    const auto run = runs_.find(job.id.substr(0, digits_in_run));
    if (run == runs_.end()) {
      job.run = fmt::format("{}_rebuilt_{}", time_stamp_for_names(), job.id.substr(0, digits_in_run));
      job.created = time_stamp_utc();
      job.state = JobState::failed;
      job.reason = "the store was rebuilt, and the job has no run folder; resume starts it";
      return job;
    }
    std::tie(job.project, job.run) = run->second;
    const fs::path run_folder = folder_of_project(data_, job.project) / "runs" / job.run;
    const RunRecord record = read_record({run_folder});
    job.created = job.started = job.ended = record.started;
    const JobOutcome outcome = outcome_of(job, {}, run_folder, folder, 1);
    job.state = outcome.state == JobState::queued ? JobState::failed : outcome.state;
    job.reason = outcome.state == JobState::queued
                     ? "the store was rebuilt before the job had ended; resume continues it"
                     : outcome.reason;
    job.summary = outcome.summary;
    return job;
  }

  // Two jobs never share a number, and those of earlier versions have none.
  static void number_anew_if_unknown(std::vector<JobRecord>& jobs) {
    const auto repeats = [](const JobRecord& one, const JobRecord& other) {
      return one.number == other.number;
    };
    const bool are_known =
        std::ranges::adjacent_find(jobs, repeats) == jobs.end() && (jobs.empty() || jobs.front().number > 0);
    if (are_known) return;
    std::ranges::stable_sort(jobs, {}, &JobRecord::created);
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].number = static_cast<std::int64_t>(i) + 1;
  }

  // Each version that was run becomes a version again, under a new id, which the jobs then name.
  void restore_documents(std::vector<JobRecord>& jobs) {
    std::map<std::string, std::map<std::int64_t, std::vector<JobRecord*>>> by_document;
    for (JobRecord& job : jobs) {
      if (!job.request.is_object()) continue;
      const auto id = job.request.find(document_of_request);
      const auto version = job.request.find(version_of_request);
      if (id == job.request.end() || !id->is_string()) continue;
      const bool has_version = version != job.request.end() && version->is_number_integer();
      by_document[*id][has_version ? version->get<std::int64_t>() : 0].push_back(&job);
    }
    if (by_document.empty()) return;
    for (auto& [id, versions] : by_document) {
      std::optional<DocumentRecord> document;
      for (auto& [number, of_version] : versions) {
        const JobRecord& job = *of_version.front();
        const ProjectScope scope(job.project);
        const DocumentVersion next{0, job.document, job.owner, "",
                                   fmt::format("rebuilt from job {}, version {}", job.id, number)};
        document = document ? documents_.save(document->id, document->version, next)
                            : documents_.add(job.project, job.name.empty() ? "rebuilt" : job.name, next);
        if (!document) fail("the document {} cannot be rebuilt", id);
        for (JobRecord* each : of_version) {
          each->request[document_of_request] = document->id;
          each->request[version_of_request] = document->version;
        }
      }
      ++rebuilt_.documents;
    }
  }

  void restore_uploaded_model(const fs::path& folder) {
    ModelRecord model = model_record(folder, "uploaded");
    model.id = folder.filename().string();
    models_.add(model);
  }

  void restore_dataset(const fs::path& copy) {
    const DatasetRecord dataset = dataset_from_json(parsed_copy(copy));
    if (dataset.id + ".json" != copy.filename()) refuse("{} is the copy of another dataset", copy.string());
    datasets_.add(dataset);
    ++rebuilt_.datasets;
  }

  fs::path data_;
  JobStore jobs_;
  ModelStore models_;
  DocumentStore documents_;
  DatasetStore datasets_;
  std::vector<std::string> projects_{default_project};
  // Projects and names, by the digits of the job at the end of their names.
  std::map<std::string, std::pair<std::string, std::string>> runs_;
  RebuiltStore rebuilt_;
};

// Of a rebuild that was cut short.
void remove_rebuilt_rows(database::WritableDatabase& database) {
  database::Transaction all(database);
  for (const char* table : {"stoker_jobs", "stoker_job_events", "stoker_models", "stoker_datasets",
                            "stoker_documents", "stoker_document_versions"})
    database.run(fmt::format("DELETE FROM {}", table));
  database.run("DELETE FROM stoker_projects WHERE id <> $1", {default_project});
  all.commit();
}

}  // namespace

std::string RebuiltStore::text() const {
  std::string text = fmt::format("{}, {}, {} and {}", counted(jobs, "job"), counted(models, "model"),
                                 counted(datasets, "dataset"), counted(documents, "document"));
  if (unreadable > 0) text += fmt::format("; {} cannot be read, see the log", counted(unreadable, "record"));
  return text +
         "; tokens, sessions, names of deployed models, and documents that no job ran cannot be "
         "rebuilt";
}

fs::path mark_of_rebuild(const fs::path& data) {
  return data / "rebuilding-store";
}

RebuiltStore rebuild_store(Records& records, const fs::path& data) {
  const fs::path mark = mark_of_rebuild(data);
  if (!exists(mark) && !is_unused_store(records))
    refuse(
        "--rebuild-store fills a store without records, and {} has some; leave the option out, or move the "
        "store away first",
        records.place());
  database::WritableDatabase& database = records.to_write();
  const auto lock = ServiceLock::take(records);
  if (!lock) refuse("another stoker serve is running with the store {}; stop it first", records.place());
  if (exists(mark)) remove_rebuilt_rows(database);
  write_file(mark, "");
  const RebuiltStore rebuilt = StoreRebuild(records, data).rebuild();
  fs::remove(mark);
  return rebuilt;
}

}  // namespace stoker::serve
