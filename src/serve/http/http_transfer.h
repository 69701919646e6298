#pragma once
// How messages come and go, for http_server.cpp alone: the headers of Beast take long to read.

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "serve/http/http.h"
#include "serve/http/peer.h"
#include "serve/http/received_file.h"
#include "serve/http/server_limits.h"

namespace stoker::serve {

namespace http = beast::http;
using std::chrono::steady_clock;
using Head = http::request_parser<http::empty_body>;

constexpr std::size_t piece_bytes = 64 * 1024;  // of a body, read or written at a time

inline const beast::error_code cannot_be_stored(ENOSPC, beast::generic_category());

// Where it may take a while, or wait for a disk.
template <class Result, class Work>
net::awaitable<Result> on_worker(net::thread_pool& pool, Work work) {
  co_return co_await net::co_spawn(
      pool, [&work]() -> net::awaitable<Result> { co_return work(); }, net::use_awaitable);
}

// Some more bytes of the client behind those in the buffer.
net::awaitable<beast::error_code> read_more(Peer& peer, beast::flat_buffer& buffer);
net::awaitable<beast::error_code> read_header(Peer& peer, beast::flat_buffer& buffer, Head& head);
net::awaitable<beast::error_code> read_body(net::thread_pool& pool, Peer& peer, beast::flat_buffer& buffer,
                                            const ServerLimits& limits, Head& head, Request& request,
                                            const Reception& reception, ReceivedFile& file);

// All of them say whether the client has taken everything.
net::awaitable<bool> send_all(Peer& peer, std::string_view text);
net::awaitable<bool> send_text(Peer& peer, const ServerLimits& limits, const Request& request,
                               Response& response, bool keeps);
net::awaitable<bool> send_file(net::thread_pool& pool, Peer& peer, const ServerLimits& limits,
                               const Request& request, Response& response, bool keeps);
// What goes before the pieces of a stream, and one of them.
net::awaitable<bool> send_head_of_stream(Peer& peer, const Response& response);
net::awaitable<bool> send_chunk(Peer& peer, std::string_view text);  // the last one has no text

}  // namespace stoker::serve
