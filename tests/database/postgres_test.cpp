#include "database/postgres.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "database/running_postgres.h"

namespace stoker::database {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Postgres : public test::RunningPostgres {};

TEST_F(Postgres, GivesFloatsAsColumns) {
  run("CREATE TABLE floats AS SELECT (i * 0.5)::float4 AS a, (-i)::float8 AS b FROM generate_series(1, 5000) "
      "i");
  const Rows rows = read({.table = "floats"});
  ASSERT_EQ(rows.rows(), 5000);
  ASSERT_EQ(rows.forms.size(), 2U);
  EXPECT_EQ(rows.forms[0].name, "a");
  EXPECT_EQ(rows.forms[0].type, ValueType::float32);
  EXPECT_EQ(value_of<float>(rows, 0, 4999), 2500.0F);
  EXPECT_EQ(value_of<double>(rows, 1, 1234), -1235.0);
}

}  // namespace
}  // namespace stoker::database
