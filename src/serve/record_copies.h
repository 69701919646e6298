#pragma once

#include <filesystem>
#include <string>

#include "serve/job_process.h"
#include "store/dataset_store.h"
#include "store/job_store.h"

namespace stoker::serve {

// What the store says of jobs and datasets, once more next to their files, so that a lost store can be
// rebuilt. Those of datasets are for the project that this thread works in. Errors are logged: what they are
// copies of is in the store.
void copy_job(const JobRecord& job, const JobFolder& folder);
// Of jobs that earlier versions put on record, and of datasets that came by the command line.
void copy_missing(Records& records, const std::filesystem::path& data);
void copy_dataset(const DatasetRecord& dataset, const std::filesystem::path& data);
void remove_copy_of_dataset(const std::string& id, const std::filesystem::path& data);

std::filesystem::path copy_of_job(const JobFolder& folder);
std::filesystem::path copies_of_datasets(const std::filesystem::path& data);

}  // namespace stoker::serve
