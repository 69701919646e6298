#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/source/known_rows.h"

namespace stoker {

// For people, where rows of the cache stand for those of a source.
std::string text_of_known_rows(const KnownRows& rows);

// What is known of rows that the cache keeps of databases and addresses, each source a file beside the
// entries: <cache>/sources/<key>.json. One that is damaged is as good as none: the rows are read again.
class KnownSources {
 public:
  explicit KnownSources(const std::filesystem::path& cache) : folder_(cache / "sources") {}

  struct Known {
    KnownRows rows;
    std::string entry;  // of the cache
  };

  std::optional<KnownRows> find(const std::string& key) const;
  // To be called when the entry is there.
  void keep(const KnownRows& rows, const std::string& entry) const;
  std::vector<Known> all() const;
  void forget(const std::string& key) const;

 private:
  std::optional<Known> read(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace stoker
