#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "store/records.h"

namespace stoker::serve {

// What was found in the folders and put into the store again.
struct RebuiltStore {
  std::uint64_t jobs = 0;
  std::uint64_t models = 0;
  std::uint64_t datasets = 0;
  std::uint64_t documents = 0;
  std::uint64_t unreadable = 0;  // folders and copies, each named in the log

  std::string text() const;  // also what cannot be rebuilt
};

// Fills a store that has no records from the folders of a data folder: jobs and datasets from the copies next
// to their files, jobs of earlier versions from their document and run folder, documents from the jobs that
// ran them. Rejects a store that has records.
// A rebuild that was cut short starts again.
RebuiltStore rebuild_store(Records& records, const std::filesystem::path& data);

// There while a rebuild is not complete.
std::filesystem::path mark_of_rebuild(const std::filesystem::path& data);

}  // namespace stoker::serve
