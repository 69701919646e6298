#include "store/store_owner.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "store/both_stores.h"
#include "store/job_store.h"

namespace stoker::test {
namespace {

using ::testing::HasSubstr;

class StoreOwner : public BothStores {
 protected:
  std::filesystem::path data(const std::string& name) const {
    const std::filesystem::path folder = places_.path() / name;
    make_folder(folder);
    return folder;
  }
  // Why it is rejected; empty: it is not.
  static std::string problem(const std::filesystem::path& data, bool takes_over) {
    Records records;
    try {
      own_store(records, data, takes_over);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      return error.what();
    }
    return "";
  }

 private:
  TemporaryFolder places_;
};

TEST_P(StoreOwner, KeepsItsStoreWhileItRunsAndLosesItAfterwards) {
  Records records;
  auto lock = own_store(records, data("first"), false);
  EXPECT_THAT(problem(data("second"), true), HasSubstr("another stoker serve is running"));
  EXPECT_THAT(problem(data("first"), false), HasSubstr("another stoker serve is running"));
  lock.reset();
  EXPECT_THAT(problem(data("second"), false), HasSubstr("--take-store"));
  EXPECT_EQ(problem(data("second"), true), "");
  EXPECT_THAT(problem(data("first"), false), HasSubstr("--take-store"));
}

TEST_P(StoreOwner, OfJobFoldersDoesNotTakeAnEmptyStoreForANewOne) {
  make_folder(data("with-jobs") / "jobs" / "a");
  EXPECT_THAT(problem(data("with-jobs"), true), HasSubstr("--rebuild-store"));
  EXPECT_FALSE(exists(file())) << "nothing is written";
  EXPECT_EQ(problem(data("without"), false), "");
}

INSTANTIATE_TEST_SUITE_P(On, StoreOwner, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         name_of_store);

}  // namespace
}  // namespace stoker::test
