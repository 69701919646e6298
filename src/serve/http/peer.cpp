#include "serve/http/peer.h"

#include <array>
#include <chrono>
#include <utility>

#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/ssl.hpp>

namespace stoker::serve {
namespace {

using tcp = net::ip::tcp;
constexpr auto told = net::experimental::as_tuple(net::use_awaitable);

// What both kinds of stream do alike.
template <class Stream>
class PeerOver : public Peer {
 public:
  explicit PeerOver(Stream stream) : stream_(std::move(stream)) {}

  net::awaitable<Transfer> read_some(net::mutable_buffer buffer) override {
    auto [error, bytes] = co_await stream_.async_read_some(buffer, told);
    co_return Transfer{error, bytes};
  }
  net::awaitable<Transfer> write_some(std::span<const net::const_buffer> buffers) override {
    auto [error, bytes] = co_await stream_.async_write_some(buffers, told);
    co_return Transfer{error, bytes};
  }
  beast::tcp_stream& connection() override { return beast::get_lowest_layer(stream_); }

 protected:
  Stream stream_;
};

class PlainPeer : public PeerOver<beast::tcp_stream> {
 public:
  using PeerOver::PeerOver;
  net::awaitable<beast::error_code> open() override { co_return beast::error_code(); }
  net::awaitable<void> close() override {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    co_return;
  }
};

class EncryptedPeer : public PeerOver<beast::ssl_stream<beast::tcp_stream>> {
 public:
  using PeerOver::PeerOver;
  net::awaitable<beast::error_code> open() override {
    auto [error] = co_await stream_.async_handshake(net::ssl::stream_base::server, told);
    co_return error;
  }
  net::awaitable<void> close() override { co_await stream_.async_shutdown(told); }
};

}  // namespace

net::awaitable<void> Peer::drain() {
  constexpr std::size_t enough = 1 << 20;
  beast::error_code ignored;
  connection().socket().shutdown(tcp::socket::shutdown_send, ignored);
  connection().expires_after(std::chrono::seconds(1));
  std::array<char, 16'384> nothing{};
  for (std::size_t taken = 0; taken < enough;) {
    auto [error, count] = co_await connection().async_read_some(net::buffer(nothing), told);
    if (error) co_return;
    taken += count;
  }
}

std::unique_ptr<Peer> plain_peer(tcp::socket socket) {
  return std::make_unique<PlainPeer>(beast::tcp_stream(std::move(socket)));
}

std::unique_ptr<Peer> encrypted_peer(tcp::socket socket, net::ssl::context& context) {
  return std::make_unique<EncryptedPeer>(beast::ssl_stream<beast::tcp_stream>(std::move(socket), context));
}

}  // namespace stoker::serve
