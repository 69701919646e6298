#include "serve/http_server.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

#include <boost/asio.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "base/error.h"

namespace stoker::serve {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;

constexpr auto told = net::experimental::as_tuple(net::use_awaitable);
constexpr auto pause_of_streams = std::chrono::milliseconds(200);
constexpr auto beat_of_streams = std::chrono::seconds(15);

// A part of the limits' work: how many connections there are, and whose.
class Counter {
 public:
  bool enter(const std::string& address, const ServerLimits& limits) {
    if (all_ >= limits.connections || by_address_[address] >= limits.connections_of_an_address) return false;
    ++all_;
    ++by_address_[address];
    return true;
  }
  void leave(const std::string& address) {
    --all_;
    if (--by_address_[address] == 0) by_address_.erase(address);
  }
  std::size_t all() const { return all_; }

 private:
  std::atomic<std::size_t> all_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

int status_of(const beast::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == beast::error::timeout) return 408;
  return 400;
}

// The peer is gone, or has said nothing and leaves: there is nobody to answer.
bool is_farewell(const beast::error_code& error) {
  return error == http::error::end_of_stream || error == net::error::eof ||
         error == net::error::connection_reset || error == net::error::broken_pipe ||
         error == net::error::operation_aborted || error == net::ssl::error::stream_truncated ||
         error == http::error::partial_message;
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <class Body>
void set_headers(http::response<Body>& message, const Response& response, bool keeps) {
  message.result(static_cast<unsigned>(response.status));
  message.reason(std::string(status_text(response.status)));
  if (!response.type.empty() && response.status != 204) message.set(http::field::content_type, response.type);
  for (const auto& [name, value] : response.headers) message.insert(name, value);
  message.keep_alive(keeps);
}

}  // namespace

class HttpServer::Inside {
 public:
  Inside(const ServerConfig& config, Site& site)
      : config_(config),
        site_(site),
        pool_(static_cast<std::size_t>(std::max(1, config.workers))),
        acceptor_(io_) {
    if (!config.certificate.empty()) read_certificate();
    listen();
    net::co_spawn(io_, accept(), net::detached);
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::size_t connections() const { return counter_.all(); }
  void serve() {
    io_.run();
    pool_.join();
  }
  void stop() {
    net::post(io_, [this] {
      beast::error_code ignored;
      acceptor_.close(ignored);
      is_stopping_ = true;
      closing_.expires_after(std::chrono::seconds(2));
      closing_.async_wait([this](const beast::error_code&) { io_.stop(); });
    });
  }

 private:
  void read_certificate() {
    beast::error_code error;
    ssl_.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_sslv2 |
                     net::ssl::context::no_sslv3 | net::ssl::context::no_tlsv1 |
                     net::ssl::context::no_tlsv1_1);
    ssl_.use_certificate_chain_file(config_.certificate.string(), error);
    if (error) refuse("the certificate {} cannot be read: {}", config_.certificate.string(), error.message());
    ssl_.use_private_key_file(config_.key.string(), net::ssl::context::pem, error);
    if (error)
      refuse("the key {} cannot be read, or is not that of the certificate: {}", config_.key.string(),
             error.message());
  }

  void listen() {
    beast::error_code error;
    const auto address =
        net::ip::make_address(config_.host == "localhost" ? "127.0.0.1" : config_.host, error);
    if (error)
      refuse("--host {}: this is no address to listen on, such as 127.0.0.1 or 0.0.0.0", config_.host);
    const tcp::endpoint place(address, config_.port);
    acceptor_.open(place.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(place, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (error)
      refuse("cannot listen on {} port {}: {}; choose another with --port", config_.host, config_.port,
             error.message());
  }

  net::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(told);
      if (error == net::error::operation_aborted || is_stopping_) co_return;
      if (error) {  // no descriptor is free, for one: it may be in a moment
        net::steady_timer later(io_, std::chrono::milliseconds(100));
        co_await later.async_wait(told);
        continue;
      }
      beast::error_code gone;
      const auto peer = socket.remote_endpoint(gone);
      const std::string address = gone ? std::string("?") : peer.address().to_string();
      if (!counter_.enter(address, config_.limits)) continue;  // closed without a word: there are too many
      socket.set_option(tcp::no_delay(true), gone);
      net::co_spawn(io_, converse(std::move(socket), address),
                    [this, address](const std::exception_ptr&) { counter_.leave(address); });
    }
  }

  net::awaitable<void> converse(tcp::socket socket, std::string address) {
    if (config_.certificate.empty()) {
      beast::tcp_stream stream(std::move(socket));
      co_await talk(stream, address, false);
      beast::error_code ignored;
      stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
      co_return;
    }
    beast::ssl_stream<beast::tcp_stream> stream(std::move(socket), ssl_);
    beast::get_lowest_layer(stream).expires_after(config_.limits.header_time);
    auto [error] = co_await stream.async_handshake(net::ssl::stream_base::server, told);
    if (error) co_return;
    co_await talk(stream, address, true);
    beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(2));
    co_await stream.async_shutdown(told);
  }

  // One request after the other.
  template <class Peer>
  net::awaitable<void> talk(Peer& peer, const std::string& address, bool is_encrypted) {
    beast::flat_buffer buffer;
    for (bool is_first = true; !is_stopping_; is_first = false) {
      http::request_parser<http::empty_body> head;
      head.header_limit(config_.limits.header_bytes);
      head.body_limit(boost::none);
      if (!is_first && buffer.size() == 0) {  // a connection may rest; a request that has begun may not
        beast::get_lowest_layer(peer).expires_after(config_.limits.idle_time);
        auto [error, count] = co_await peer.async_read_some(buffer.prepare(4096), told);
        if (error) co_return;
        buffer.commit(count);
      }
      beast::get_lowest_layer(peer).expires_after(config_.limits.header_time);
      auto [error, count] = co_await http::async_read_header(peer, buffer, head, told);
      if (error) {
        if (!is_farewell(error)) co_await refuse_malformed(peer, status_of(error), error.message(), address);
        co_return;
      }
      Request request;
      if (!read_head(head.get(), request)) {
        co_await refuse_malformed(peer, 400, "the address of the request is malformed", address);
        co_return;
      }
      request.address = address;
      request.is_encrypted = is_encrypted;
      const bool wants_to_keep = head.get().keep_alive();
      Reception reception;
      std::optional<Response> early;
      if (site_.is_quick(request)) {
        early = site_.refuse_early(request, reception);
      } else {  // what must be looked up for it may take a while, as an answer does
        early = co_await on_worker<std::optional<Response>>(
            [&] { return site_.refuse_early(request, reception); });
      }
      if (early) {
        const bool has_body = head.chunked() || head.content_length().value_or(0) > 0;
        const bool keeps = wants_to_keep && !has_body && !early->ends_connection;
        if (!co_await send(peer, request, *early, keeps) || !keeps) {
          co_await drain(peer);
          co_return;
        }
        continue;
      }
      if (head.content_length() && *head.content_length() > reception.most_bytes) {
        co_await refuse_malformed(peer, 413, "the body is too large", address);
        co_return;
      }
      if (beast::iequals(head.get()[http::field::expect], "100-continue")) {
        http::response<http::empty_body> go_on(http::status::continue_, 11);
        beast::get_lowest_layer(peer).expires_after(config_.limits.write_time);
        auto [failed, sent] = co_await http::async_write(peer, go_on, told);
        if (failed) co_return;
      }
      const beast::error_code problem = co_await read_body(peer, buffer, head, request, reception);
      if (problem) {
        if (!is_farewell(problem) || problem == http::error::partial_message)
          co_await refuse_malformed(peer, status_of(problem), problem.message(), address);
        co_return;
      }
      Response response;
      if (site_.is_quick(request)) {
        response = site_.answer(request);
      } else {
        response = co_await on_worker<Response>([&] { return site_.answer(request); });
      }
      const bool keeps = wants_to_keep && !response.ends_connection && !is_stopping_;
      if (!co_await send(peer, request, response, keeps) || !keeps) co_return;
    }
  }

  template <class Result, class Work>
  net::awaitable<Result> on_worker(Work work) {
    co_return co_await net::co_spawn(
        pool_, [&work]() -> net::awaitable<Result> { co_return work(); }, net::use_awaitable);
  }

  static bool read_head(const http::request<http::empty_body>& message, Request& request) {
    request.method = std::string(message.method_string());
    for (const auto& field : message) {
      const std::string name = lowered(field.name_string());
      // Two answers to one question are how requests are smuggled past a check.
      if ((name == "host" || name == "authorization" || name == "content-type" || name == "origin") &&
          !request.header(name).empty())
        return false;
      request.headers.emplace_back(name, std::string(field.value()));
    }
    if (message.version() == 11 && request.header("host").empty()) return false;
    return read_target(message.target(), request);
  }

  template <class Peer>
  net::awaitable<beast::error_code> read_body(Peer& peer, beast::flat_buffer& buffer,
                                              http::request_parser<http::empty_body>& head, Request& request,
                                              const Reception& reception) {
    const std::uint64_t expected = head.content_length().value_or(reception.most_bytes);
    beast::get_lowest_layer(peer).expires_after(
        config_.limits.body_time + std::chrono::seconds(std::min(expected, reception.most_bytes) / 65'536));
    if (reception.into.empty()) {
      http::request_parser<http::string_body> parser(std::move(head));
      parser.body_limit(reception.most_bytes);
      auto [error, count] = co_await http::async_read(peer, buffer, parser, told);
      request.body = std::move(parser.get().body());
      co_return error;
    }
    http::request_parser<http::file_body> parser(std::move(head));
    parser.body_limit(reception.most_bytes);
    beast::error_code unopened;
    parser.get().body().open(reception.into.c_str(), beast::file_mode::write_new, unopened);
    if (unopened) co_return unopened;
    request.body_file = reception.into;
    auto [error, count] = co_await http::async_read(peer, buffer, parser, told);
    co_return error;
  }

  template <class Peer>
  net::awaitable<bool> send(Peer& peer, const Request& request, Response& response, bool keeps) {
    if (response.stream && request.method != "HEAD") co_return co_await send_stream(peer, response);
    if (!response.file.empty() && request.method != "HEAD")
      co_return co_await send_file(peer, response, keeps);
    http::response<http::string_body> message;
    set_headers(message, response, keeps);
    message.body() = std::move(response.body);
    if (response.status != 204 && response.status != 304) message.prepare_payload();
    if (request.method == "HEAD") message.body().clear();
    beast::get_lowest_layer(peer).expires_after(config_.limits.write_time);
    auto [error, count] = co_await http::async_write(peer, message, told);
    co_return !error;
  }

  template <class Peer>
  net::awaitable<bool> send_file(Peer& peer, Response& response, bool keeps) {
    http::response<http::file_body> message;
    beast::error_code error;
    message.body().open(response.file.c_str(), beast::file_mode::scan, error);
    if (error) {
      Response gone;
      gone.status = 404;
      gone.body = "{\"error\":\"the file is gone\"}";
      Request plain;
      co_return co_await send(peer, plain, gone, keeps);
    }
    set_headers(message, response, keeps);
    message.prepare_payload();
    http::response_serializer<http::file_body> serializer(message);
    while (!serializer.is_done()) {  // a large file takes long; what must not is a part of it
      beast::get_lowest_layer(peer).expires_after(config_.limits.write_time);
      auto [failed, count] = co_await http::async_write_some(peer, serializer, told);
      if (failed) co_return false;
    }
    co_return true;
  }

  template <class Peer>
  net::awaitable<bool> send_stream(Peer& peer, Response& response) {
    http::response<http::empty_body> message;
    set_headers(message, response, false);
    message.chunked(true);
    http::response_serializer<http::empty_body> serializer(message);
    beast::get_lowest_layer(peer).expires_after(config_.limits.write_time);
    auto [error, count] = co_await http::async_write_header(peer, serializer, told);
    if (error) co_return false;
    net::steady_timer timer(io_);
    auto last = std::chrono::steady_clock::now();
    for (bool goes_on = true; goes_on && !is_stopping_;) {
      std::string text;
      goes_on = co_await on_worker<bool>([&] { return response.stream->more(text); });
      const auto now = std::chrono::steady_clock::now();
      // A line that says nothing shows whether the listener is still there.
      if (text.empty() && now - last >= beat_of_streams) text = ":\n\n";
      if (!text.empty()) {
        last = now;
        beast::get_lowest_layer(peer).expires_after(config_.limits.write_time);
        auto [failed, sent] = co_await net::async_write(peer, http::make_chunk(net::buffer(text)), told);
        if (failed) co_return false;
        continue;
      }
      if (!goes_on) break;
      timer.expires_after(pause_of_streams);
      auto [cancelled] = co_await timer.async_wait(told);
      if (cancelled) break;
    }
    co_await net::async_write(peer, http::make_chunk_last(), told);
    co_return false;
  }

  template <class Peer>
  net::awaitable<void> refuse_malformed(Peer& peer, int status, std::string why, const std::string& address) {
    Response response = site_.answer_to_malformed(status, why, address);
    const Request none;
    co_await send(peer, none, response, false);
    co_await drain(peer);
  }

  // What is still on its way is taken for a moment: closed at once, the answer would be lost with it.
  template <class Peer>
  net::awaitable<void> drain(Peer& peer) {
    constexpr std::size_t enough = 1 << 20;
    beast::error_code ignored;
    beast::get_lowest_layer(peer).socket().shutdown(tcp::socket::shutdown_send, ignored);
    beast::get_lowest_layer(peer).expires_after(std::chrono::seconds(1));
    std::array<char, 16'384> nothing{};
    for (std::size_t taken = 0; taken < enough;) {
      auto [error, count] =
          co_await beast::get_lowest_layer(peer).async_read_some(net::buffer(nothing), told);
      if (error) co_return;
      taken += count;
    }
  }

  ServerConfig config_;
  Site& site_;
  net::io_context io_{1};
  net::thread_pool pool_;
  net::ssl::context ssl_{net::ssl::context::tls_server};
  tcp::acceptor acceptor_;
  net::steady_timer closing_{io_};
  Counter counter_;
  std::atomic<bool> is_stopping_ = false;
};

HttpServer::HttpServer(const ServerConfig& config, Site& site)
    : inside_(std::make_unique<Inside>(config, site)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const {
  return inside_->port();
}
std::size_t HttpServer::connections() const {
  return inside_->connections();
}
void HttpServer::serve() {
  inside_->serve();
}
void HttpServer::stop() {
  inside_->stop();
}

}  // namespace stoker::serve
