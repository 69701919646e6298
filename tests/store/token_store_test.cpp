#include "store/token_store.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text/text.h"
#include "store/both_stores.h"

namespace stoker::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class TokensOnRecord : public BothStores {
 protected:
  Records records_;
  TokenStore tokens_{records_};
};

TEST_P(TokensOnRecord, AreFoundByThemselvesAndKeptAsHashesAlone) {
  const std::string token = tokens_.create("anna", UserRole::viewer);
  EXPECT_THAT(token, MatchesRegex("stk_[0-9a-f]{64}"));
  const auto found = tokens_.find(token);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "anna");
  EXPECT_EQ(found->role, UserRole::viewer);
  EXPECT_EQ(found->expires, "");
  EXPECT_TRUE(tokens_.find_by_id(found->id));
  EXPECT_FALSE(tokens_.find(token + "0"));
  EXPECT_FALSE(tokens_.find(found->hash));
  for (const database::WrittenRow& row : records_.to_write().run("SELECT * FROM stoker_tokens"))
    for (const database::WrittenValue& value : row)
      EXPECT_THAT(value.value_or(""), ::testing::Not(HasSubstr(token.substr(4))));
}

TEST_P(TokensOnRecord, AreNoLongerGoodWhenRevokedWithTheirSessions) {
  const std::string of_anna = tokens_.create("anna", UserRole::admin);
  const std::string of_bert = tokens_.create("bert", UserRole::user);
  const std::string id = tokens_.find(of_anna)->id;
  tokens_.add_session({"hash", id, "csrf", time_stamp_utc(), time_stamp_in(60)});
  tokens_.add_session({"other", tokens_.find(of_bert)->id, "csrf", time_stamp_utc(), time_stamp_in(60)});
  tokens_.revoke("anna");
  EXPECT_FALSE(tokens_.find(of_anna));
  EXPECT_FALSE(tokens_.find_by_id(id));
  EXPECT_FALSE(tokens_.find_session("hash"));
  EXPECT_TRUE(tokens_.find_session("other"));
  EXPECT_TRUE(tokens_.find(of_bert));
  EXPECT_THAT(tokens_.all(), SizeIs(2));
  try {
    tokens_.revoke("brt");
    ADD_FAILURE() << "there is no such token";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean bert"));
  }
}

TEST_P(TokensOnRecord, OfOneNameAreNotGoodAtTheSameTime) {
  tokens_.create("anna", UserRole::user);
  try {
    tokens_.create("anna", UserRole::viewer);
    ADD_FAILURE() << "there are two of one name";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(tokens_.all().front().id));
  }
  EXPECT_THAT(tokens_.all(), SizeIs(1));
  tokens_.revoke("anna");
  const std::string next = tokens_.create("anna", UserRole::user);
  tokens_.create("over", UserRole::user, time_stamp_in(-1));
  tokens_.create("over", UserRole::user);
  // As earlier versions allowed: then the id must say which is meant.
  records_.to_write().run("UPDATE stoker_tokens SET name = 'anna' WHERE name = 'over'");
  EXPECT_THROW(tokens_.revoke("anna"), Error);
  ASSERT_TRUE(tokens_.find(next));
  tokens_.revoke(tokens_.find(next)->id);
  EXPECT_FALSE(tokens_.find(next));
  tokens_.revoke("anna");
  for (const TokenRecord& each : tokens_.all()) EXPECT_FALSE(is_good(each));
}

TEST_P(TokensOnRecord, AreGoodUntilTheyExpire) {
  const std::string over = tokens_.create("over", UserRole::user, time_stamp_in(-1));
  const std::string good = tokens_.create("good", UserRole::user, time_stamp_in(3600));
  EXPECT_FALSE(tokens_.find(over));
  EXPECT_TRUE(tokens_.find(good));
}

TEST_P(TokensOnRecord, OpenSessionsThatEnd) {
  const std::string id = tokens_.find(tokens_.create("anna", UserRole::user))->id;
  tokens_.add_session({"over", id, "csrf", time_stamp_utc(), time_stamp_in(-1)});
  tokens_.add_session({"open", id, "csrf", time_stamp_utc(), time_stamp_in(60)});
  EXPECT_FALSE(tokens_.find_session("over"));
  ASSERT_TRUE(tokens_.find_session("open"));
  EXPECT_EQ(tokens_.find_session("open")->token, id);
  tokens_.remove_expired_sessions();
  EXPECT_THAT(records_.to_write().run("SELECT hash FROM stoker_sessions"), SizeIs(1));
  tokens_.remove_session("open");
  EXPECT_FALSE(tokens_.find_session("open"));
}

INSTANTIATE_TEST_SUITE_P(On, TokensOnRecord, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         name_of_store);

}  // namespace
}  // namespace stoker::test
