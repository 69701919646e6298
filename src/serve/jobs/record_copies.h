#pragma once

#include <filesystem>
#include <string>

#include "serve/jobs/job_process.h"
#include "store/dataset_store.h"
#include "store/document_store.h"
#include "store/job_store.h"

namespace stoker::serve {

// What the store says of jobs, datasets and projects, once more next to their files, so that a lost store can
// be rebuilt. Errors are logged: what they are copies of is in the store.
void copy_job(const JobRecord& job, const JobFolder& folder);
// Of jobs that earlier versions put on record, and of datasets that came by the command line, in all
// projects.
void copy_missing(JobStore& jobs, DocumentStore& documents, const std::filesystem::path& data);
// `folder` is that of the project here and below.
void copy_dataset(const DatasetRecord& dataset, const std::filesystem::path& folder);
void remove_copy_of_dataset(const std::string& id, const std::filesystem::path& folder);
void copy_project(const ProjectRecord& project, const std::filesystem::path& folder);

std::filesystem::path copy_of_job(const JobFolder& folder);
std::filesystem::path copies_of_datasets(const std::filesystem::path& folder);
std::filesystem::path copy_of_project(const std::filesystem::path& folder);

}  // namespace stoker::serve
