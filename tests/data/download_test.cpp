#include "data/url/download.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/loopback_server.h"
#include "data/planned_network.h"
#include "data/url/url.h"
#include "patience.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;

// Holds an environment variable at a value for one test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

std::string fetched(const std::string& url, const DownloadLimits& limits = {}) {
  const TestFolder folder;
  download(url, folder.path() / "file", limits);
  return read_file(folder.path() / "file", 1 << 26);
}

TEST(Download, FetchesABodyOfKnownLength) {
  const std::string body(3'000'000, 'x');
  const LoopbackServer server([&](const auto&, const auto& write) { write(answer("200 OK", "", body)); });
  EXPECT_EQ(fetched(server.url("/data.csv")), body);
}

TEST(Download, FetchesAChunkedBodyAndSendsTheWholeTarget) {
  std::string seen;
  const LoopbackServer server([&](const auto& target, const auto& write) {
    seen = target;
    write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na,b\r\n4\r\n\n1,2\r\n0\r\n\r\n");
  });
  EXPECT_EQ(fetched(server.url("/d/data.csv?token=1#part")), "a,b\n1,2");
  EXPECT_EQ(seen, "/d/data.csv?token=1");
}

TEST(Download, IsReadAsATableInTheFormatOfItsName) {
  const LoopbackServer server(
      [](const auto&, const auto& write) { write(answer("200 OK", "", "a\tb\n1\t2\n")); });
  const Source source = Source::open(Source::config_for(server.url("/houses.tsv?x=1")), ".");
  EXPECT_EQ(source.read().column_names(), (std::vector<std::string>{"a", "b"}));
}

TEST(Download, DoesNotWaitForALookupThatHangs) {
  EXPECT_THAT(refusal([] { fetched("http://hangs.invalid/x.csv", {.seconds = 0.05}); }),
              HasSubstr("did not finish within"));
  EXPECT_FALSE(test::planned_network().lookup_has_ended);
  test::planned_network().lookup_may_end = true;
}

TEST(Download, FollowsRedirects) {
  const LoopbackServer server([](const auto& target, const auto& write) {
    if (target == "/a/one") return (void)write(answer("302 Found", "Location: two\r\n", ""));
    if (target == "/a/two") return (void)write(answer("301 Moved", "Location: /three\r\n", ""));
    write(answer("200 OK", "", "there: " + target));
  });
  EXPECT_EQ(fetched(server.url("/a/one")), "there: /three");
}

TEST(Download, RefusesRedirectsThatGoRoundInCircles) {
  const LoopbackServer server(
      [](const auto&, const auto& write) { write(answer("302 Found", "Location: /again\r\n", "")); });
  EXPECT_THAT(refusal([&] { fetched(server.url("/")); }), HasSubstr("more than 5 redirects"));
}

TEST(Download, RefusesAnAnswerThatIsNotTheFile) {
  const LoopbackServer server(
      [](const auto&, const auto& write) { write(answer("404 Not Found", "", "no")); });
  EXPECT_THAT(refusal([&] { fetched(server.url("/x.csv")); }), HasSubstr("404 Not Found"));
}

TEST(Download, RefusesAConnectionThatNobodyTakes) {
  std::string url;
  {
    const LoopbackServer server([](const auto&, const auto&) {});
    url = server.url("/x.csv");
  }
  EXPECT_THAT(refusal([&] { fetched(url); }), HasSubstr("cannot connect to the host 'localhost'"));
}

TEST(Download, RefusesAnAnnouncedSizeAboveTheLimit) {
  const LoopbackServer server([](const auto&, const auto& write) {
    write("HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\nabc");
  });
  EXPECT_THAT(refusal([&] { fetched(server.url("/"), {60, 1'000'000}); }), HasSubstr("url_max_megabytes"));
}

TEST(Download, RefusesABodyThatGrowsAboveTheLimitUnannounced) {
  const LoopbackServer server([](const auto&, const auto& write) {
    write("HTTP/1.1 200 OK\r\n\r\n");
    while (write(std::string(65'536, 'x'))) continue;
  });
  EXPECT_THAT(refusal([&] { fetched(server.url("/"), {60, 1'000'000}); }), HasSubstr("url_max_megabytes"));
}

TEST(Download, RefusesAServerThatIsTooSlow) {
  std::atomic<bool> leave{false};
  const LoopbackServer server([&](const auto&, const auto& write) {
    write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    while (!leave && write("x")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  EXPECT_THAT(refusal([&] { fetched(server.url("/"), {0.3, 1'000'000}); }), HasSubstr("url_timeout"));
  leave = true;
}

TEST(Download, EndsAtOnceWhenItIsInterrupted) {
  StopSignal stop;
  std::atomic<bool> leave{false};
  const LoopbackServer server([&](const auto&, const auto& write) {
    write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx");
    stop.interrupt();
    while (!leave) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  const TestFolder folder;
  try {
    download(server.url("/"), folder.path() / "file", {.seconds = 3600, .stop = &stop});
    FAIL() << "the server had sent one byte of a thousand";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted) << error.what();
  }
  leave = true;
}

TEST(Download, EndsWhenTheTimeOfItsCardIsOver) {
  StopSignal stop;
  std::atomic<bool> leave{false};
  const LoopbackServer server([&](const auto&, const auto& write) {
    write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx");
    while (!leave) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  const TestFolder folder;
  stop.stop_after(0.2);
  EXPECT_THAT(
      refusal([&] { download(server.url("/"), folder.path() / "file", {.seconds = 3600, .stop = &stop}); }),
      HasSubstr("did not finish in the time allowed"));
  leave = true;
}

TEST(Download, RefusesABodyThatBreaksOff) {
  const LoopbackServer server(
      [](const auto&, const auto& write) { write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"); });
  EXPECT_THAT(refusal([&] { fetched(server.url("/")); }), HasSubstr("was cut off"));
}

TEST(Download, RefusesAnAnswerThatIsNoHttp) {
  const LoopbackServer server(
      [](const auto&, const auto& write) { write("220 mail.example.org ready\r\n\r\n"); });
  EXPECT_THAT(refusal([&] { fetched(server.url("/")); }), HasSubstr("was cut off"));
}

TEST(Download, RefusesACertificateThatNobodyTrusts) {
  const LoopbackServer server([](const auto&, const auto& write) { write(answer("200 OK", "", "secret")); },
                              make_certificate("localhost"));
  EXPECT_THAT(refusal([&] { fetched(server.url("/")); }),
              HasSubstr("certificate is not trusted (self-signed"));
}

TEST(Download, FetchesOverHttpsFromAServerThatIsTrusted) {
  const TestCertificate certificate = make_certificate("localhost");
  const TestFolder folder;
  const Environment trust("SSL_CERT_FILE", folder.write("trusted.pem", certificate.certificate).string());
  const LoopbackServer server([](const auto&, const auto& write) { write(answer("200 OK", "", "secret")); },
                              certificate);
  EXPECT_EQ(fetched(server.url("/")), "secret");
}

TEST(Download, RefusesATrustedCertificateOfAnotherHost) {
  const TestCertificate certificate = make_certificate("elsewhere.example");
  const TestFolder folder;
  const Environment trust("SSL_CERT_FILE", folder.write("trusted.pem", certificate.certificate).string());
  const LoopbackServer server([](const auto&, const auto& write) { write(answer("200 OK", "", "secret")); },
                              certificate);
  EXPECT_THAT(refusal([&] { fetched(server.url("/")); }), HasSubstr("hostname mismatch"));
}

TEST(Download, DoesNotFollowFromHttpsToHttp) {
  const TestCertificate certificate = make_certificate("localhost");
  const TestFolder folder;
  const Environment trust("SSL_CERT_FILE", folder.write("trusted.pem", certificate.certificate).string());
  const LoopbackServer plain([](const auto&, const auto& write) { write(answer("200 OK", "", "open")); });
  const LoopbackServer server(
      [&](const auto&, const auto& write) {
        write(answer("302 Found", "Location: " + plain.url("/") + "\r\n", ""));
      },
      certificate);
  EXPECT_THAT(refusal([&] { fetched(server.url("/")); }), HasSubstr("from https to"));
}

TEST(Url, IsTakenApart) {
  const Url url = parse_url("HTTPS://[::1]:8443?q=1");
  EXPECT_TRUE(url.secure);
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, "8443");
  EXPECT_EQ(url.target, "/?q=1");
  EXPECT_EQ(url.origin(), "https://[::1]:8443");
  EXPECT_EQ(parse_url("http://example.org").port, "80");
}

TEST(Url, RefusesWhatCannotBeFetched) {
  for (const char* text :
       {"ftp://host/x", "http://", "http://host:70000/", "http://host:/", "http://user:pw@host/",
        "http://host/a b", "http://host/\r\nX: y", "http://[::1/", "host/x.csv"}) {
    EXPECT_NE(refusal([&] { parse_url(text); }), "") << text;
  }
}

TEST(Url, GivesTheNameOfItsFile) {
  EXPECT_EQ(file_name_of_url("https://example.org/a/houses.csv.gz?raw=1"), "houses.csv.gz");
  EXPECT_EQ(file_name_of_url("https://example.org"), "");
  EXPECT_EQ(file_name_of_url("https://example.org/.."), "");
}

}  // namespace
}  // namespace stoker
