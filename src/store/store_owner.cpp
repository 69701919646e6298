#include "store/store_owner.h"

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "database/writable.h"
#include "store/token_store.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::string id_of_folder(const fs::path& data) {
  constexpr std::size_t longest = 100;
  const fs::path file = data / "service.id";
  if (!exists(file)) write_file(file, random_id());
  std::string id = read_file(file, longest);
  if (id.empty()) refuse("{} is empty; remove it, and start again with --take-store", file.string());
  return id;
}

std::uint64_t folders_in(const fs::path& folder) {
  std::uint64_t count = 0;
  std::error_code none;
  for (const auto& each : fs::directory_iterator(folder, none)) count += each.is_directory(none) ? 1 : 0;
  return count;
}

void refuse_lost_store(Records& records, const fs::path& data) {
  const std::uint64_t jobs = folders_in(data / "jobs");
  if (jobs == 0 || !is_unused_store(records)) return;
  refuse(
      "the store {} has no records, but {} has {}; if the store was lost, rebuild it from the folders with "
      "--rebuild-store, or restore it from a backup; for a new service, choose another folder with --data",
      records.place(), data.string(), counted(jobs, "job folder"));
}

struct Owner {
  std::string id;
  std::string data;
};

Owner owner_of(database::WritableDatabase& database) {
  const auto rows = database.run("SELECT id, data FROM stoker_service");
  if (rows.empty()) return {};
  return {rows.front().at(0).value_or(""), rows.front().at(1).value_or("")};
}

std::unique_ptr<ServiceLock> lock_of_service(Records& records) {
  // A service that was killed while it started a job leaves a child that holds the lock for a moment.
  constexpr int tries = 50;
  for (int i = 0; i < tries; ++i) {
    if (auto lock = ServiceLock::take(records)) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const auto held = records.hold();
  const std::string data = owner_of(records.to_write()).data;
  refuse(
      "another stoker serve is running with the store {}{}; stop it first (--take-store takes only the store "
      "of a service that has ended), or give this one another --store",
      records.place(), data.empty() ? "" : ", its data in " + printable(data));
}

}  // namespace

bool is_unused_store(Records& records) {
  const auto held = records.hold();
  database::WritableDatabase* database = records.to_read();
  return database == nullptr || (database->run("SELECT 1 FROM stoker_service LIMIT 1").empty() &&
                                 database->run("SELECT 1 FROM stoker_jobs LIMIT 1").empty());
}

std::unique_ptr<ServiceLock> own_store(Records& records, const fs::path& data, bool takes_over) {
  refuse_lost_store(records, data);
  const std::string id = id_of_folder(data);
  const auto held = records.hold();
  database::WritableDatabase& database = records.to_write();
  std::unique_ptr<ServiceLock> lock = lock_of_service(records);
  database::Transaction all(database);
  if (database.is_postgres()) database.run("LOCK TABLE stoker_service IN EXCLUSIVE MODE");
  const Owner owner = owner_of(database);
  if (!owner.id.empty() && owner.id != id && !takes_over)
    refuse(
        "the jobs in {} belong to the service whose data is in {}; give this one another --store, or, if "
        "that folder is gone for good, --take-store",
        records.place(), printable(owner.data));
  database.run("DELETE FROM stoker_service");
  database.run("INSERT INTO stoker_service (id, data) VALUES ($1, $2)", {id, data.string()});
  all.commit();
  return lock;
}

}  // namespace stoker
