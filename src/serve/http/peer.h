#pragma once
// The other end of a connection, for the files that speak HTTP with it: the headers of Asio take long to
// read.

#include <cstddef>
#include <memory>
#include <span>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace boost::asio::ssl {
class context;
}

namespace stoker::serve {

namespace net = boost::asio;
namespace beast = boost::beast;

// What one transfer came to.
struct Transfer {
  beast::error_code error;
  std::size_t bytes = 0;
};

// A client, encrypted or not. HTTP is spoken through these few functions, so that its code is compiled once
// and not for each kind of stream.
class Peer {
 public:
  virtual ~Peer() = default;
  // Some bytes at least. Both end with beast::error::timeout when the time of the connection is up.
  virtual net::awaitable<Transfer> read_some(net::mutable_buffer buffer) = 0;
  virtual net::awaitable<Transfer> write_some(std::span<const net::const_buffer> buffers) = 0;
  virtual beast::tcp_stream& connection() = 0;
  // Before the first request and after the last one.
  virtual net::awaitable<beast::error_code> open() = 0;
  virtual net::awaitable<void> close() = 0;
  // Takes what is still on its way for a moment, and ends sending. If a connection is closed at once, the
  // answer is lost with it.
  net::awaitable<void> drain();
};

std::unique_ptr<Peer> plain_peer(net::ip::tcp::socket socket);
std::unique_ptr<Peer> encrypted_peer(net::ip::tcp::socket socket, net::ssl::context& context);

}  // namespace stoker::serve
