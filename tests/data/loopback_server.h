#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace stoker {

// A key and a self-signed certificate for localhost and 127.0.0.1 (or another name), as PEM.
struct TestCertificate {
  std::string key;
  std::string certificate;
};
TestCertificate make_certificate(const std::string& host);

// A real HTTP server on a free port of the loopback interface. The handler gets the request's target and
// answers by writing raw bytes; a write after the client has gone returns false.
class LoopbackServer {
 public:
  using Write = std::function<bool(const std::string& bytes)>;
  using Handler = std::function<void(const std::string& target, const Write& write)>;

  explicit LoopbackServer(Handler handler);
  LoopbackServer(Handler handler, const TestCertificate& certificate);  // https
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer();

  std::string url(const std::string& target) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline std::string answer(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers +
         "\r\n" + body;
}

}  // namespace stoker
