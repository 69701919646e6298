#include "serve/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/string.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "serve/http/connection_count.h"
#include "serve/http/http_transfer.h"
#include "serve/http/peer.h"

namespace stoker::serve {
namespace {

using tcp = net::ip::tcp;

constexpr auto told = net::experimental::as_tuple(net::use_awaitable);
constexpr auto pause_of_streams = std::chrono::milliseconds(200);
constexpr auto beat_of_streams = std::chrono::seconds(15);
// Reading the long history of a job keeps a thread busy. These threads serve streams alone, so that a request
// never waits for one.
constexpr std::size_t threads_of_streams = 2;

int status_of(const beast::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == beast::error::timeout) return 408;
  if (error == cannot_be_stored) return 503;
  return 400;
}

// The peer is gone, or has said nothing and leaves: there is nobody to answer.
bool is_farewell(const beast::error_code& error) {
  return error == http::error::end_of_stream || error == net::error::eof ||
         error == net::error::connection_reset || error == net::error::broken_pipe ||
         error == net::error::operation_aborted || error == net::ssl::error::stream_truncated ||
         error == http::error::partial_message;
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
    for (bool is_over = false; !is_over;) {
      try {
        io_.run();
        is_over = true;
      } catch (const std::exception& error) {
        fmt::print(stderr, "stoker: connections: {}\n", error.what());
      }
    }
    pool_.join();
    stream_pool_.join();
  }
  void stop() {
    net::post(io_, [this] {
      beast::error_code ignored;
      acceptor_.close(ignored);
      is_stopping_ = true;
      wait_for_end(steady_clock::now() + std::chrono::seconds(2));
    });
  }

 private:
  void wait_for_end(steady_clock::time_point latest) {
    if (counter_.all() == 0 || steady_clock::now() >= latest) return io_.stop();
    closing_.expires_after(std::chrono::milliseconds(50));
    closing_.async_wait([this, latest](const beast::error_code&) { wait_for_end(latest); });
  }

  void read_certificate() {
    beast::error_code error;
    ssl_.set_options(net::ssl::context::default_workarounds | net::ssl::context::no_sslv2 |
                     net::ssl::context::no_sslv3 | net::ssl::context::no_tlsv1 |
                     net::ssl::context::no_tlsv1_1);
    // Nobody is there to be asked for a password.
    ssl_.set_password_callback(
        [](std::size_t, net::ssl::context::password_purpose) { return std::string(); });
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
      if (!counter_.has_room_for(address, config_.limits)) {  // closed without a word
        tell_of_too_many(address);
        continue;
      }
      socket.set_option(tcp::no_delay(true), gone);
      try {
        net::co_spawn(io_, converse(std::move(socket), Visit(counter_, address)), net::detached);
      } catch (const std::exception& problem) {  // no memory: this one is closed, and others may come
        fmt::print(stderr, "stoker: a connection: {}\n", problem.what());
      }
    }
  }

  void tell_of_too_many(const std::string& address) {
    const auto now = steady_clock::now();
    if (now - told_of_too_many_ < std::chrono::seconds(1)) return;
    told_of_too_many_ = now;
    net::post(pool_, [this, address] { site_.answer_to_malformed(503, "too many connections", address); });
  }

  net::awaitable<void> converse(tcp::socket socket, Visit visit) {
    const bool is_encrypted = !config_.certificate.empty();
    const std::unique_ptr<Peer> peer =
        is_encrypted ? encrypted_peer(std::move(socket), ssl_) : plain_peer(std::move(socket));
    peer->connection().expires_after(config_.limits.header_time);
    if (co_await peer->open()) co_return;
    co_await talk(*peer, visit.address(), is_encrypted);
    peer->connection().expires_after(std::chrono::seconds(2));
    co_await peer->close();
  }

  // One request after the other.
  net::awaitable<void> talk(Peer& peer, const std::string& address, bool is_encrypted) {
    // Bounded, because the length of a line between two chunks of a body is not.
    beast::flat_buffer buffer(config_.limits.header_bytes + 2 * piece_bytes);
    for (bool is_first = true; !is_stopping_; is_first = false) {
      http::request_parser<http::empty_body> head;
      head.header_limit(config_.limits.header_bytes);
      head.body_limit(boost::none);
      if (!is_first && buffer.size() == 0) {  // a connection may rest; a request that has begun may not
        peer.connection().expires_after(time_to_rest());
        if (co_await read_more(peer, buffer)) co_return;
      }
      peer.connection().expires_after(config_.limits.header_time);
      if (const beast::error_code error = co_await read_header(peer, buffer, head)) {
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
      request.connection = peer.connection().socket().native_handle();
      const bool wants_to_keep = head.get().keep_alive();
      Reception reception;
      std::optional<Response> early;
      if (site_.is_quick(request)) {
        early = site_.refuse_early(request, reception);
      } else {  // what must be looked up for it may take a while, as an answer does
        early = co_await on_worker<std::optional<Response>>(
            pool_, [&] { return site_.refuse_early(request, reception); });
      }
      if (early) {
        const bool has_body = head.chunked() || head.content_length().value_or(0) > 0;
        const bool keeps = wants_to_keep && !has_body && !early->ends_connection;
        if (!co_await send(peer, request, *early, keeps) || !keeps) {
          co_await peer.drain();
          co_return;
        }
        continue;
      }
      if (head.content_length() && *head.content_length() > reception.most_bytes) {
        co_await refuse_malformed(peer, 413, "the body is too large", address);
        co_return;
      }
      if (beast::iequals(head.get()[http::field::expect], "100-continue")) {
        peer.connection().expires_after(config_.limits.write_time);
        if (!co_await send_all(peer, "HTTP/1.1 100 Continue\r\n\r\n")) co_return;
      }
      ReceivedFile file;
      const beast::error_code problem =
          co_await read_body(pool_, peer, buffer, config_.limits, head, request, reception, file);
      if (problem) {
        if (!is_farewell(problem) || problem == http::error::partial_message)
          co_await refuse_malformed(peer, status_of(problem), problem.message(), address);
        co_return;
      }
      Response response;
      if (site_.is_quick(request)) {
        response = site_.answer(request);
      } else {
        response = co_await on_worker<Response>(pool_, [&] { return site_.answer(request); });
      }
      const bool keeps = wants_to_keep && !response.ends_connection && !is_stopping_;
      if (!co_await send(peer, request, response, keeps) || !keeps) co_return;
    }
  }

  // Where few more would find room, those who say nothing make some.
  std::chrono::seconds time_to_rest() const {
    const bool is_crowded = counter_.all() > config_.limits.connections / 4 * 3;
    return is_crowded ? std::min(config_.limits.idle_time, std::chrono::seconds(5))
                      : config_.limits.idle_time;
  }

  static bool read_head(const http::request<http::empty_body>& message, Request& request) {
    request.method = std::string(message.method_string());
    for (const auto& field : message) {
      const std::string name = lower_case(field.name_string());
      // Two answers to one question are how requests are smuggled past a check.
      const bool is_single = name == "host" || name == "authorization" || name == "content-type" ||
                             name == "content-length" || name == "transfer-encoding" || name == "origin" ||
                             name == "cookie" || name == "x-csrf-token" || name == "last-event-id";
      if (is_single &&
          std::ranges::find(request.headers, name, &Headers::value_type::first) != request.headers.end())
        return false;
      request.headers.emplace_back(name, std::string(field.value()));
    }
    if (message.version() == 11 && request.header("host").empty()) return false;
    return read_target(message.target(), request);
  }

  net::awaitable<bool> send(Peer& peer, const Request& request, Response& response, bool keeps) {
    if (response.stream && request.method != "HEAD") co_return co_await send_stream(peer, request, response);
    if (!response.file.empty())
      co_return co_await send_file(pool_, peer, config_.limits, request, response, keeps);
    co_return co_await send_text(peer, config_.limits, request, response, keeps);
  }

  // A listener that has left is noticed between two pieces, so that it does not count for longer.
  net::awaitable<bool> send_stream(Peer& peer, const Request& request, Response& response) {
    peer.connection().expires_after(config_.limits.write_time);
    if (!co_await send_head_of_stream(peer, response)) co_return false;
    net::steady_timer timer(io_);
    auto last = steady_clock::now();
    for (bool goes_on = true; goes_on && !is_stopping_ && !request.client_has_left();) {
      std::string text;
      goes_on = co_await on_worker<bool>(stream_pool_, [&] { return response.stream->more(text); });
      const auto now = steady_clock::now();
      // A line that says nothing shows whether the listener is still there.
      if (text.empty() && now - last >= beat_of_streams) text = ":\n\n";
      if (!text.empty()) {
        last = now;
        peer.connection().expires_after(config_.limits.write_time);
        if (!co_await send_chunk(peer, text)) co_return false;
        continue;
      }
      if (!goes_on) break;
      timer.expires_after(pause_of_streams);
      auto [cancelled] = co_await timer.async_wait(told);
      if (cancelled) break;
    }
    co_await send_chunk(peer, "");
    co_return false;
  }

  net::awaitable<void> refuse_malformed(Peer& peer, int status, std::string why, const std::string& address) {
    Response response =
        co_await on_worker<Response>(pool_, [&] { return site_.answer_to_malformed(status, why, address); });
    const Request none;
    co_await send(peer, none, response, false);
    co_await peer.drain();
  }

  ServerConfig config_;
  Site& site_;
  ConnectionCount counter_;
  net::io_context io_{1};
  net::thread_pool pool_;
  net::thread_pool stream_pool_{threads_of_streams};
  net::ssl::context ssl_{net::ssl::context::tls_server};
  tcp::acceptor acceptor_;
  net::steady_timer closing_{io_};
  steady_clock::time_point told_of_too_many_;
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
