#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/files/files.h"
#include "database/postgres_cluster.h"
#include "database/writable.h"
#include "store/records.h"

namespace stoker::test {

enum class StoreKind { sqlite, postgres };

// Tests that hold for both databases, each with one that has nothing on record yet.
class BothStores : public ::testing::TestWithParam<StoreKind> {
 protected:
  // Before the members of a test, which open what is on record.
  BothStores() {
    if (GetParam() == StoreKind::sqlite) {
      ::setenv("STOKER_STORE", file().c_str(), 1);
    } else if (cluster() != nullptr) {
      cluster()->run(
          "DO $$ BEGIN SET LOCAL client_min_messages = warning; DROP SCHEMA public CASCADE; "
          "CREATE SCHEMA public; END $$");
      ::setenv("STOKER_STORE", cluster()->network_address().c_str(), 1);
    }
  }
  ~BothStores() override { ::unsetenv("STOKER_STORE"); }
  void SetUp() override {
    if (GetParam() == StoreKind::postgres && cluster() == nullptr)
      GTEST_SKIP() << "PostgreSQL is not installed here: tools/setup does that";
  }

  // The database itself, past the records.
  std::unique_ptr<database::WritableDatabase> plain() const {
    return GetParam() == StoreKind::sqlite ? database::write_sqlite(file())
                                           : database::write_postgres(cluster()->local_address(), "uri");
  }
  std::filesystem::path file() const { return folder_.path() / "store.sqlite"; }

 private:
  static const PostgresCluster* cluster() {
    static const std::unique_ptr<PostgresCluster> running = PostgresCluster::start();
    return running.get();
  }

  TemporaryFolder folder_;
};

inline std::string name_of_store(const ::testing::TestParamInfo<StoreKind>& store) {
  return store.param == StoreKind::sqlite ? "Sqlite" : "Postgres";
}

}  // namespace stoker::test
