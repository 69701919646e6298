#include "data/url/download.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/address_rule.h"
#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "data/url/url.h"
#include "data/url/url_secrets.h"

namespace stoker {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::use_awaitable;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Parser = http::response_parser<http::buffer_body>;

constexpr int most_redirects = 5;

// One download: an exchange with each server that the redirects lead to, and the body of the last.
class Download {
 public:
  Download(std::string url, std::string shown, const std::filesystem::path& target,
           const DownloadLimits& limits)
      : address_(std::move(url)),
        asked_(std::move(shown)),
        shown_(asked_),
        target_(target),
        limits_(limits) {}

  asio::awaitable<void> run() {
    for (int redirects = 0; redirects <= most_redirects; ++redirects) {
      const Url url = parse_url(address_, shown_);
      std::string location;
      if (url.secure) {
        location = co_await fetch_secure(url);
      } else {
        location = co_await fetch_plain(url);
      }
      if (location.empty()) co_return;
      address_ = redirected(url, location);
      const Url next = parse_url(address_, shown_url(address_));
      shown_ = fmt::format("{}, redirected to {}", asked_, next.origin());
      if (url.secure && !next.secure) {
        refuse("{} redirects from https to {}, which is not encrypted; the redirect is not followed",
               url.origin(), next.origin());
      }
    }
    refuse("{}: more than {} redirects in a row", shown_, most_redirects);
  }

 private:
  asio::awaitable<void> connect(tcp::socket& socket, const Url& url) {
    ErrorCode error;
    tcp::resolver resolver(socket.get_executor());
    const auto endpoints =
        co_await resolver.async_resolve(url.host, url.port, asio::redirect_error(use_awaitable, error));
    if (error && connects_to_public_addresses_only()) refuse_host(url);
    if (error) refuse("{}: {} is unknown ({})", shown_, shown_host(url), error.message());
    co_await asio::async_connect(socket, allowed_endpoints(endpoints, url),
                                 asio::redirect_error(use_awaitable, error));
    if (error)
      refuse("{}: cannot connect to {} at port {} ({})", shown_, shown_host(url), url.port, error.message());
  }

  // One that a variable is part of is nobody else's business.
  std::string shown_host(const Url& url) const {
    return asked_.find("${") == std::string::npos ? fmt::format("the host '{}'", url.host) : "its host";
  }

  // Each server on the way is held to the rule by the very addresses that are then connected to: looked up
  // again, a name could lead elsewhere.
  std::vector<tcp::endpoint> allowed_endpoints(const tcp::resolver::results_type& found,
                                               const Url& url) const {
    std::vector<tcp::endpoint> allowed;
    const bool is_limited = connects_to_public_addresses_only();
    for (const auto& each : found)
      if (!is_limited || is_public_address(*each.endpoint().data())) allowed.push_back(each.endpoint());
    if (allowed.empty()) refuse_host(url);
    return allowed;
  }

  // One text for unknown hosts and private ones: the difference would tell clients which names the network of
  // the service has.
  [[noreturn]] void refuse_host(const Url& url) const {
    refuse(
        "{}: {} is unknown or has no public address, and this service connects to no others; its operator "
        "can allow private addresses (--allow-private-urls)",
        shown_, shown_host(url));
  }

  asio::awaitable<std::string> fetch_plain(const Url& url) {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await connect(socket, url);
    std::string location = co_await exchange(socket, url);
    co_return location;
  }

  asio::awaitable<std::string> fetch_secure(const Url& url) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.set_default_verify_paths();
    context.set_verify_mode(asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    asio::ssl::stream<tcp::socket> stream(co_await asio::this_coro::executor, context);
    expect_host(stream.native_handle(), url.host);
    co_await connect(stream.next_layer(), url);
    ErrorCode error;
    co_await stream.async_handshake(asio::ssl::stream_base::client,
                                    asio::redirect_error(use_awaitable, error));
    if (error) refuse_handshake(stream.native_handle(), error);
    std::string location = co_await exchange(stream, url);
    co_return location;
  }

  // The certificate must be for the host that was asked for, by name or by IP address.
  static void expect_host(SSL* ssl, const std::string& host) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1) return;
    if (SSL_set1_host(ssl, host.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, host.c_str()) != 1) {
      refuse("'{}' is not a valid host name", host);
    }
  }

  [[noreturn]] void refuse_handshake(SSL* ssl, const ErrorCode& error) const {
    const long verdict = SSL_get_verify_result(ssl);
    if (verdict == X509_V_OK) refuse("{}: cannot make a secure connection ({})", shown_, error.message());
    refuse("{}: the server's certificate is not trusted ({})", shown_,
           X509_verify_cert_error_string(verdict));
  }

  // Sends the request; gives the Location of a redirect, or "" once the body is in the file.
  template <class Stream>
  asio::awaitable<std::string> exchange(Stream& stream, const Url& url) {
    http::request<http::empty_body> request(http::verb::get, url.target, 11);
    request.set(http::field::host, url.host_header());
    request.set(http::field::user_agent, "stoker");
    request.set(http::field::accept, "*/*");
    request.set(http::field::connection, "close");
    ErrorCode error;
    co_await http::async_write(stream, request, asio::redirect_error(use_awaitable, error));
    refuse_if(error);
    boost::beast::flat_buffer buffer;
    Parser parser;
    parser.body_limit(limits_.bytes);
    co_await http::async_read_header(stream, buffer, parser, asio::redirect_error(use_awaitable, error));
    refuse_if(error);
    const unsigned status = parser.get().result_int();
    if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) {
      co_return std::string(parser.get()[http::field::location]);
    }
    if (status != 200) {
      refuse("{}: the server answered {} {}", shown_, status, std::string(parser.get().reason()));
    }
    co_await receive_body(stream, buffer, parser);
    co_return "";
  }

  template <class Stream>
  asio::awaitable<void> receive_body(Stream& stream, boost::beast::flat_buffer& buffer, Parser& parser) {
    std::ofstream file(target_, std::ios::binary);
    std::vector<char> block(1 << 18);
    while (!parser.is_done()) {
      parser.get().body().data = block.data();
      parser.get().body().size = block.size();
      ErrorCode error;
      co_await http::async_read(stream, buffer, parser, asio::redirect_error(use_awaitable, error));
      if (error == http::error::need_buffer) error = {};
      refuse_if(error);
      file.write(block.data(), static_cast<std::streamsize>(block.size() - parser.get().body().size));
    }
    file.close();
    if (!file) fail("{}: the download cannot be written to {}: is the disk full?", shown_, target_.string());
  }

  void refuse_if(const ErrorCode& error) const {
    if (!error) return;
    if (error == http::error::body_limit) {
      refuse("{} is larger than the {} that url_max_megabytes allows", shown_, human_bytes(limits_.bytes));
    }
    refuse("{}: the download was cut off ({})", shown_, error.message());
  }

  std::string address_;
  std::string asked_;  // the address that was asked for, and where it led, as messages may name them
  std::string shown_;
  std::filesystem::path target_;
  DownloadLimits limits_;
};

// A download with all that it needs, so that it can be left behind as a whole.
struct Transfer {
  explicit Transfer(Download download) : work(std::move(download)) {}
  Download work;
  std::exception_ptr error;
  bool done = false;
  asio::io_context context{1};  // the last member: what runs in it uses the others
};

bool is_stopped(const DownloadLimits& limits) {
  return limits.stop != nullptr && limits.stop->reason() != StopReason::none;
}

// Until it is done, its time is over or a person asks for its end.
void run(Transfer& transfer, const DownloadLimits& limits) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds look_around{50};
  const Clock::time_point deadline =
      Clock::now() + std::chrono::milliseconds(std::llround(std::clamp(limits.seconds, 0.001, 1e6) * 1000));
  while (!transfer.done && Clock::now() < deadline && !is_stopped(limits))
    transfer.context.run_until(std::min(deadline, Clock::now() + look_around));
}

}  // namespace

void download(const std::string& url, const std::filesystem::path& target, const DownloadLimits& limits) {
  download(url, shown_url(url), target, limits);
}

void download(const std::string& url, const std::string& shown, const std::filesystem::path& target,
              const DownloadLimits& limits) {
  auto transfer = std::make_unique<Transfer>(Download(url, shown, target, limits));
  asio::co_spawn(transfer->context, transfer->work.run(), [&transfer = *transfer](std::exception_ptr thrown) {
    transfer.error = thrown;
    transfer.done = true;
  });
  // One clock over everything: name, connection, handshake, redirects and body.
  run(*transfer, limits);
  if (!transfer->done) {
    // Its end waits for the lookup of a name, which nothing can cut short: nobody else waits for it.
    std::thread([abandoned = std::move(transfer)]() mutable { abandoned.reset(); }).detach();
    const StopReason stopped = limits.stop == nullptr ? StopReason::none : limits.stop->reason();
    if (stopped == StopReason::interrupted)
      throw Error(ExitCode::interrupted, fmt::format("{}: the download was interrupted", shown));
    if (stopped == StopReason::time_limit) fail("{}: the download did not finish in the time allowed", shown);
    refuse("{}: the download did not finish within the {} that url_timeout allows", shown,
           human_seconds(limits.seconds));
  }
  if (transfer->error) std::rethrow_exception(transfer->error);
}

std::string file_name_of_url(const std::string& url) {
  return file_name_of_url(url, shown_url(url));
}

std::string file_name_of_url(const std::string& url, const std::string& shown) {
  const std::string target = parse_url(url, shown).target;
  const std::string path = target.substr(0, target.find('?'));
  std::string name = path.substr(path.rfind('/') + 1);
  if (without_hidden_values(name) != name) {
    const std::string ending = name.substr(std::min(name.find('.'), name.size()));
    name = "download" + (without_hidden_values(ending) == ending ? ending : "");
  }
  if (name.size() > 100) name.erase(0, name.size() - 100);  // the ending is what counts
  return name == "." || name == ".." ? "" : name;
}

}  // namespace stoker
