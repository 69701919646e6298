#include "data/url/url_secrets.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/loopback_server.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(UrlSecrets, AreNotShown) {
  EXPECT_EQ(shown_url("https://example.org/a.csv"), "https://example.org/a.csv");
  EXPECT_EQ(shown_url("https://example.org/a.csv?token=Sesame&year=2026"),
            "https://example.org/a.csv?token=***&year=***");
  EXPECT_EQ(shown_url("https://example.org?Sesame#Sesame"), "https://example.org?***");
  EXPECT_EQ(shown_url("https://me:Sesame@example.org/a?x="), "https://***@example.org/a?x=");
  EXPECT_EQ(shown_url("https://example.org/?token=${TOKEN}"), "https://example.org/?token=${TOKEN}");
  EXPECT_EQ(shown_url("no address"), "no address");
}

TEST(UrlSecrets, AreKeptAsVariablesThatEachHaveANameOfTheirOwn) {
  EXPECT_EQ(kept_url("https://example.org/a.csv", "load"), "https://example.org/a.csv");
  EXPECT_EQ(kept_url("https://example.org/?X-Sig=a&part=1&part=2&b&c=${C}", "load-2"),
            "https://example.org/?X-Sig=${STOKER_LOAD_2_X_SIG}&part=${STOKER_LOAD_2_PART}"
            "&part=${STOKER_LOAD_2_PART_2}&${STOKER_LOAD_2_QUERY}&c=${C}");
  EXPECT_EQ(kept_url("https://example.org/?sig=SECRET${X}&t=${A}${B}", "load"),
            "https://example.org/?sig=${STOKER_LOAD_SIG}&t=${STOKER_LOAD_T}");
  const std::string kept = kept_url("https://example.org/?token=a", "load");
  EXPECT_EQ(kept_url(kept, "load"), kept);
}

TEST(UrlSecrets, ComeFromTheEnvironment) {
  setenv("STOKER_TEST_TOKEN", "Sesame", 1);
  EXPECT_EQ(expanded_url("https://example.org/${STOKER_TEST_TOKEN}?a=${STOKER_TEST_TOKEN}1"),
            "https://example.org/Sesame?a=Sesame1");
  EXPECT_EQ(expanded_url("https://example.org/$a"), "https://example.org/$a");
  setenv("STOKER_TEST_TOKEN", "two words", 1);
  EXPECT_THAT(refusal([] { expanded_url("https://example.org/${STOKER_TEST_TOKEN}"); }),
              AllOf(HasSubstr("STOKER_TEST_TOKEN"), HasSubstr("%XX"), Not(HasSubstr("words"))));
  unsetenv("STOKER_TEST_TOKEN");
  EXPECT_THAT(refusal([] { expanded_url("https://example.org/?b=Sesame&a=${STOKER_TEST_TOKEN}"); }),
              AllOf(HasSubstr("STOKER_TEST_TOKEN, which is not set"), Not(HasSubstr("Sesame"))));
  for (const char* text : {"http://a/${", "http://a/${}", "http://a/${A-B}", "http://a/${A"})
    EXPECT_THAT(refusal([&] { expanded_url(text); }), HasSubstr("does not name an environment variable"))
        << text;
}

TEST(UrlSecrets, AreInNoMessageOfADownload) {
  const LoopbackServer server([](const auto& target, const auto& write) {
    if (target.starts_with("/moved"))
      return (void)write(answer("302 Found", "Location: /Sesame/gone?signature=Sesame\r\n", ""));
    write(answer("404 Not Found", "", "no"));
  });
  const auto message = [&](const std::string& target) {
    return refusal([&] { Source::open(Source::config_for(server.url(target)), "."); });
  };
  setenv("STOKER_TEST_TOKEN", "Sesame", 1);
  EXPECT_THAT(message("/x.csv?token=Sesame"),
              AllOf(HasSubstr("/x.csv?token=***: the server answered 404"), Not(HasSubstr("Sesame"))));
  EXPECT_THAT(message("/${STOKER_TEST_TOKEN}/x.csv"),
              AllOf(HasSubstr("/${STOKER_TEST_TOKEN}/x.csv: the server"), Not(HasSubstr("Sesame"))));
  EXPECT_THAT(message("/moved.csv"), AllOf(HasSubstr("/moved.csv, redirected to http://localhost"),
                                           HasSubstr("404"), Not(HasSubstr("Sesame"))));
  unsetenv("STOKER_TEST_TOKEN");
  EXPECT_THAT(refusal([] { Source::open(Source::config_for("http://me:Sesame@localhost/x.csv"), "."); }),
              AllOf(HasSubstr("password, which is not accepted"), Not(HasSubstr("Sesame"))));
}

}  // namespace
}  // namespace stoker
