#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/records.h"

namespace stoker {

struct ProjectRecord {
  std::string id;
  std::string name;
  std::string created;
  std::int64_t documents = 0;  // those that were removed are not counted
};

struct DocumentRecord {
  std::string id;
  std::string project;
  std::string name;
  std::int64_t version = 0;  // the newest, counted from 1
  std::string created;
  std::string changed;
  std::string removed;  // when it was hidden; empty: it was not
};

struct DocumentVersion {
  std::int64_t version = 0;
  std::string content;  // byte for byte as it was sent
  std::string author;
  std::string time;
  std::string note;
};

// Somebody else has saved a document in between.
class StaleVersion : public std::runtime_error {
 public:
  StaleVersion(std::int64_t from, std::int64_t newest);
  std::int64_t newest() const { return newest_; }

 private:
  std::int64_t newest_;
};

// Documents in projects, with every version that was ever saved. A version is never changed: whoever saves
// says which one the work began from, and of two who began from the same one the second is told so.
class DocumentStore {
 public:
  explicit DocumentStore(Records& records) : records_(records) {}

  ProjectRecord add_project(const std::string& name);
  void restore_project(const ProjectRecord& project);  // with the id that it has
  std::optional<ProjectRecord> find_project(const std::string& id);
  std::vector<ProjectRecord> projects();  // by name
  // By id, or by a name that only one has; refuses others with the nearest.
  ProjectRecord project_called(const std::string& id_or_name);
  // Each returns whether there is such a project.
  bool rename_project(const std::string& id, const std::string& name);
  // What is in it beside documents.
  struct Contents {
    std::int64_t jobs = 0;
    std::int64_t datasets = 0;
    std::int64_t models = 0;
    bool is_empty() const { return jobs == 0 && datasets == 0 && models == 0; }
  };
  Contents contents_of(const std::string& project);
  // With all its documents, the removed ones too, and the memberships of tokens. False, and nothing is
  // removed, if there is no such project or it has contents.
  bool remove_project(const std::string& id);
  // Documents that are there, and those that could be brought back.
  std::int64_t all_documents_in(const std::string& project);

  // As version 1; none where the project is not there.
  std::optional<DocumentRecord> add(const std::string& project, const std::string& name,
                                    const DocumentVersion& first);
  // One that was removed is found too, and says so.
  std::optional<DocumentRecord> find(const std::string& id);
  // By name, those behind the document `after`, where that is not empty.
  struct Page {
    bool with_removed = false;
    std::string after = {};
    std::int64_t limit = 100;
  };
  std::vector<DocumentRecord> list(const std::string& project, const Page& page);

  // A new version behind the one that it was made from; that one itself where nothing has changed. Throws
  // StaleVersion. None where the document is not there, or was removed.
  std::optional<DocumentRecord> save(const std::string& id, std::int64_t from, const DocumentVersion& next);
  // Of those below, each returns the document as it is then; none where it is not there.
  std::optional<DocumentRecord> rename(const std::string& id, const std::string& name);
  std::optional<DocumentRecord> move(const std::string& id,
                                     const std::string& project);  // none without it too
  std::optional<DocumentRecord> hide(const std::string& id);
  std::optional<DocumentRecord> bring_back(const std::string& id);
  // For good, with its versions.
  bool remove(const std::string& id);

  std::optional<DocumentVersion> version(const std::string& id, std::int64_t number);
  // Newest first, those before `before`, without what they hold.
  std::vector<DocumentVersion> versions(const std::string& id, std::int64_t before, std::int64_t limit);

 private:
  std::optional<DocumentRecord> find_to_change(const std::string& id);
  void add_version(const std::string& id, std::int64_t number, const DocumentVersion& version,
                   const std::string& time);

  Records& records_;
};

}  // namespace stoker
