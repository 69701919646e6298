#include "serve/http/http_transfer.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/error.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

namespace stoker::serve {
namespace {

constexpr std::size_t most_bytes_of_read = 64 * 1024;
constexpr std::size_t bytes_a_second = 16 * 1024;  // that a body takes at least, behind its first time

// When so much of a body must have come, or gone.
steady_clock::time_point due(steady_clock::time_point began, std::chrono::seconds first,
                             std::uint64_t bytes) {
  return began + first + std::chrono::seconds(bytes / bytes_a_second);
}

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

// Gives the parser what has come, and waits for more until it has got one step further. The end of the
// connection in the middle of a message is an error of the parser's.
net::awaitable<beast::error_code> parse_some(Peer& peer, beast::flat_buffer& buffer,
                                             http::basic_parser<true>& parser) {
  for (;;) {
    if (buffer.size() > 0) {
      beast::error_code error;
      buffer.consume(parser.put(net::const_buffer(buffer.data()), error));
      if (error != http::error::need_more) co_return error;
    }
    const beast::error_code error = co_await read_more(peer, buffer);
    if (error == net::error::eof) {
      if (!parser.got_some()) co_return http::error::end_of_stream;
      beast::error_code incomplete;
      parser.put_eof(incomplete);
      co_return incomplete;
    }
    if (error) co_return error;
  }
}

// Writes some of what the serializer has next. http::error::need_buffer: it waits for more of the body.
template <class Body>
net::awaitable<Transfer> write_some(Peer& peer, http::response_serializer<Body>& serializer) {
  std::vector<net::const_buffer> buffers;
  beast::error_code error;
  serializer.next(error, [&](beast::error_code&, const auto& next) {
    buffers.assign(net::buffer_sequence_begin(next), net::buffer_sequence_end(next));
  });
  if (error || buffers.empty()) co_return Transfer{error, 0};
  const Transfer sent = co_await peer.write_some(buffers);
  if (!sent.error) serializer.consume(sent.bytes);
  co_return sent;
}

template <class Body>
net::awaitable<bool> write_header(Peer& peer, http::response_serializer<Body>& serializer) {
  serializer.split(true);
  while (!serializer.is_header_done()) {
    const Transfer sent = co_await write_some(peer, serializer);
    if (sent.error) co_return false;
  }
  co_return true;
}

}  // namespace

net::awaitable<beast::error_code> read_more(Peer& peer, beast::flat_buffer& buffer) {
  const std::size_t size = beast::read_size(buffer, most_bytes_of_read);
  if (size == 0) co_return http::error::buffer_overflow;
  const Transfer come = co_await peer.read_some(buffer.prepare(size));
  buffer.commit(come.bytes);
  co_return come.error;
}

net::awaitable<beast::error_code> read_header(Peer& peer, beast::flat_buffer& buffer, Head& head) {
  head.eager(false);
  while (!head.is_header_done())
    if (const beast::error_code error = co_await parse_some(peer, buffer, head)) co_return error;
  co_return beast::error_code();
}

net::awaitable<beast::error_code> read_body(net::thread_pool& pool, Peer& peer, beast::flat_buffer& buffer,
                                            const ServerLimits& limits, Head& head, Request& request,
                                            const Reception& reception, ReceivedFile& file) {
  http::request_parser<http::buffer_body> parser(std::move(head));
  parser.eager(true);
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
    peer.connection().expires_at(due(began, limits.body_time, received));
    beast::error_code error;
    while (!error && !parser.is_done()) error = co_await parse_some(peer, buffer, parser);
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

net::awaitable<bool> send_all(Peer& peer, std::string_view text) {
  while (!text.empty()) {
    const std::array rest{net::const_buffer(text.data(), text.size())};
    const Transfer sent = co_await peer.write_some(rest);
    if (sent.error) co_return false;
    text.remove_prefix(sent.bytes);
  }
  co_return true;
}

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
    peer.connection().expires_at(due(began, limits.write_time, sent));
    const Transfer some = co_await write_some(peer, serializer);
    if (some.error) co_return false;
    sent += some.bytes;
  }
  co_return true;
}

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
  peer.connection().expires_after(limits.write_time);
  if (!co_await write_header(peer, serializer)) co_return false;
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
    peer.connection().expires_at(due(began, limits.write_time, sent));
    if (!co_await send_all(peer, std::string_view(piece).substr(0, got))) co_return false;
  }
  co_return true;
}

net::awaitable<bool> send_head_of_stream(Peer& peer, const Response& response) {
  http::response<http::empty_body> message;
  set_headers(message, response, false);
  message.chunked(true);
  http::response_serializer<http::empty_body> serializer(message);
  co_return co_await write_header(peer, serializer);
}

net::awaitable<bool> send_chunk(Peer& peer, std::string_view text) {
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
  co_return co_await send_all(peer, chunk);
}

}  // namespace stoker::serve
