#include <memory>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const RunningService::Headers nobody{{"Authorization", ""}};

class Page : public testing::Test {
 protected:
  static void SetUpTestSuite() { service_ = std::make_unique<RunningService>(); }
  static void TearDownTestSuite() { service_.reset(); }

  static HttpAnswer look_at(const std::string& path, const RunningService::Headers& headers = nobody) {
    return service_->ask("GET", path, "", headers);
  }
  static std::unique_ptr<RunningService> service_;
};
std::unique_ptr<RunningService> Page::service_;

// Whichever way the program was built.
bool has_page(const HttpAnswer& answer) {
  return answer.header("content-type").starts_with("text/html");
}

TEST_F(Page, IsThereOrSaysWhyNotWithoutAToken) {
  const HttpAnswer answer = look_at("/");
  ASSERT_EQ(answer.status, 200);
  if (has_page(answer)) {
    EXPECT_THAT(answer.body, HasSubstr("<title>Stoker</title>"));
    EXPECT_EQ(answer.header("cache-control"), "no-cache");
  } else {
    EXPECT_THAT(answer.body, HasSubstr("built without its web page"));
  }
  EXPECT_THAT(answer.header("content-security-policy"), StartsWith("default-src 'self';"));
  for (const char* path : {"/jobs", "/jobs/7", "/runs", "/runs/7", "/models", "/data", "/documents/7"})
    EXPECT_EQ(look_at(path).body, answer.body) << path;
}

TEST_F(Page, IsNoPartOfTheDescribedApi) {
  const nlohmann::json paths = service_->get("/api/openapi.json").json()["paths"];
  EXPECT_TRUE(paths.contains("/api/training/jobs"));
  EXPECT_FALSE(paths.contains("/"));
  EXPECT_FALSE(paths.contains("/jobs"));
}

TEST_F(Page, HasPartsThatABrowserKeepsForEver) {
  const HttpAnswer index = look_at("/");
  if (!has_page(index)) GTEST_SKIP() << "this program was built without the web page";
  std::smatch found;
  ASSERT_TRUE(std::regex_search(index.body, found, std::regex("src=\"(/assets/[^\"]+\\.js)\"")))
      << index.body;
  const HttpAnswer script = look_at(found[1]);
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(script.header("content-encoding"), "gzip");
  EXPECT_THAT(script.header("content-type"), StartsWith("text/javascript"));
  EXPECT_THAT(script.header("cache-control"), HasSubstr("immutable"));
  EXPECT_THAT(script.body, StartsWith("\x1f\x8b"));
  const HttpAnswer again =
      look_at(found[1], {{"Authorization", ""}, {"If-None-Match", script.header("etag")}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  const auto plain = look_at(found[1], {{"Authorization", ""}, {"Accept-Encoding", "identity"}});
  EXPECT_EQ(plain.status, 406);
}

TEST_F(Page, IsNotThereUnderOtherNames) {
  for (const char* path : {"/assets/nothing.js", "/assets/../index.html", "/assets/", "/nothing"})
    EXPECT_THAT(look_at(path).status, testing::AnyOf(400, 404)) << path;
  EXPECT_EQ(service_->ask("POST", "/jobs", "{}", {{"Content-Type", "application/json"}}).status, 405);
}

}  // namespace
}  // namespace stoker::test
