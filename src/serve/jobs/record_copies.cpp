#include "serve/jobs/record_copies.h"

#include <functional>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/files/without_sync.h"
#include "base/project_scope.h"
#include "serve/system/log.h"

namespace stoker::serve {
namespace {

void log_failure_of_copy(const std::string& id, const std::function<void()>& write) {
  try {
    write();
  } catch (const std::exception& error) {
    log_event("error", {{"what", "the copy of a record is not written"}, {"id", id}, {"why", error.what()}});
  }
}

std::string text_of_copy(const nlohmann::json& copy) {
  return copy.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::filesystem::path copy_of_job(const JobFolder& folder) {
  return folder.folder / "job.json";
}

std::filesystem::path copies_of_datasets(const std::filesystem::path& folder) {
  return folder / "records" / "datasets";
}

std::filesystem::path copy_of_project(const std::filesystem::path& folder) {
  return folder / "project.json";
}

// A job that is only just on record has no folder yet, and one that is being deleted has none any more.
void copy_job(const JobRecord& job, const JobFolder& folder) {
  if (!exists(folder.folder)) return;
  log_failure_of_copy(job.id, [&] { write_file(copy_of_job(folder), text_of_copy(job_json(job))); });
}

void copy_missing(JobStore& jobs, DocumentStore& documents, const std::filesystem::path& data) {
  const WithoutSync copies_alone;
  JobFilter page;
  page.limit = 500;
  for (;;) {
    const std::vector<JobRecord> lines = jobs.list(page);
    for (const JobRecord& line : lines) {
      const JobFolder folder{data / "jobs" / line.id};
      if (!exists(folder.folder) || exists(copy_of_job(folder))) continue;
      if (const auto job = jobs.find(line.id)) copy_job(*job, folder);
    }
    if (lines.empty()) break;
    page.before = lines.back().number;
  }
  for (const ProjectRecord& project : documents.projects()) {
    const ProjectScope scope(project.id);
    const std::filesystem::path folder = folder_of_project(data, project.id);
    if (!exists(copy_of_project(folder))) copy_project(project, folder);
    for (const DatasetRecord& dataset : DatasetStore().all().records)
      if (!exists(copies_of_datasets(folder) / (dataset.id + ".json"))) copy_dataset(dataset, folder);
  }
}

// The project `default` is in every store.
void copy_project(const ProjectRecord& project, const std::filesystem::path& folder) {
  if (project.id == default_project) return;
  log_failure_of_copy(project.id, [&] {
    make_folder(folder);
    write_file(copy_of_project(folder),
               text_of_copy({{"id", project.id}, {"name", project.name}, {"created", project.created}}));
  });
}

void copy_dataset(const DatasetRecord& dataset, const std::filesystem::path& folder) {
  log_failure_of_copy(dataset.id, [&] {
    make_folder(copies_of_datasets(folder));
    write_file(copies_of_datasets(folder) / (dataset.id + ".json"), text_of_copy(dataset_json(dataset)));
  });
}

void remove_copy_of_dataset(const std::string& id, const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove(copies_of_datasets(folder) / (id + ".json"), ignored);
}

}  // namespace stoker::serve
