#include "data/loopback_server.h"

#include <stdexcept>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace stoker {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

std::string pem(const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), &BIO_free);
  if (write(memory.get()) != 1) throw std::runtime_error("no PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

template <class Stream>
void serve(Stream& stream, const LoopbackServer::Handler& handler) {
  ErrorCode error;
  asio::streambuf request;
  asio::read_until(stream, request, "\r\n\r\n", error);
  if (error) return;
  const std::string text(asio::buffers_begin(request.data()), asio::buffers_end(request.data()));
  const std::size_t begin = text.find(' ') + 1;
  handler(text.substr(begin, text.find(' ', begin) - begin), [&](const std::string& bytes) {
    ErrorCode write_error;
    asio::write(stream, asio::buffer(bytes), write_error);
    return !write_error;
  });
}

}  // namespace

struct LoopbackServer::State {
  Handler handler;
  std::unique_ptr<asio::ssl::context> tls;
  asio::io_context context;
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::atomic<bool> stopping{false};
  std::thread thread;

  void accept_all() {
    while (!stopping) {
      ErrorCode error;
      tcp::socket socket = acceptor.accept(error);
      if (error || stopping) return;
      if (!tls) {
        serve(socket, handler);
        continue;
      }
      asio::ssl::stream<tcp::socket> stream(std::move(socket), *tls);
      stream.handshake(asio::ssl::stream_base::server, error);
      if (!error) serve(stream, handler);
      stream.shutdown(error);
    }
  }
};

LoopbackServer::LoopbackServer(Handler handler) : state_(std::make_unique<State>()) {
  state_->handler = std::move(handler);
  state_->thread = std::thread([this] { state_->accept_all(); });
}

LoopbackServer::LoopbackServer(Handler handler, const TestCertificate& certificate)
    : state_(std::make_unique<State>()) {
  state_->handler = std::move(handler);
  state_->tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  state_->tls->use_certificate_chain(asio::buffer(certificate.certificate));
  state_->tls->use_private_key(asio::buffer(certificate.key), asio::ssl::context::pem);
  state_->thread = std::thread([this] { state_->accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  state_->stopping = true;
  ErrorCode error;
  tcp::socket wakes_the_acceptor(state_->context);
  wakes_the_acceptor.connect(state_->acceptor.local_endpoint(), error);
  wakes_the_acceptor.close(error);
  state_->thread.join();
}

std::string LoopbackServer::url(const std::string& target) const {
  const std::string scheme = state_->tls ? "https" : "http";
  return scheme + "://localhost:" + std::to_string(state_->acceptor.local_endpoint().port()) + target;
}

TestCertificate make_certificate(const std::string& host) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  X509* x509 = certificate.get();
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, key.get());
  X509_NAME* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(host.c_str()),
                             -1, -1, 0);
  X509_set_issuer_name(x509, name);
  const std::string names = "DNS:" + host;
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  X509_add_ext(x509, extension, -1);
  X509_EXTENSION_free(extension);
  if (X509_sign(x509, key.get(), EVP_sha256()) == 0)
    throw std::runtime_error("the certificate was not signed");
  return {pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }),
          pem([&](BIO* bio) { return PEM_write_bio_X509(bio, x509); })};
}

}  // namespace stoker
