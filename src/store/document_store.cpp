#include "store/document_store.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "database/writable.h"
#include "store/in_project.h"
#include "store/record/record_values.h"
#include "store/token_store.h"

namespace stoker {
namespace {

using database::Transaction;
using database::WritableDatabase;
using database::WrittenRow;
using database::WrittenValue;

constexpr const char* document_columns = "id, project, name, version, created, changed, removed";
constexpr const char* project_columns =
    "id, name, created, (SELECT count(*) FROM stoker_documents WHERE project = stoker_projects.id AND "
    "removed "
    "IS NULL)";

ProjectRecord project_in(const WrittenRow& row) {
  return {row.at(0).value_or(""), row.at(1).value_or(""), row.at(2).value_or(""), whole_in(row.at(3))};
}

DocumentRecord document_in(const WrittenRow& row) {
  return {row.at(0).value_or(""), row.at(1).value_or(""), row.at(2).value_or(""), whole_in(row.at(3)),
          row.at(4).value_or(""), row.at(5).value_or(""), row.at(6).value_or("")};
}

}  // namespace

StaleVersion::StaleVersion(std::int64_t from, std::int64_t newest)
    : std::runtime_error(
          from > newest
              ? fmt::format("the document has no version {}; the newest is {}", from, newest)
              : fmt::format("the document has been saved by somebody else since: this was made from version "
                            "{}, the newest is {}; look at that one and save again from it",
                            from, newest)),
      newest_(newest) {}

ProjectRecord DocumentStore::add_project(const std::string& name) {
  const auto held = records_.hold();
  const ProjectRecord project{random_id(), name, time_stamp_utc(), 0};
  restore_project(project);
  return project;
}

void DocumentStore::restore_project(const ProjectRecord& project) {
  const auto held = records_.hold();
  records_.to_write().run("INSERT INTO stoker_projects (id, name, created) VALUES ($1, $2, $3)",
                          {project.id, project.name, project.created});
}

std::optional<ProjectRecord> DocumentStore::find_project(const std::string& id) {
  if (const std::string own = ProjectScope::current(); !own.empty() && own != id) return std::nullopt;
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      fmt::format("SELECT {} FROM stoker_projects WHERE id = $1", project_columns), {id});
  if (rows.empty()) return std::nullopt;
  return project_in(rows.front());
}

std::vector<ProjectRecord> DocumentStore::projects() {
  const auto held = records_.hold();
  std::vector<ProjectRecord> projects;
  for (const WrittenRow& row : records_.to_write().run(
           fmt::format("SELECT {} FROM stoker_projects ORDER BY name, id", project_columns)))
    projects.push_back(project_in(row));
  return projects;
}

ProjectRecord DocumentStore::project_called(const std::string& id_or_name) {
  std::vector<ProjectRecord> called;
  std::vector<std::string> names;
  std::vector<std::string> ids;
  for (ProjectRecord& each : projects()) {
    if (each.id == id_or_name) return std::move(each);
    names.push_back(each.name);
    if (each.name != id_or_name) continue;
    ids.push_back(each.id);
    called.push_back(std::move(each));
  }
  if (called.size() > 1)
    refuse("{} projects are named '{}'; name one by its id: {}", called.size(), printable(id_or_name),
           join(ids, ", "));
  if (called.empty())
    refuse("there is no project '{}'{}; stoker projects list shows them", printable(id_or_name),
           did_you_mean(id_or_name, names));
  return std::move(called.front());
}

bool DocumentStore::rename_project(const std::string& id, const std::string& name) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  if (!find_project(id)) return false;
  database.run("UPDATE stoker_projects SET name = $2 WHERE id = $1", {id, name});
  all.commit();
  return true;
}

bool DocumentStore::remove_project(const std::string& id) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  // Who adds a document to it meanwhile waits, and is then told that it is gone.
  if (database.is_postgres()) database.run("SELECT 1 FROM stoker_projects WHERE id = $1 FOR UPDATE", {id});
  if (!find_project(id) || !contents_of(id).is_empty()) return false;
  database.run("DELETE FROM stoker_members WHERE project = $1", {id});
  database.run(
      "DELETE FROM stoker_document_versions WHERE document IN (SELECT id FROM stoker_documents WHERE project "
      "= $1)",
      {id});
  database.run("DELETE FROM stoker_documents WHERE project = $1", {id});
  database.run("DELETE FROM stoker_projects WHERE id = $1", {id});
  all.commit();
  return true;
}

DocumentStore::Contents DocumentStore::contents_of(const std::string& project) {
  const auto held = records_.hold();
  const auto count = [&](const char* table) {
    return whole_in(records_.to_write()
                        .run(fmt::format("SELECT count(*) FROM {} WHERE project = $1", table), {project})
                        .at(0)
                        .at(0));
  };
  return {count("stoker_jobs"), count("stoker_datasets"), count("stoker_models")};
}

std::int64_t DocumentStore::all_documents_in(const std::string& project) {
  const auto held = records_.hold();
  return whole_in(records_.to_write()
                      .run("SELECT count(*) FROM stoker_documents WHERE project = $1", {project})
                      .at(0)
                      .at(0));
}

void DocumentStore::add_version(const std::string& id, std::int64_t number, const DocumentVersion& version,
                                const std::string& time) {
  records_.to_write().run(
      "INSERT INTO stoker_document_versions (document, version, content, author, time, note) VALUES ($1, $2, "
      "$3, $4, $5, $6)",
      {id, std::to_string(number), version.content, version.author, time, version.note});
}

std::optional<DocumentRecord> DocumentStore::add(const std::string& project, const std::string& name,
                                                 const DocumentVersion& first) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  const std::string lock = database.is_postgres() ? " FOR SHARE" : "";
  if (database.run("SELECT 1 FROM stoker_projects WHERE id = $1" + lock, {project}).empty())
    return std::nullopt;
  const std::string now = time_stamp_utc();
  const DocumentRecord document{random_id(), project, name, 1, now, now, ""};
  database.run(
      "INSERT INTO stoker_documents (id, project, name, version, created, changed) VALUES ($1, $2, $3, 1, "
      "$4, "
      "$5)",
      {document.id, project, name, now, now});
  add_version(document.id, 1, first, now);
  all.commit();
  return document;
}

std::optional<DocumentRecord> DocumentStore::find(const std::string& id) {
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      fmt::format("SELECT {} FROM stoker_documents WHERE id = $1{}", document_columns, and_in_project()),
      {id});
  if (rows.empty()) return std::nullopt;
  return document_in(rows.front());
}

// Within a transaction: others who would change it wait until its end.
std::optional<DocumentRecord> DocumentStore::find_to_change(const std::string& id) {
  WritableDatabase& database = records_.to_write();
  const auto rows =
      database.run(fmt::format("SELECT {} FROM stoker_documents WHERE id = $1{}{}", document_columns,
                               and_in_project(), database.is_postgres() ? " FOR UPDATE" : ""),
                   {id});
  if (rows.empty()) return std::nullopt;
  return document_in(rows.front());
}

std::vector<DocumentRecord> DocumentStore::list(const std::string& project, const Page& page) {
  const auto held = records_.hold();
  std::string condition = "project = $1";
  std::vector<WrittenValue> values{project};
  if (!page.with_removed) condition += " AND removed IS NULL";
  if (!page.after.empty()) {
    condition += " AND (name, id) > (SELECT name, id FROM stoker_documents WHERE id = $2)";
    values.emplace_back(page.after);
  }
  std::vector<DocumentRecord> documents;
  for (const WrittenRow& row : records_.to_write().run(
           fmt::format("SELECT {} FROM stoker_documents WHERE {} ORDER BY name, id LIMIT {}",
                       document_columns, condition, page.limit),
           values))
    documents.push_back(document_in(row));
  return documents;
}

std::optional<DocumentRecord> DocumentStore::save(const std::string& id, std::int64_t from,
                                                  const DocumentVersion& next) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  auto document = find_to_change(id);
  if (!document || !document->removed.empty()) return std::nullopt;
  if (document->version != from) throw StaleVersion(from, document->version);
  if (const auto newest = version(id, document->version); newest && newest->content == next.content)
    return document;
  document->changed = time_stamp_utc();
  ++document->version;
  add_version(id, document->version, next, document->changed);
  database.run("UPDATE stoker_documents SET version = $2, changed = $3 WHERE id = $1",
               {id, std::to_string(document->version), document->changed});
  all.commit();
  return document;
}

std::optional<DocumentRecord> DocumentStore::rename(const std::string& id, const std::string& name) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  auto document = find_to_change(id);
  if (!document) return std::nullopt;
  document->name = name;
  records_.to_write().run("UPDATE stoker_documents SET name = $2 WHERE id = $1", {id, name});
  all.commit();
  return document;
}

std::optional<DocumentRecord> DocumentStore::move(const std::string& id, const std::string& project) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  const std::string lock = database.is_postgres() ? " FOR SHARE" : "";
  if (database.run("SELECT 1 FROM stoker_projects WHERE id = $1" + lock, {project}).empty())
    return std::nullopt;
  auto document = find_to_change(id);
  if (!document) return std::nullopt;
  document->project = project;
  database.run("UPDATE stoker_documents SET project = $2 WHERE id = $1", {id, project});
  all.commit();
  return document;
}

std::optional<DocumentRecord> DocumentStore::hide(const std::string& id) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  auto document = find_to_change(id);
  if (!document || !document->removed.empty()) return document;
  document->removed = time_stamp_utc();
  records_.to_write().run("UPDATE stoker_documents SET removed = $2 WHERE id = $1", {id, document->removed});
  all.commit();
  return document;
}

std::optional<DocumentRecord> DocumentStore::bring_back(const std::string& id) {
  const auto held = records_.hold();
  Transaction all(records_.to_write());
  auto document = find_to_change(id);
  if (!document) return std::nullopt;
  document->removed.clear();
  records_.to_write().run("UPDATE stoker_documents SET removed = NULL WHERE id = $1", {id});
  all.commit();
  return document;
}

bool DocumentStore::remove(const std::string& id) {
  const auto held = records_.hold();
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  if (!find_to_change(id)) return false;
  database.run("DELETE FROM stoker_document_versions WHERE document = $1", {id});
  database.run("DELETE FROM stoker_documents WHERE id = $1", {id});
  all.commit();
  return true;
}

std::optional<DocumentVersion> DocumentStore::version(const std::string& id, std::int64_t number) {
  const auto held = records_.hold();
  const auto rows = records_.to_write().run(
      fmt::format(
          "SELECT version, content, author, time, note FROM stoker_document_versions WHERE document = "
          "$1 AND version = {}{}",
          number, and_of_project("document", "stoker_documents")),
      {id});
  if (rows.empty()) return std::nullopt;
  const WrittenRow& row = rows.front();
  return DocumentVersion{whole_in(row.at(0)), row.at(1).value_or(""), row.at(2).value_or(""),
                         row.at(3).value_or(""), row.at(4).value_or("")};
}

std::vector<DocumentVersion> DocumentStore::versions(const std::string& id, std::int64_t before,
                                                     std::int64_t limit) {
  const auto held = records_.hold();
  std::vector<DocumentVersion> versions;
  for (const WrittenRow& row : records_.to_write().run(
           fmt::format("SELECT version, author, time, note FROM stoker_document_versions WHERE document = $1 "
                       "AND version < {}{} ORDER BY version DESC LIMIT {}",
                       before, and_of_project("document", "stoker_documents"), limit),
           {id}))
    versions.push_back(
        {whole_in(row.at(0)), "", row.at(1).value_or(""), row.at(2).value_or(""), row.at(3).value_or("")});
  return versions;
}

}  // namespace stoker
