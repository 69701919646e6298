#pragma once
// How bodies come and go, for http_server.cpp alone: the headers of Beast take half a minute.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

#include <boost/asio.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "serve/http/http.h"
#include "serve/http/received_file.h"
#include "serve/http/server_limits.h"

namespace stoker::serve {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using std::chrono::steady_clock;

constexpr auto told = net::experimental::as_tuple(net::use_awaitable);
constexpr std::size_t piece_bytes = 64 * 1024;     // of a body, read or written at a time
constexpr std::size_t bytes_a_second = 16 * 1024;  // that a body takes at least, behind its first time

// When so much of a body must have come, or gone.
inline steady_clock::time_point due(steady_clock::time_point began, std::chrono::seconds first,
                                    std::uint64_t bytes) {
  return began + first + std::chrono::seconds(bytes / bytes_a_second);
}

inline const beast::error_code cannot_be_stored(ENOSPC, beast::generic_category());

template <class Body>
void set_headers(http::response<Body>& message, const Response& response, bool keeps) {
  message.result(static_cast<unsigned>(response.status));
  message.reason(std::string(status_text(response.status)));
  if (!response.type.empty() && response.status != 204) message.set(http::field::content_type, response.type);
  // A value that ended its line would begin another header, of whoever wrote the value.
  for (auto [name, value] : response.headers) {
    std::ranges::replace_if(
        value, [](unsigned char c) { return c < ' ' && c != '\t'; }, ' ');
    message.insert(name, value);
  }
  message.keep_alive(keeps);
}

// Where it may take a while, or wait for a disk.
template <class Result, class Work>
net::awaitable<Result> on_worker(net::thread_pool& pool, Work work) {
  co_return co_await net::co_spawn(
      pool, [&work]() -> net::awaitable<Result> { co_return work(); }, net::use_awaitable);
}

template <class Peer>
net::awaitable<beast::error_code> read_body(net::thread_pool& pool, Peer& peer, beast::flat_buffer& buffer,
                                            const ServerLimits& limits,
                                            http::request_parser<http::empty_body>& head, Request& request,
                                            const Reception& reception, ReceivedFile& file) {
  http::request_parser<http::buffer_body> parser(std::move(head));
  parser.body_limit(reception.most_bytes);
  const bool is_file = !reception.into.empty();
  if (is_file && !co_await on_worker<bool>(pool, [&] { return file.open(reception.into); }))
    co_return cannot_be_stored;
  if (is_file) request.body_file = reception.into;
  const auto began = steady_clock::now();
  std::string& body = request.body;
  for (std::uint64_t received = 0; !parser.is_done();) {
    const std::size_t before = body.size();
    body.resize(before + std::min<std::uint64_t>(piece_bytes,
                                                 parser.content_length_remaining().value_or(piece_bytes)));
    parser.get().body().data = body.data() + before;
    parser.get().body().size = body.size() - before;
    beast::get_lowest_layer(peer).expires_at(due(began, limits.body_time, received));
    auto [error, count] = co_await http::async_read(peer, buffer, parser, told);
    body.resize(body.size() - parser.get().body().size);
    if (error && error != http::error::need_buffer) co_return error;
    received += body.size() - before;
    if (!is_file) continue;
    if (!co_await on_worker<bool>(pool, [&] { return file.write(body.data(), body.size()); }))
      co_return cannot_be_stored;
    body.clear();
  }
  file.close();
  co_return beast::error_code();
}

template <class Peer>
net::awaitable<bool> send_text(Peer& peer, const ServerLimits& limits, const Request& request,
                               Response& response, bool keeps) {
  http::response<http::string_body> message;
  set_headers(message, response, keeps);
  message.body() = std::move(response.body);
  if (response.status != 204 && response.status != 304) message.prepare_payload();
  if (request.method == "HEAD") message.body().clear();
  http::response_serializer<http::string_body> serializer(message);
  const auto began = steady_clock::now();
  for (std::uint64_t sent = 0; !serializer.is_done();) {
    beast::get_lowest_layer(peer).expires_at(due(began, limits.write_time, sent));
    auto [error, count] = co_await http::async_write_some(peer, serializer, told);
    if (error) co_return false;
    sent += count;
  }
  co_return true;
}

template <class Peer>
net::awaitable<bool> send_file(net::thread_pool& pool, Peer& peer, const ServerLimits& limits,
                               const Request& request, Response& response, bool keeps) {
  std::ifstream file;
  std::error_code unknown;
  const std::uint64_t size = co_await on_worker<std::uint64_t>(pool, [&] {
    file.open(response.file, std::ios::binary);
    return std::filesystem::file_size(response.file, unknown);
  });
  if (!file || unknown) {
    Response gone;
    gone.status = 404;
    gone.body = "{\"error\":\"the file is gone\",\"status\":404}";
    co_return co_await send_text(peer, limits, request, gone, keeps);
  }
  http::response<http::buffer_body> message;
  set_headers(message, response, keeps);
  message.content_length(size);
  message.body().data = nullptr;
  message.body().more = size > 0;
  http::response_serializer<http::buffer_body> serializer(message);
  beast::get_lowest_layer(peer).expires_after(limits.write_time);
  auto [error, count] = co_await http::async_write_header(peer, serializer, told);
  if (error) co_return false;
  if (request.method == "HEAD") co_return true;
  const auto began = steady_clock::now();
  std::string piece(piece_bytes, '\0');
  for (std::uint64_t sent = 0; sent < size;) {
    const std::uint64_t got = co_await on_worker<std::uint64_t>(pool, [&] {
      file.read(piece.data(),
                static_cast<std::streamsize>(std::min<std::uint64_t>(piece_bytes, size - sent)));
      return static_cast<std::uint64_t>(file.gcount());
    });
    if (got == 0) co_return false;  // it has been cut short meanwhile
    sent += got;
    message.body().data = piece.data();
    message.body().size = got;
    message.body().more = sent < size;
    beast::get_lowest_layer(peer).expires_at(due(began, limits.write_time, sent));
    auto [failed, written] = co_await http::async_write(peer, serializer, told);
    if (failed && failed != http::error::need_buffer) co_return false;
  }
  co_return true;
}

}  // namespace stoker::serve
