#include "store/store_owner.h"

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "database/writable.h"
#include "store/token_store.h"

namespace stoker {
namespace {

std::string id_of_folder(const std::filesystem::path& data) {
  constexpr std::size_t longest = 100;
  const std::filesystem::path file = data / "service.id";
  if (!exists(file)) write_file(file, random_id());
  std::string id = read_file(file, longest);
  if (id.empty()) refuse("{} is empty; remove it, and start again with --take-store", file.string());
  return id;
}

}  // namespace

void own_store(Records& records, const std::filesystem::path& data, bool takes_over) {
  const std::string id = id_of_folder(data);
  const auto held = records.hold();
  database::WritableDatabase& database = records.to_write();
  database::Transaction all(database);
  if (database.is_postgres()) database.run("LOCK TABLE stoker_service IN EXCLUSIVE MODE");
  const auto rows = database.run("SELECT id, data FROM stoker_service");
  const bool is_others = !rows.empty() && rows.front().at(0) != id;
  if (is_others && !takes_over)
    refuse(
        "the jobs in {} belong to the service whose data is in {}; give this one another --store, or, if "
        "that "
        "folder is gone for good, --take-store",
        records.place(), printable(rows.front().at(1).value_or("")));
  database.run("DELETE FROM stoker_service");
  database.run("INSERT INTO stoker_service (id, data) VALUES ($1, $2)", {id, data.string()});
  all.commit();
}

}  // namespace stoker
