#pragma once

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "database/postgres/postgres.h"
#include "database/postgres_cluster.h"

namespace stoker::test {

// One server for all tests of the program; they make tables of their own names.
class RunningPostgres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cluster() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed here: tools/setup does that";
  }

  static const PostgresCluster* cluster() {
    static const std::unique_ptr<PostgresCluster> running = PostgresCluster::start();
    return running.get();
  }
  static std::string run(const std::string& statement) { return cluster()->run(statement); }
  static database::Rows read(const database::Selection& selection) {
    return database::read_postgres(cluster()->local_address(), selection, nullptr);
  }
  static std::string refusal_of(const database::Selection& selection) {
    return refusal_at(cluster()->local_address(), selection);
  }
  static std::string refusal_at(const std::string& address, const database::Selection& selection) {
    try {
      database::read_postgres(address, selection, nullptr);
    } catch (const Error& error) {
      return error.code() == ExitCode::wrong_request ? error.what()
                                                     : "not a wrong request: " + std::string(error.what());
    }
    return "";
  }

  template <class T>
  static T value_of(const database::Rows& rows, std::size_t column, std::int64_t at) {
    for (const database::Block& block : rows.blocks) {
      const std::int64_t count = block.rows * block.columns[column].width;
      if (at >= count) {
        at -= count;
        continue;
      }
      T value{};
      std::memcpy(&value, block.columns[column].values.data() + static_cast<std::size_t>(at) * sizeof(T),
                  sizeof(T));
      return value;
    }
    throw std::out_of_range("no such row");
  }
  static std::string text_of(const database::Rows& rows, std::size_t column, std::int64_t row) {
    for (const database::Block& block : rows.blocks) {
      if (row >= block.rows) {
        row -= block.rows;
        continue;
      }
      const auto* ends = reinterpret_cast<const std::int32_t*>(block.columns[column].values.data());
      const auto* text = reinterpret_cast<const char*>(block.columns[column].text.data());
      return {text + ends[row], text + ends[row + 1]};
    }
    throw std::out_of_range("no such row");
  }
};

}  // namespace stoker::test
